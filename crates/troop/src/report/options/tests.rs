//! Hints that can be pasted.

use troop_model::{Hint, HintCommand};

use super::CallerOptions;

fn troop(path: &str) -> HintCommand {
    HintCommand::troop(path)
}

fn kept(typed: &str, hint: &Hint) -> String {
    let options = CallerOptions::of(typed.split(' ').map(str::to_owned));
    options.added_to(hint).to_string()
}

#[test]
fn commands_in_hints_get_the_typed_options_that_they_need() {
    let both = Hint::to("claim another", troop("task claim")).or_to("see", troop("member list"));
    assert_eq!(
        kept("--as bob --team=blue task claim 1", &both),
        "claim another: `troop --team blue --as bob task claim`, or see: `troop --team blue member list`"
    );
    assert_eq!(kept("task claim 1", &both), both.to_string());
    let another = Hint::to("make another", troop("run").text("GOAL"));
    assert_eq!(
        kept("--team x --store files:a$b stop", &another),
        "make another: `troop --store 'files:a$b' run \"GOAL\"`"
    );
    let log = Hint::to("see", troop("log").word("ann").in_team("x"));
    assert_eq!(kept("--team x events", &log), "see: `troop --team x log ann`");
    let resume = Hint::to("continue", troop("resume").team("x"));
    assert_eq!(kept("--team x run go", &resume), "continue: `troop resume x`");
    assert_eq!(kept("task comment 1 -- --team x", &both), both.to_string());
    let set = troop("team set").team("task").word("max_attempts=5");
    let board = Hint::to("see the board", troop("task list")).or_to("go on", set);
    let about_task = "see the board: `troop --team task task list`, or go on: `troop team set task max_attempts=5`";
    assert_eq!(kept("--team task task get 9", &board), about_task);
    let options = CallerOptions::of("--home /a --store files:b x".split(' ').map(str::to_owned));
    let once = options.added_to(&both);
    assert_eq!(options.added_to(&once), once, "not a second time");
    let person = Hint::to("a person answers", troop("message answer").word("ann").word("yes"));
    assert_eq!(kept("--as lead message answer ann yes", &person), person.to_string());
}

#[test]
fn commands_of_other_programs_stay_as_they_are() {
    let merge = Hint::to("merge it", HintCommand::other("git").word("merge").word("troop/x"));
    assert_eq!(kept("--team x --home /a run go", &merge), "merge it: `git merge troop/x`");
}
