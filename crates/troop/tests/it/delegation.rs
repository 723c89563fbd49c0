//! `troop task delegate`, `team delegations`, `team show --team-md` and `member link` in a team that nobody leads.

use crate::troop::Troop;

fn team() -> Troop {
    let troop = Troop::new();
    troop.ok(
        "team create crew --member ann=command --member bob=command --description 'builds things'",
    );
    troop
}

#[test]
fn a_delegation_without_a_task_is_refused_with_the_pending_tasks() {
    let troop = team();
    let other = Troop::new();
    other.ok("team create theirs --member ann=command");
    let theirs = other.json("task create theirs")["id"].as_str().unwrap().to_owned();
    let (code, err) = troop.refused("task delegate --to ann");
    assert_eq!(code, 1);
    assert_eq!(
        err,
        "error: a delegation needs a task; create one first, then delegate it\nhint: make one: `troop task create \"…\"`\n"
    );
    troop.ok("task create dig");
    let (_, err) = troop.refused("task delegate --to ann");
    assert!(
        err.contains(
            "; pending tasks: task-1\nhint: for example: `troop task delegate 1 --to MEMBER`\n"
        ),
        "{err}"
    );
    for unknown in ["9", theirs.as_str()] {
        let (code, err) = troop.refused(&format!("task delegate {unknown} --to ann"));
        assert_eq!(code, 1);
        assert!(
            err.starts_with("error: there is no task `")
                && err.contains("; pending tasks: task-1\n"),
            "{err}"
        );
    }
    assert_eq!(troop.ok("team delegations"), "no delegations\n");
    troop.ok("team set delegation.require_task=false");
    assert_eq!(troop.ok("task delegate --to bob --subject fill"), "delegated task-2: fill (bob)\n");
}

#[test]
fn a_delegation_ends_with_its_task_and_is_announced_to_the_lead() {
    let troop = team();
    troop.ok("task create dig");
    let begun = troop.json("task delegate 1 --to ann");
    assert_eq!((&begun["status"], &begun["to"]), (&"running".into(), &"ann".into()));
    let (_, err) = troop.refused("task delegate 1 --to ann");
    assert_eq!(
        err,
        "error: task-1 is already delegated to `ann`; wait for its result\nhint: see what runs: `troop team delegations`\n"
    );
    troop.ok("--as ann task complete 1 -r 'a deep hole'");
    let mail = troop.json("--as lead message read");
    let [only] = mail["messages"].as_array().unwrap().as_slice() else { panic!("{mail}") };
    assert_eq!((&only["from"], &only["kind"]), (&"system".into(), &"system".into()));
    assert!(only["content"].as_str().unwrap().contains("## ann: task-1 (dig) completed"), "{mail}");
    assert_eq!(only["origin"]["channel"], "cli");
    let table = troop.ok("team delegations");
    assert!(table.starts_with("BEGAN") && table.contains("a deep hole"), "{table}");
}

#[test]
fn team_md_shows_what_an_agent_knows_about_its_team() {
    let troop = team();
    let lead = troop.ok("team show --team-md");
    assert!(
        lead.starts_with("<system_context name=\"TEAM.md\">\n# Team crew\n\nbuilds things\n"),
        "{lead}"
    );
    assert!(lead.contains("- `bob` (member): runs a task's command\n"), "{lead}");
    let ann = troop.ok("--as ann team show --team-md");
    assert!(
        ann.contains("You are `ann`, a member of this team.") && !ann.contains("Sequential"),
        "{ann}"
    );
    troop.ok("member remove bob");
    assert!(!troop.ok("team show --team-md").contains("bob"));
    assert_eq!(troop.json("team show --team-md")["team_md"], troop.ok("team show --team-md"));
    let (code, err) = troop.refused("--as an team show --team-md");
    assert_eq!((code, err.contains("hint: did you mean `ann`?")), (1, true), "{err}");
}

#[test]
fn a_link_limits_delegations_and_the_users_who_cause_them() {
    let troop = team();
    assert_eq!(troop.ok("member link ann"), "lead → ann: enabled, at most 3 at once\n");
    assert_eq!(
        troop.ok("member link ann --max 1 --allow amy,zoe --deny zoe"),
        "lead → ann: enabled, at most 1 at once, only for amy, zoe, not for zoe\n"
    );
    troop.ok("task create dig");
    let (_, err) = troop.refused("task delegate 1 --to ann");
    assert!(
        err.contains(
            "may not cause delegations to `ann`\nhint: see who may: `troop member link ann`\n"
        ),
        "{err}"
    );
    troop.ok("member link ann --allow= --deny=");
    troop.ok("task delegate 1 --to ann");
    troop.ok("task create fill");
    let (_, err) = troop.refused("task delegate 2 --to ann");
    assert!(
        err.contains(
            "at capacity (1/1); wait for one to end, try a different agent or handle it yourself"
        ),
        "{err}"
    );
    troop.ok("member remove bob");
    assert_eq!(troop.ok("member link bob"), "lead → bob: disabled, at most 3 at once\n");
    assert_eq!(troop.ok("member link bob --purge"), "purged the link to bob\n");
    let (_, err) = troop.refused("member link bob");
    assert!(err.starts_with("error: there is no member `bob`; the members are "), "{err}");
    // No hint suggests a command that would be refused.
    let (_, err) = troop.refused("task delegate 2 --to lead");
    assert!(err.ends_with("hint: choose a teammate: `troop member list`\n"), "{err}");
    let (_, err) = troop.refused("member link lead --enable");
    assert!(err.starts_with("error: `lead` cannot delegate to itself"), "{err}");
    let (code, err) = troop.refused("member link ann --max 0");
    assert!(code == 2 && err.contains("--max"), "{err}");
}

#[test]
fn a_delegation_without_a_lead_waits_and_does_not_count_as_running() {
    let troop = team();
    troop.ok("task create dig");
    let run = troop.run("task delegate 1 --to ann --wait 0");
    assert_eq!(run.code, 1, "{run:?}");
    let says = "warning: nobody leads the team; it starts with `troop resume crew`";
    assert!(run.err.starts_with(says), "{run:?}");
    assert!(run.err.contains("error: task-1 has not begun: nobody leads the team\n"), "{run:?}");
    let listed = troop.ok("team delegations");
    assert!(listed.contains("waiting") && !listed.contains("running"), "{listed}");
    let status = troop.ok("team status");
    assert!(!status.contains("working"), "{status}");
}
