//! Errors as text.

use std::io;

use thiserror::Error;

use crate::with_causes;

#[derive(Debug, Error)]
#[error("the file cannot be read")]
struct Unreadable(#[source] io::Error);

#[derive(Debug, Error)]
#[error("no team: {0}")]
struct RepeatsItsCause(#[source] Unreadable);

#[test]
fn an_error_is_shown_with_each_of_its_causes_once() {
    let error = || Unreadable(io::Error::other("the disk is gone"));
    assert_eq!(with_causes(&error()), "the file cannot be read: the disk is gone");
    let error = RepeatsItsCause(error());
    assert_eq!(with_causes(&error), "no team: the file cannot be read: the disk is gone");
}
