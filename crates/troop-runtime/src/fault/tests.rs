//! Faults of the machine, and other errors.

use std::io;

use super::{FAULTS, is_of_machine, is_said_of_machine};

#[test]
fn programs_print_faults_as_the_system_words_them() {
    for (errno, text) in FAULTS {
        let error = io::Error::from(errno);
        assert!(error.to_string().starts_with(text), "{error}");
        assert!(is_of_machine(&error), "{error}");
        assert!(is_said_of_machine(&format!("here: {text}")), "{text}");
    }
}

#[test]
fn other_errors_are_not_faults_of_the_machine() {
    let said = "No space left on device";
    assert!(!is_of_machine(&io::Error::other(said)), "our own errors are known by their number");
    for kind in [io::ErrorKind::NotFound, io::ErrorKind::PermissionDenied] {
        assert!(!is_of_machine(&kind.into()), "{kind}");
    }
    assert!(!is_said_of_machine("exit code 1: not found"));
}
