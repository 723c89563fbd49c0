//! Locks that killed commands left, and those of others.

use super::*;

const BEGAN: i64 = 1_000_000_000;

/// A lock of the index that was written then.
fn index_lock(at: i64, inode: u64) -> GitLock {
    let stamp = Stamp::made(Time::from_micros(at), inode);
    GitLock { path: PathBuf::from("/p/.git/index.lock"), stamp }
}

fn note(locks: &[GitLock]) -> CommandNote {
    CommandNote {
        command: "update-ref".to_owned(),
        began_at: Time::from_micros(BEGAN),
        process: None,
        locks: locks.to_vec(),
    }
}

#[test]
fn a_command_left_only_locks_that_came_while_it_could_run() {
    let second = 1_000_000;
    let was_there = [index_lock(BEGAN - second, 7)];
    let cases = [
        ("before", &[][..], BEGAN - 1, false),
        ("in the same moment", &[], BEGAN, true),
        ("while it ran", &[], BEGAN + second, true),
        ("an hour later", &[], BEGAN + 3_600 * second, false),
        ("it was there before, and written again", &was_there, BEGAN + 1, false),
    ];
    for (what, before, at, expect) in cases {
        assert_eq!(note(before).may_have_left(&index_lock(at, 7)), expect, "{what}");
    }
    let next = index_lock(BEGAN + 1, 8);
    assert!(note(&was_there).may_have_left(&next), "the other has ended, and this one is new");
}

#[test]
fn only_our_locks_are_removed_and_only_when_no_git_can_have_them() {
    let young = Duration::from_secs(1);
    let cases = [
        (false, Some(false), OLD, LockCase::Leave),
        (false, None, OLD, LockCase::Leave),
        (true, Some(true), OLD, LockCase::Wait),
        (true, Some(false), Duration::ZERO, LockCase::Remove),
        (true, None, young, LockCase::Wait),
        (true, None, OLD, LockCase::Remove),
    ];
    for (is_ours, is_git_at_work, age, expect) in cases {
        let facts = LockFacts { is_ours, is_git_at_work, age };
        assert_eq!(lock_case(facts), expect, "{facts:?}");
    }
}

#[tokio::test]
async fn a_killed_commands_lock_is_removed_by_the_next_process_and_a_persons_stays() {
    let folder = tempfile::tempdir().unwrap();
    let shared = folder.path().join("repository");
    let team = folder.path().join("team");
    fs::create_dir_all(shared.join("refs/heads")).unwrap();
    let foreign = shared.join("index.lock");
    fs::write(&foreign, "").unwrap();
    let notes = CommandNotes::open(&team, &shared, &[]);
    let running = notes.begin("update-ref").unwrap();
    let left = shared.join("refs/heads/main.lock");
    fs::write(&left, "").unwrap();
    notes.clear(&[]).await;
    assert!(left.exists(), "the command runs");
    // The process is killed: nobody says that the command has ended.
    drop(running);
    drop(notes);
    CommandNotes::open(&team, &shared, &[]).clear(&[]).await;
    assert!(!left.exists() && foreign.exists());
    assert_eq!(fs::read_dir(team.join("git")).unwrap().count(), 0, "nothing is left to clear");
}

#[tokio::test]
async fn a_note_is_replaced_atomically() {
    let folder = tempfile::tempdir().unwrap();
    let team = folder.path().join("team");
    let notes = CommandNotes::open(&team, folder.path(), &[]);
    let mut running = notes.begin("update-ref").unwrap();
    let path = running.path.clone();
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| (0..2_000).for_each(|id| running.started(Some(id))));
        while !writer.is_finished() {
            let note = read(&path).unwrap();
            assert_eq!(note.command, "update-ref", "half a note names nothing");
        }
    });
    drop(running);
    let half = team.join("git/.1-1.json.tmp.2");
    fs::write(&half, "").unwrap();
    CommandNotes::open(&team, folder.path(), &[]).clear(&[]).await;
    assert!(!half.exists());
}

#[tokio::test]
async fn a_command_that_exited_normally_owns_no_lock() {
    let folder = tempfile::tempdir().unwrap();
    let notes = CommandNotes::open(&folder.path().join("team"), folder.path(), &[]);
    let running = notes.begin("update-ref").unwrap();
    let foreign = folder.path().join("HEAD.lock");
    fs::write(&foreign, "").unwrap();
    running.ended();
    notes.clear(&[]).await;
    assert!(foreign.exists());
    notes.clear(std::slice::from_ref(&foreign)).await;
    assert!(!foreign.exists(), "only troop works in a place of its own");
}

#[tokio::test]
async fn the_place_of_a_worktree_that_a_killed_command_began_goes_and_others_stay() {
    let folder = tempfile::tempdir().unwrap();
    let team = folder.path().join("team");
    let places = folder.path().join("worktrees");
    let begun = |name: &str| {
        let place = places.join(name);
        fs::create_dir_all(&place).unwrap();
        fs::write(place.join("locked"), "initializing").unwrap();
        place
    };
    let whole = begun("whole");
    fs::write(whole.join("gitdir"), "/somewhere/.git\n").unwrap();
    let notes = CommandNotes::open(&team, folder.path(), &[]);
    let foreign = begun("foreign");
    let mut running = notes.begin("worktree add").unwrap();
    // Both may have the same time.
    find(&foreign, 1, &mut running.note.locks);
    let left = begun("-team");
    let left_empty = begun("ann");
    fs::write(left_empty.join("locked"), "").unwrap();
    let left_bare = places.join("bob");
    fs::create_dir(&left_bare).unwrap();
    let branch = folder.path().join("refs/heads/locked");
    fs::create_dir_all(folder.path().join("refs/heads")).unwrap();
    fs::write(&branch, "4e8321692c43b71c4dc06b3bbfa0cffcbedf5ccc\n").unwrap();
    drop(running);
    notes.clear(&[]).await;
    for left in [left, left_empty, left_bare] {
        assert!(!left.exists(), "the next `git worktree add` finds no trace of {}", left.display());
    }
    assert!(whole.join("locked").exists(), "somebody has locked this worktree");
    assert!(foreign.join("locked").exists(), "it was there before");
    assert!(branch.exists(), "a branch may be called so");
    assert_eq!(lasting_locks(folder.path()).await, Vec::<PathBuf>::new(), "it blocks nobody");
}
