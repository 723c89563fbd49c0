//! Access lists, the visibility of tasks, lists and searches.

use super::{
    bench::{Bench, user},
    commands::*,
};
use crate::{
    MAX_SHOWN_RESULT, MAX_SNIPPET, NewTask, Origin, PAGE, Search, Settings, Status, TaskFilter,
    TaskView, is_visible,
};

fn guarded(change: impl FnOnce(&mut Settings)) -> Bench {
    Bench::with(change)
}

#[test]
fn deny_beats_allow_for_users() {
    let mut team = guarded(|settings| {
        settings.access.allow_user_ids = vec!["ann-u".into(), "eve".into()];
        settings.access.deny_user_ids = vec!["eve".into()];
    });
    for (who, is_admitted) in [("ann-u", true), ("eve", false), ("zoe", false), ("", false)] {
        let result = team.lead().from(user(who, "cli", "")).decide(&create("write").into());
        assert_eq!(result.is_ok(), is_admitted, "{who}");
    }
    assert_eq!(
        team.lead().from(user("eve", "cli", "")).refused(create("write")),
        "user `eve` may not give this team work"
    );
}

#[test]
fn deny_beats_allow_for_channels() {
    let mut team = guarded(|settings| {
        settings.access.allow_channels = vec!["cli".into(), "web".into()];
        settings.access.deny_channels = vec!["web".into()];
    });
    for (channel, is_admitted) in [("cli", true), ("web", false), ("telegram", false)] {
        let result = team.lead().from(user("u1", channel, "")).decide(&create("write").into());
        assert_eq!(result.is_ok(), is_admitted, "{channel}");
    }
    assert_eq!(
        team.lead().from(user("u1", "web", "")).refused(say("ann", "hi")),
        "channel `web` may not give this team work"
    );
}

#[test]
fn deny_lists_alone_stop_only_the_named() {
    let mut team = guarded(|settings| settings.access.deny_user_ids = vec!["eve".into()]);
    team.lead().from(user("zoe", "cli", "")).ok(create("write"));
    team.lead().from(user("", "cli", "")).ok(create("write"));
    assert!(team.lead().from(user("eve", "cli", "")).decide(&create("write").into()).is_err());
}

#[test]
fn troops_own_channels_always_pass() {
    let mut team = guarded(|settings| {
        settings.access.allow_user_ids = vec!["nobody".into()];
        settings.access.deny_channels = vec!["system".into(), "teammate".into()];
    });
    for channel in ["system", "teammate"] {
        team.lead().from(user("eve", channel, "")).ok(create("write"));
    }
    team.lead().ok(create("write"));
}

#[test]
fn without_access_lists_everyone_is_admitted() {
    let mut team = Bench::new();
    for (who, channel) in [("u1", "cli"), ("u2", "telegram"), ("", "web")] {
        team.lead().from(user(who, channel, "c")).ok(create("write"));
    }
}

#[test]
fn access_lists_stop_new_work_but_not_cancelling() {
    let mut team = guarded(|settings| settings.access.deny_user_ids = vec!["eve".into()]);
    team.lead().ok(create("write"));
    let eve = || user("eve", "cli", "");
    assert!(team.lead().from(eve()).decide(&delegate(1, "ann")).is_err());
    team.lead().from(eve()).ok(cancel(1));
}

#[test]
fn users_see_the_tasks_they_caused_and_troop_sees_all() {
    let mut team = Bench::new();
    team.lead().from(user("u1", "telegram", "c1")).ok(create("one"));
    team.lead().from(user("u1", "telegram", "c2")).ok(create("two"));
    team.lead().from(user("u2", "telegram", "c1")).ok(create("three"));
    team.lead().from(user("", "telegram", "c1")).ok(create("four"));
    team.lead().ok(create("five"));
    let sees = |viewer: Origin| -> Vec<u32> {
        let tasks = team.state.tasks().iter().filter(|task| is_visible(task, &viewer));
        tasks.map(|task| task.number.0).collect()
    };
    assert_eq!(sees(user("", "system", "")), [1, 2, 3, 4, 5]);
    assert_eq!(sees(user("u9", "teammate", "")), [1, 2, 3, 4, 5]);
    assert_eq!(sees(Origin::default()), [1, 2, 3, 4, 5]);
    assert_eq!(sees(user("u1", "telegram", "")), [1, 2]);
    assert_eq!(sees(user("u1", "cli", "")), [1, 2]);
    assert_eq!(sees(user("u1", "telegram", "c2")), [2]);
    assert_eq!(sees(user("u1", "web", "c2")), [] as [u32; 0], "a chat of another channel");
    assert_eq!(sees(user("", "telegram", "c1")), [4]);
    assert_eq!(sees(user("", "web", "")), [] as [u32; 0], "a caller without identity sees nothing");
}

