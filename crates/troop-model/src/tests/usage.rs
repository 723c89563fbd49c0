//! Usage and budgets.

use super::{
    bench::{Bench, kinds, name, newcomer},
    commands::*,
};
use crate::{
    Budget, Command, Dollars, MemberState, Spawn, Spending, Status, TaskCommand, Usage, team_md,
};

/// A team with a lead lease and this budget.
fn team(dollars: Option<f64>, tokens: Option<u64>) -> Bench {
    let dollars = dollars.map(|it| Dollars::new(it).unwrap());
    let mut team =
        Bench::with(|settings| settings.budget = Budget { dollars, tokens, ..Budget::default() });
    let session = uuid::Uuid::from_u128(1);
    let holder = "pat".to_owned();
    team.system().ok(Command::TakeLead { session, holder, over: None, checks: Vec::new() });
    team
}

fn spawn(who: &str) -> Command {
    Command::SpawnMember(Spawn { member: newcomer(who), prompt: None })
}

#[test]
fn the_scarcest_limit_of_a_budget_decides() {
    use Spending::{Near, Spent, Within};
    let table = [
        // dollars, tokens, percent; used dollars, used tokens
        ((None, None, 80), (1e6, 1_000_000), Within),
        ((Some(1.0), None, 80), (0.799_999, 9), Within),
        ((Some(1.0), None, 80), (0.8, 9), Near),
        ((Some(1.0), None, 80), (0.999_999, 9), Near),
        ((Some(1.0), None, 80), (1.0, 9), Spent),
        ((None, Some(10), 50), (9.0, 4), Within),
        ((None, Some(10), 50), (9.0, 5), Near),
        ((None, Some(10), 50), (9.0, 10), Spent),
        ((Some(1.0), Some(10), 80), (0.1, 9), Near),
        ((Some(1.0), Some(10), 80), (2.0, 1), Spent),
        ((Some(1.0), None, 100), (0.999_999, 0), Within),
        ((Some(0.0), None, 80), (0.0, 0), Spent),
        ((None, Some(u64::MAX), 80), (0.0, u64::MAX - 1), Near),
    ];
    for ((dollars, tokens, warn_percent), (spent, input), expected) in table {
        let dollars = dollars.map(|it| Dollars::new(it).unwrap());
        let budget = Budget { dollars, tokens, warn_percent };
        let used = Usage { input, dollars: Dollars::new(spent).unwrap(), ..Usage::default() };
        assert_eq!(budget.standing(&used), expected, "{budget:?} after {used:?}");
    }
}

#[test]
fn money_is_counted_in_millionths_and_displayed_readably() {
    let shown = |dollars: f64| Dollars::new(dollars).unwrap().to_string();
    assert_eq!([shown(0.0), shown(0.012_34), shown(12.3)], ["$0.00", "$0.0123", "$12.30"]);
    for bad in [-0.1, f64::NAN, f64::INFINITY, 1e10] {
        assert_eq!(Dollars::new(bad), None);
    }
    let one = |dollars: f64, unpriced: u64| Usage {
        output: 1_234,
        dollars: Dollars::new(dollars).unwrap(),
        unpriced,
        ..Usage::default()
    };
    assert_eq!(one(0.5, 0).to_string(), "1,234 tokens, $0.5000");
    assert_eq!(one(0.0, 1_234).to_string(), "1,234 tokens, price unknown");
    assert_eq!(one(0.5, 200).to_string(), "1,234 tokens, $0.5000, of 200 the price is unknown");
}

#[test]
fn usage_counts_for_the_member_its_task_and_the_team() {
    let mut team = team(None, None);
    team.lead().ok(create("write"));
    team.member("ann").ok(claim(1));
    let moved = team.task(1).provenance.moved_at;
    let events = team.at(3).member("ann").ok(used("ann", Some(1), 100, 0.5));
    assert_eq!(kinds(&events), ["usage.reported"]);
    team.member("ann").ok(used("ann", None, 10, 0.25));
    team.member("bob").ok(used("bob", Some(1), 1, 0.0));
    team.member("ann").ok(complete(1));
    team.member("ann").ok(used("ann", Some(1), 1_000, 0.0));
    let tokens = |who: &str| team.state.member(&name(who)).unwrap().usage.tokens();
    assert_eq!((tokens("ann"), tokens("bob"), tokens("lead")), (1_110, 1, 0));
    assert_eq!(team.task(1).usage.tokens(), 100, "only usage of the holder before completion");
    assert_eq!(
        (team.task(1).provenance.moved_at, moved),
        (team.now, moved),
        "it moved when it was done"
    );
    let all = team.state.team().unwrap().usage;
    assert_eq!((all.tokens(), all.dollars), (1_111, Dollars::new(0.75).unwrap()));
    team.lead().ok(remove("ann"));
    assert_eq!(team.state.team().unwrap().usage, all, "spent usage is kept");
}

#[test]
fn members_report_only_their_own_usage() {
    let mut team = team(None, None);
    let refused = team.member("ann").refused(used("bob", None, 1, 0.0));
    assert_eq!(refused, "`ann` may not say what somebody else used; only they themselves may");
    team.system().ok(used("bob", None, 1, 0.0));
    assert!(team.member("ann").ok(used("ann", None, 0, 0.0)).is_empty(), "no usage, no event");
}

