//! Making tokens, and refusing weak ones.

use std::{fs, os::unix::fs::PermissionsExt as _};

use super::Token;

#[test]
fn a_token_is_made_once_for_its_owner_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("deep/ann.token");
    let token = Token::keep(&path).unwrap();
    let text = fs::read_to_string(&path).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(text.trim().len(), 32);
    assert_eq!(Token::keep(&path).unwrap(), token, "it stays");
    assert!(token.is(text.trim()));
    for other in ["", "x", &text] {
        assert!(!token.is(other), "{other}");
    }
    assert_eq!(format!("{token:?}"), "Token", "no log shows it");
}

#[test]
fn a_token_that_others_can_read_or_guess_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ann.token");
    for (text, mode, said) in [
        ("0123456789abcdef0123", 0o644, "other users can read"),
        ("0123456789abcdef0123", 0o620, "other users can read"),
        ("", 0o600, "there is no token"),
        ("short", 0o600, "there is no token"),
        ("0123456789 abcdef0123", 0o600, "there is no token"),
    ] {
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        let error = Token::keep(&path).unwrap_err();
        assert!(error.to_string().contains(said), "{error}");
    }
}