#[test]
fn scopes_and_users_are_listed_once() {
    let mut team = Bench::new();
    for (who, channel, chat) in [
        ("u2", "web", "c1"),
        ("u1", "telegram", "c1"),
        ("u1", "telegram", "c1"),
        ("u1", "web", "c1"),
    ] {
        team.lead().from(user(who, channel, chat)).ok(create("write"));
    }
    team.lead().from(user("u1", "system", "c1")).ok(create("write"));
    let pair = |channel: &str| (Some(channel.into()), Some("c1".into()));
    assert_eq!(team.state.scopes(), [pair("telegram"), pair("web")]);
    assert_eq!(team.state.known_users(), ["u1", "u2"]);
}

#[test]
fn the_list_is_filtered_by_status() {
    let shown = |filter: TaskFilter| -> Vec<&str> {
        Status::ALL.iter().filter(|it| filter.admits(**it)).map(|it| it.as_str()).collect()
    };
    assert_eq!(
        shown(TaskFilter::Active),
        ["pending", "in_progress", "in_review", "failed", "blocked", "stale"]
    );
    assert_eq!(shown(TaskFilter::Finished), ["completed", "cancelled"]);
    assert_eq!(shown(TaskFilter::Only(Status::InReview)), ["in_review"]);
    assert_eq!(shown(TaskFilter::All).len(), 8);
    assert!(TaskFilter::All.includes_archived() && TaskFilter::Finished.includes_archived());
    assert!(!TaskFilter::Active.includes_archived());
    assert_eq!(PAGE, 30);
}

#[test]
fn a_search_finds_all_words_in_subject_or_description() {
    let mut team = Bench::new();
    let description = format!("Rewrite the PARSER {}", "x".repeat(600));
    team.lead().ok(NewTask { description, ..create("Big Change") });
    let find = |text: &str| Search::new(text).snippet(team.task(1));
    for text in ["big", "parser", "PARSER big", "chan rewr"] {
        assert_eq!(find(text).unwrap().chars().count(), MAX_SNIPPET, "{text}");
    }
    assert_eq!(MAX_SNIPPET, 500);
    for text in ["", "  ", "big missing"] {
        assert_eq!(find(text), None, "{text}");
    }
}

#[test]
fn a_task_is_shown_with_its_details_and_a_shortened_result() {
    let mut team = Bench::new();
    team.lead().ok(create("write"));
    team.member("ann").ok(comment(1, "hm"));
    team.member("ann").ok(attach(1, "a.txt"));
    team.member("ann").ok(complete_with(1, &"é".repeat(9_000)));
    let view = serde_json::to_value(TaskView::full(&team.state, team.task(1), 0)).unwrap();
    assert_eq!(view["result"].as_str().unwrap().chars().count(), MAX_SHOWN_RESULT);
    assert_eq!(view["result_next_offset"], MAX_SHOWN_RESULT);
    assert_eq!(MAX_SHOWN_RESULT, 8_000);
    let rest = TaskView::full(&team.state, team.task(1), MAX_SHOWN_RESULT);
    assert_eq!(rest.result.unwrap().chars().count(), 1_000);
    assert_eq!(rest.result_next_offset, None);
    assert_eq!(view["detail"]["comments"][0]["text"], "hm");
    assert_eq!(view["detail"]["attachments"][0]["path"], "a.txt");
    assert_eq!(view["detail"]["events"][0]["what"], "created");
    let brief = serde_json::to_value(TaskView::brief(&team.state, team.task(1))).unwrap();
    assert!(brief.get("detail").is_none());
}

#[test]
fn every_member_sees_the_whole_list() {
    let mut team = Bench::new();
    team.lead().from(user("u1", "telegram", "c1")).ok(create_for("for bob", "bob"));
    let teammate = user("", "teammate", "");
    assert!(is_visible(team.task(1), &teammate));
}
