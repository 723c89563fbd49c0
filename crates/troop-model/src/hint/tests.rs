//! Hints as text.

use super::{Hint, HintCommand, HintTarget};
use crate::{Refusal, TaskNumber};

#[test]
fn a_hint_is_written_with_its_commands_in_backquotes() {
    let claim = HintCommand::troop("task claim");
    let ask = HintCommand::troop("message send").word("ann").text("…");
    let hint = Hint::to("claim another", claim).or_to("ask", ask);
    assert_eq!(
        hint.to_string(),
        "claim another: `troop task claim`, or ask: `troop message send ann \"…\"`"
    );
    let says: Vec<_> = hint.steps().map(|step| step.say.as_str()).collect();
    assert_eq!(says, ["claim another", "ask"]);
}

#[test]
fn exact_words_are_quoted_for_a_shell_and_blanks_are_not() {
    let rm = HintCommand::other("rm").word("-r").word("my folder").blank("FILE…");
    assert_eq!(Hint::run(rm).to_string(), "`rm -r 'my folder' FILE…`");
}

#[test]
fn a_command_knows_what_it_acts_on() {
    assert_eq!(HintCommand::troop("team list").target, HintTarget::Store);
    assert_eq!(HintCommand::troop("task list").target, HintTarget::Team);
    assert_eq!(HintCommand::troop("task claim").target, HintTarget::Member);
    assert_eq!(HintCommand::troop("resume").team("blue").target, HintTarget::NamedTeam);
    let log = HintCommand::troop("log").word("ann").in_team("blue");
    assert_eq!(
        (log.target, log.to_string().as_str()),
        (HintTarget::Team, "troop --team blue log ann")
    );
}

#[test]
fn a_hint_survives_storage() {
    let hint = Refusal::AwaitsStart { task: TaskNumber(7) }.hint().unwrap().and("; or wait");
    let stored = serde_json::to_string(&hint).unwrap();
    assert_eq!(serde_json::from_str::<Hint>(&stored).unwrap(), hint);
    assert_eq!(hint.to_string(), "approve it: `troop task approve 7`; or wait");
}
