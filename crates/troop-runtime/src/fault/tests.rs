//! Faults of the machine, told from others.

use std::io;

use super::{FAULTS, is_of_machine, is_said_of_machine};

#[test]
fn what_the_system_says_of_a_fault_is_how_programs_pass_it_on() {
    for (errno, text) in FAULTS {
        let error = io::Error::from(errno);
        assert!(error.to_string().starts_with(text), "{error}");
        assert!(is_of_machine(&error), "{error}");
        assert!(is_said_of_machine(&format!("here: {text}")), "{text}");
    }
}

#[test]
fn what_somebody_is_to_blame_for_is_no_fault_of_the_machine() {
    let said = "No space left on device";
    assert!(!is_of_machine(&io::Error::other(said)), "an error of our own is known by its number");
    for kind in [io::ErrorKind::NotFound, io::ErrorKind::PermissionDenied] {
        assert!(!is_of_machine(&kind.into()), "{kind}");
    }
    assert!(!is_said_of_machine("exit code 1: not found"));
}
