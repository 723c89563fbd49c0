//! Rights by status, actor and version: whole tables, so that every change shows.

use uuid::Uuid;

use super::{
    bench::{Bench, name, newcomer},
    commands::*,
};
use crate::{
    Actor, Command, DelegationOutcome, LinkChange, MemberState, MessageKind, Permissions, Status,
    TaskAction, TaskCommand,
};

/// All actions on a task by name, with a command that does each to task 1.
fn actions() -> Vec<(&'static str, TaskCommand)> {
    vec![
        ("claim", claim(1)),
        ("assign", assign(1, "ann")),
        ("renew", renew(1)),
        ("release", release(1)),
        ("progress", progress(1, 50)),
        ("complete", complete(1)),
        ("fail", fail(1)),
        ("review", review(1)),
        ("approve", approve(1)),
        ("reject", reject(1)),
        ("revise", revise(1)),
        ("cancel", cancel(1)),
        ("retry", retry(1)),
        ("comment", comment(1, "hm")),
        ("attach", attach(1, "a.txt")),
        ("ask_user", ask_user(1)),
        ("clear_ask_user", clear_ask_user(1)),
        ("update", prioritise(1, 7)),
        ("wait_for", wait_for(1, &[3])),
        ("delete", delete(1)),
    ]
}

/// A board whose task 1 has this status; `ann` holds it if it is held. Task 3 is a possible dependency.
fn board(status: Status) -> Bench {
    let mut team = Bench::with(|settings| settings.stale_after_minutes = 5);
    for subject in ["task 1", "task 2", "task 3"] {
        team.lead().ok(create(subject));
    }
    let steps: &[TaskCommand] = match status {
        Status::Pending | Status::Blocked => &[],
        Status::InProgress | Status::Stale => &[claim(1)],
        Status::InReview => &[claim(1), review(1)],
        Status::Completed => &[complete(1)],
        Status::Failed => &[claim(1), fail(1)],
        Status::Cancelled => &[],
    };
    for step in steps {
        team.member("ann").ok(step.clone());
    }
    if status == Status::Stale {
        team.at(5).tick();
    } else if status == Status::Cancelled {
        team.lead().ok(cancel(1));
    } else if status == Status::Blocked {
        team.lead().ok(wait_for(1, &[2]));
    }
    assert_eq!(team.status(1), status);
    team
}

/// The outcome of a command: the new status, `same` if the status did not change, `-` if it is refused.
fn outcome(status: Status, who: &str, command: &TaskCommand) -> String {
    let mut team = board(status);
    let before = team.state.clone();
    let actor = if who == "pat" { Actor::human(who) } else { Actor::agent(&name(who)) };
    match team.by(actor).decide(&command.clone().into()) {
        Err(_) => {
            assert_eq!(team.state, before, "a refused command changes nothing");
            "-".to_owned()
        }
        Ok(_) => match team.state.tasks().status(crate::TaskNumber(1)) {
            Some(now) if now == status => "same".to_owned(),
            Some(now) => now.to_string(),
            None => "deleted".to_owned(),
        },
    }
}

fn table(who: &str) -> String {
    let mut lines = vec![format!("{:<15}", who)];
    for status in Status::ALL {
        lines[0] += &format!("{:<12}", status.as_str());
    }
    for (action, command) in actions() {
        let mut line = format!("{action:<15}");
        for status in Status::ALL {
            line += &format!("{:<12}", outcome(*status, who, &command));
        }
        lines.push(line);
    }
    lines.iter().map(|line| line.trim_end()).collect::<Vec<_>>().join("\n")
}

