//! The meaning of git's messages.

use std::path::PathBuf;

use super::GitError;

fn failed(says: &str) -> GitError {
    let folder = PathBuf::from("/project");
    GitError::Failed { what: "update-ref".to_owned(), folder, says: says.to_owned() }
}

#[test]
fn a_git_that_cannot_write_blames_the_machine_and_no_member() {
    // As git 2.39 prints it on a full disk, without the reason.
    for says in [
        "fatal: update_ref failed for ref 'refs/heads/troop/red': cannot update ref 'refs/heads/troop/red': couldn't write '/project/.git/refs/heads/troop/red.lock'",
        "fatal: sha1 file '/project/.git/index.lock' write error. Out of diskspace",
        "error: unable to write file .git/objects/4a/1b",
        "fatal: cannot create directory at 'out': No space left on device",
    ] {
        assert!(failed(says).is_of_machine(), "{says}");
    }
    for says in ["fatal: not a git repository", "error: Your local changes would be overwritten"] {
        assert!(!failed(says).is_of_machine(), "{says}");
    }
}

#[test]
fn a_lock_of_another_git_has_a_hint_that_removes_it() {
    let folder = PathBuf::from("/project");
    let lock = PathBuf::from("/project/my index.lock");
    let locked = GitError::Locked { what: "add".to_owned(), folder, lock };
    let hint = locked.hint().unwrap();
    assert_eq!(hint.to_string(), "if no git runs there: `rm '/project/my index.lock'`");
    assert_eq!(hint.steps().count(), 1);
    assert!(!locked.to_string().contains("rm "), "the command is in the hint");
    assert!(locked.chain().ends_with(&format!("; {hint}")), "a line of text has both");
    assert_eq!(failed("fatal: not a git repository").hint(), None);
}

#[test]
fn a_worktree_that_another_git_makes_or_tidies_away_is_waited_for() {
    for says in [
        "fatal: failed to read .git/worktrees/bob/commondir: Success",
        "fatal: could not open '.git/worktrees/ann/locked' for writing: No such file or directory",
        "fatal: could not create directory of '.git/worktrees/ann': No such file or directory",
    ] {
        assert!(failed(says).met_half_a_worktree(), "{says}");
    }
    for says in [
        "fatal: could not open '/project/locked' for writing: Permission denied",
        "fatal: could not create directory of '.git/worktrees/ann': Permission denied",
    ] {
        assert!(!failed(says).met_half_a_worktree(), "{says}");
    }
}