#[test]
fn people_and_the_lead_are_notified_once_near_the_budget_and_once_when_it_is_spent() {
    let mut team = team(Some(1.0), None);
    team.member("ann").ok(used("ann", None, 1, 0.7));
    assert!(team.unread("lead").is_empty() && team.unread("user").is_empty());
    team.member("ann").ok(used("ann", None, 1, 0.1));
    team.member("ann").ok(used("ann", None, 1, 0.1));
    let near = "more than 80% of the team's budget is spent: $0.8000 of $1.00";
    assert_eq!((team.unread("lead"), team.unread("user")), (vec![near], vec![near]));
    team.member("ann").ok(used("ann", None, 1, 0.2));
    team.member("ann").ok(used("ann", None, 1, 0.1));
    let spent =
        "the team's budget is spent: $1.10 of $1.00; nothing new is started until it is raised";
    assert_eq!((team.unread("lead"), team.unread("user")), (vec![near, spent], vec![near, spent]));
    assert_eq!(team.state.spending(), Spending::Spent);
    team.person().ok(set("budget.dollars", 2.0));
    let raised = "the team's budget was raised: $1.20 of $2.00; go on";
    assert_eq!(team.unread("lead"), [near, spent, raised]);
    team.person().ok(set("budget.dollars", serde_json::Value::Null));
    assert_eq!(team.state.spending(), Spending::Within);
}

#[test]
fn unpriced_usage_is_reported_once_if_the_budget_is_in_dollars() {
    for (dollars, n_told) in [(Some(1.0), 1), (None, 0)] {
        let mut team = team(dollars, Some(1_000));
        for _ in 0..2 {
            let usage = Usage { input: 5, unpriced: 5, ..Usage::default() };
            let (member, task, model) = (name("ann"), None, None);
            team.member("ann").ok(Command::ReportUsage { member, task, model, usage });
        }
        let told = team.unread("user");
        assert_eq!(told.len(), n_told);
        assert!(told.iter().all(|it| it.starts_with("the price of some tokens is unknown")));
        assert_eq!(team.state.team().unwrap().usage.unpriced, 10);
    }
}

#[test]
fn a_spent_budget_stops_new_work_keeps_old_work_and_can_be_raised() {
    let mut team = team(None, Some(100));
    team.lead().ok(create("one"));
    team.lead().ok(create("two"));
    team.member("ann").ok(claim(1));
    team.member("ann").ok(used("ann", Some(1), 100, 0.0));
    let spent =
        "the team's budget is spent: 100 of 100 tokens; nothing new is started until it is raised";
    assert_eq!(team.lead().refused(spawn("eve")), spent);
    assert_eq!(team.member("bob").refused(claim(2)), spent);
    assert_eq!(team.member("bob").refused(claim_next()), spent);
    assert_eq!(team.lead().refused(assign(2, "bob")), spent);
    assert_eq!(team.lead().refused(delegate(2, "bob")), spent);
    let state = MemberState::Spawning;
    let member = name("bob");
    let again = Command::SetMemberState { member, state, reason: None, cause: None, pid: None };
    assert_eq!(team.system().refused(again), spent);
    team.lead().ok(create("three"));
    // The holder may finish the task or release it, any number of times.
    for _ in 0..5 {
        let reason = "the budget is spent".to_owned();
        team.member("ann").ok(TaskCommand::Release { task: task(1), reason });
        assert_eq!(team.status(1), Status::Pending);
        team.person().ok(set("budget.tokens", 101));
        team.member("ann").ok(claim(1));
        team.person().ok(set("budget.tokens", 100));
    }
    team.member("ann").ok(complete(1));
    assert!(team.tick().is_empty(), "a tick starts nothing either");
    team.person().ok(set("budget.tokens", 1_000));
    team.member("bob").ok(claim(2));
    team.lead().ok(spawn("eve"));
}

#[test]
fn only_the_lead_reads_about_the_budget() {
    let mut team = team(Some(5.0), Some(1_000_000));
    team.member("ann").ok(used("ann", None, 12_345, 1.5));
    let text = team_md(&team.state, "lead", None);
    let says = "\n## The budget\n\nSpent so far: $1.50 of $5.00, 12,345 of 1,000,000 tokens. You are told when 80%";
    assert!(text.contains(says), "{text}");
    assert!(!team_md(&team.state, "ann", None).contains("budget"));
    assert!(!team_md(&Bench::new().state, "lead", None).contains("budget"));
}

#[test]
fn an_invalid_budget_is_refused() {
    let mut team = team(None, None);
    for (key, value, says) in [
        ("budget.dollars", serde_json::json!(-1), "expected a number of dollars from 0"),
        ("budget.dollars", "much".into(), "invalid type"),
        ("budget.tokens", (-1).into(), "invalid value"),
        ("budget.warn_percent", 0.into(), "`budget.warn_percent` must be 1 to 100, not 0"),
        ("budget.euros", 1.into(), "there is no setting `budget.euros`"),
    ] {
        let refused = team.person().refused(set(key, value));
        assert!(refused.contains(says), "{key}: {refused}");
    }
}