#[test]
fn the_holders_actions_on_a_task() {
    insta::assert_snapshot!(table("ann"), @r"
    ann            pending     in_progress in_review   completed   failed      cancelled   blocked     stale
    claim          in_progress same        -           -           -           -           -           in_progress
    assign         -           -           -           -           -           -           -           -
    renew          -           same        -           -           -           -           -           same
    release        -           pending     pending     -           -           -           -           pending
    progress       -           same        -           -           -           -           -           in_progress
    complete       completed   completed   -           -           -           -           -           completed
    fail           -           failed      -           -           -           -           -           failed
    review         -           in_review   -           -           -           -           -           in_review
    approve        -           -           -           -           -           -           -           -
    reject         -           -           -           -           -           -           -           -
    revise         -           -           -           -           -           -           -           -
    cancel         -           -           -           -           -           -           -           -
    retry          -           -           -           -           -           -           -           -
    comment        same        same        same        same        same        same        same        same
    attach         same        same        same        same        same        same        same        same
    ask_user       -           same        same        -           -           -           -           same
    clear_ask_user -           -           -           -           -           -           -           -
    update         -           -           -           -           -           -           -           -
    wait_for       -           -           -           -           -           -           -           -
    delete         -           -           -           -           -           -           -           -
    ");
}

#[test]
fn another_members_actions_on_a_task() {
    insta::assert_snapshot!(table("bob"), @r"
    bob            pending     in_progress in_review   completed   failed      cancelled   blocked     stale
    claim          in_progress -           -           -           -           -           -           -
    assign         -           -           -           -           -           -           -           -
    renew          -           -           -           -           -           -           -           -
    release        -           -           -           -           -           -           -           -
    progress       -           -           -           -           -           -           -           -
    complete       completed   -           -           -           -           -           -           -
    fail           -           -           -           -           -           -           -           -
    review         -           -           -           -           -           -           -           -
    approve        -           -           -           -           -           -           -           -
    reject         -           -           -           -           -           -           -           -
    revise         -           -           -           -           -           -           -           -
    cancel         -           -           -           -           -           -           -           -
    retry          -           -           -           -           -           -           -           -
    comment        same        same        same        same        same        same        same        same
    attach         same        same        same        same        same        same        same        same
    ask_user       -           -           -           -           -           -           -           -
    clear_ask_user -           -           -           -           -           -           -           -
    update         -           -           -           -           -           -           -           -
    wait_for       -           -           -           -           -           -           -           -
    delete         -           -           -           -           -           -           -           -
    ");
}

#[test]
fn the_leads_actions_on_a_task() {
    insta::assert_snapshot!(table("lead"), @r"
    lead           pending     in_progress in_review   completed   failed      cancelled   blocked     stale
    claim          in_progress -           -           -           -           -           -           -
    assign         in_progress same        -           -           -           -           -           -
    renew          -           -           -           -           -           -           -           -
    release        -           pending     pending     -           -           -           -           pending
    progress       -           -           -           -           -           -           -           -
    complete       completed   -           -           -           -           -           -           -
    fail           -           -           -           -           -           -           -           -
    review         -           -           -           -           -           -           -           -
    approve        -           -           completed   -           -           -           -           -
    reject         -           -           cancelled   -           -           -           -           -
    revise         -           -           in_progress -           -           -           -           -
    cancel         cancelled   cancelled   -           -           cancelled   -           cancelled   cancelled
    retry          -           -           -           -           pending     -           -           pending
    comment        same        same        same        same        same        same        same        same
    attach         same        same        same        same        same        same        same        same
    ask_user       -           -           -           -           -           -           -           -
    clear_ask_user -           -           -           -           -           -           -           -
    update         same        same        same        -           same        -           same        same
    wait_for       blocked     -           -           -           same        -           same        -
    delete         -           -           -           deleted     deleted     deleted     -           -
    ");
}

#[test]
fn a_persons_actions_on_a_task() {
    insta::assert_snapshot!(table("pat"), @r"
    pat            pending     in_progress in_review   completed   failed      cancelled   blocked     stale
    claim          -           -           -           -           -           -           -           -
    assign         in_progress same        -           -           -           -           -           -
    renew          -           same        -           -           -           -           -           same
    release        -           pending     pending     -           -           -           -           pending
    progress       -           same        -           -           -           -           -           in_progress
    complete       completed   completed   -           -           -           -           -           completed
    fail           failed      failed      -           -           -           -           failed      failed
    review         -           -           -           -           -           -           -           -
    approve        -           -           completed   -           -           -           -           -
    reject         -           -           cancelled   -           -           -           -           -
    revise         -           -           in_progress -           -           -           -           -
    cancel         cancelled   cancelled   -           -           cancelled   -           cancelled   cancelled
    retry          -           -           -           -           pending     -           -           pending
    comment        same        same        same        same        same        same        same        same
    attach         same        same        same        same        same        same        same        same
    ask_user       -           -           -           -           -           -           -           -
    clear_ask_user -           -           -           -           -           -           -           -
    update         same        same        same        -           same        -           same        same
    wait_for       blocked     -           -           -           same        -           same        -
    delete         -           -           -           deleted     deleted     deleted     -           -
    ");
}

#[test]
fn a_stranger_may_do_nothing() {
    for (action, command) in actions() {
        for status in Status::ALL {
            assert_eq!(outcome(*status, "eve", &command), "-", "{action} of a {status} task");
        }
    }
}

/// All commands that are not about one task, for a team that accepts them.
fn team_commands() -> Vec<(&'static str, Command)> {
    let link = LinkChange { max_concurrent: Some(2), ..LinkChange::new(name("lead"), name("ann")) };
    vec![
        ("create task", create("write").into()),
        ("update team", Command::UpdateTeam { description: Some("new".into()), settings: vec![] }),
        ("complete team", Command::CompleteTeam),
        ("delete team", Command::DeleteTeam),
        ("add member", Command::AddMember(newcomer("eve"))),
        ("remove member", remove("bob")),
        ("set state", set_state("bob", MemberState::Idle)),
        ("record refusal", refusal(Some(1), "no")),
        (
            "set mode",
            Command::SetMemberMode { member: name("bob"), permissions: Permissions::Plan },
        ),
        ("set link", Command::SetLink(link)),
        ("purge link", Command::PurgeLink { from: name("lead"), to: name("ann") }),
        ("send", say("bob", "hi").into()),
        ("broadcast", say("*", "hi").into()),
        ("ask to stop", send("bob", MessageKind::ShutdownRequest, "").into()),
        ("ask about plan", send("bob", MessageKind::PlanApprovalRequest, "1.").into()),
        ("read own mail", read_all()),
        ("read ann's mail", Command::MarkRead { reader: Some(name("ann")), messages: None }),
        ("delegate", delegate(1, "bob")),
        ("end delegation", finish(Uuid::nil(), DelegationOutcome::Failed("x".into()))),
        ("tick", Command::Tick),
    ]
}

#[test]
fn each_actors_rights_on_the_team() {
    let actors = [
        Actor::agent(&name("ann")),
        Actor::agent(&name("lead")),
        Actor::human("pat"),
        Actor::system(),
        Actor::agent(&name("eve")),
    ];
    let mut lines = vec![format!("{:<16}", "")];
    lines[0] += &actors.iter().map(|actor| format!("{actor:<8}")).collect::<String>();
    for (what, command) in team_commands() {
        let mut line = format!("{what:<16}");
        for actor in &actors {
            let mut team = Bench::new();
            team.lead().ok(create("write"));
            let word = match team.by(actor.clone()).decide(&command) {
                Ok(_) => "yes",
                Err(refusal) if refusal.kind() == crate::RefusalKind::Forbidden => "-",
                Err(_) => "other",
            };
            line += &format!("{word:<8}");
        }
        lines.push(line);
    }
    let table = lines.iter().map(|line| line.trim_end()).collect::<Vec<_>>().join("\n");
    insta::assert_snapshot!(table, @r"
                    ann     lead    pat     system  eve
    create task     -       yes     yes     yes     -
    update team     -       yes     yes     yes     -
    complete team   -       yes     yes     yes     -
    delete team     -       yes     yes     yes     -
    add member      -       yes     yes     yes     -
    remove member   -       yes     yes     yes     -
    set state       -       -       yes     yes     -
    record refusal  -       -       -       yes     -
    set mode        -       yes     yes     yes     -
    set link        -       yes     yes     yes     -
    purge link      -       yes     yes     yes     -
    send            yes     yes     yes     yes     -
    broadcast       yes     yes     yes     yes     -
    ask to stop     -       yes     yes     yes     -
    ask about plan  yes     yes     yes     yes     -
    read own mail   yes     yes     yes     yes     -
    read ann's mail yes     -       yes     yes     -
    delegate        -       yes     yes     yes     -
    end delegation  other   other   other   other   -
    tick            -       -       yes     yes     -
    ");
}

#[test]
fn actions_of_version_2_are_refused_in_version_1() {
    let mut new = 0;
    for (_, command) in actions() {
        let action = command.action();
        let mut team = Bench::with(|settings| settings.version = 1);
        team.lead().ok(create("one"));
        team.lead().ok(create("two"));
        team.lead().ok(create("three"));
        let said = format!("action '{action}' requires team version 2 — upgrade in team settings");
        let is_gated = match team.lead().decide(&command.into()) {
            Err(refusal) => refusal.to_string() == said,
            Ok(_) => false,
        };
        assert_eq!(is_gated, action.first_version() == 2, "{action}");
        new += usize::from(is_gated);
    }
    assert_eq!(new, 12, "of the commands above");
}

#[test]
fn the_versions_of_all_actions() {
    let of = |version: u8| -> String {
        let all = TaskAction::ALL.iter().filter(|action| action.first_version() == version);
        all.map(|action| action.as_str()).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(
        of(1),
        "create claim complete cancel assign list get search prove fail delete release"
    );
    assert_eq!(
        of(2),
        "approve reject review comment progress attach update ask_user clear_ask_user retry"
    );
}

#[test]
fn a_team_of_version_1_can_be_upgraded() {
    let mut team = Bench::with(|settings| settings.version = 1);
    team.lead().ok(create("write"));
    assert_eq!(
        team.member("ann").refused(comment(1, "hm")),
        "action 'comment' requires team version 2 — upgrade in team settings"
    );
    team.lead().ok(set("version", 2));
    team.member("ann").ok(comment(1, "hm"));
}
