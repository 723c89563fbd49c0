//! Histories that a model can continue.

use serde_json::Map;

use super::{Begin, History, MAX_PINNED};
use crate::builtin::chat::{ChatMessage, ReplyPart, ToolCall, ToolResult, UserPart};

fn call(id: usize) -> Vec<ReplyPart> {
    let (name, input) = ("Read".to_owned(), Ok(Map::new()));
    vec![ReplyPart::Call(ToolCall { id: id.to_string(), name, input, signature: None })]
}

fn result(id: usize, length: usize) -> Vec<ToolResult> {
    let (name, content) = ("Read".to_owned(), "x".repeat(length));
    vec![ToolResult { id: id.to_string(), name, content, is_error: false }]
}

fn long(n_rounds: usize, length: usize) -> History {
    let mut history = History::default();
    history.begin("the task".to_owned(), Begin::Anew);
    for round in 0..n_rounds {
        history.reply(call(round), 0);
        history.results(result(round, length));
    }
    history
}

/// Whether every call has its result, and both sides alternate.
fn is_valid(history: &History) -> bool {
    let messages = history.messages();
    let takes_turns = messages
        .iter()
        .enumerate()
        .all(|(nth, message)| matches!(message, ChatMessage::User(_)) == (nth % 2 == 0));
    let ids = |message: &ChatMessage| -> (Vec<String>, Vec<String>) {
        match message {
            ChatMessage::Model(parts) => {
                let calls = parts.iter().filter_map(|part| match part {
                    ReplyPart::Call(call) => Some(call.id.clone()),
                    ReplyPart::Text(_) | ReplyPart::Thinking { .. } | ReplyPart::Hidden { .. } => {
                        None
                    }
                });
                (calls.collect(), Vec::new())
            }
            ChatMessage::User(said) => {
                let results = said.iter().filter_map(|said| match said {
                    UserPart::Result(result) => Some(result.id.clone()),
                    UserPart::Text(_) => None,
                });
                (Vec::new(), results.collect())
            }
        }
    };
    let answered = messages.windows(2).all(|pair| ids(&pair[0]).0 == ids(&pair[1]).1);
    takes_turns && answered && ids(&messages[0]).1.is_empty()
}

#[test]
fn pinned_text_frees_nothing_and_one_round_does_not_fill_the_window() {
    let mut history = long(2, 300);
    assert_eq!(history.n_freed_by(1), 0, "the task stays");
    assert_eq!(history.n_freed_by(3), 304);
    history.comes_after(6_000);
    assert_eq!(history.room_for_result(10_000, 1), 6_000);
    assert_eq!(history.room_for_result(10_000, 6), 2_000);
    assert_eq!(history.room_for_result(10, 6), 1_000);
}

#[test]
fn consecutive_texts_are_one_message() {
    let mut history = long(1, 10);
    history.tell("mail".to_owned());
    history.tell("more".to_owned());
    assert_eq!(history.messages().len(), 3);
    assert!(is_valid(&history));
}

#[test]
fn a_history_that_is_cut_anywhere_stays_valid() {
    for n_bytes in [0, 50, 100, 101, 350, 999, 100_000] {
        let mut history = long(10, 100);
        let n_front = history.n_before_end(n_bytes);
        history.replace_front(n_front, "what went before".to_owned());
        assert!(is_valid(&history), "{n_bytes}: {history:?}");
        assert!(history.messages().len() >= 3, "the last round stays");
        let kept: usize = history.n_bytes - "what went before".len();
        assert!(kept <= n_bytes.max(110), "{kept} bytes were kept of {n_bytes}");
    }
}

#[test]
fn estimates_start_from_the_tokens_that_the_api_counted() {
    let mut history = long(0, 0);
    history.reply(call(1), 5_000);
    assert_eq!(history.n_tokens(), 5_000);
    history.results(result(1, 3_000));
    assert_eq!(history.n_tokens(), 6_000);
}

#[test]
fn the_first_estimate_includes_instructions_and_tools() {
    let mut history = History::default();
    history.comes_after(3_000);
    history.begin("x".repeat(300), Begin::Anew);
    assert_eq!(history.n_tokens(), 1_100);
    history.reply(call(1), 5_000);
    assert_eq!(history.n_tokens(), 5_000, "the count of the API includes everything");
    history.results(result(1, 30));
    history.replace_front(2, "what went before".to_owned());
    assert!(history.n_tokens() >= 1_000, "nothing is counted any more");
}

#[test]
fn the_work_its_plan_and_the_latest_mail_survive_every_cut() {
    let mut history = long(1, 10);
    history.tell_plan("the plan".to_owned());
    for nth in 0..100 {
        history.tell_mail(format!("mail {nth} {}", "y".repeat(1_000)));
    }
    let pins = history.pins();
    assert_eq!(pins[..2], ["the task", "the plan"]);
    assert!(pins.last().unwrap().starts_with("mail 99"));
    assert!(pins.iter().map(|it| it.len()).sum::<usize>() < MAX_PINNED + 2_000);
    history.begin("the task, after an interruption".to_owned(), Begin::Again);
    assert_eq!(history.pins()[..2], ["the task, after an interruption", "the plan"]);
    history.begin("another".to_owned(), Begin::Anew);
    assert_eq!(history.pins(), ["another"]);
}

#[test]
fn the_team_and_the_goal_outlive_every_piece_of_work() {
    let mut history = History::default();
    history.tell_team("the team".to_owned());
    history.keep_goal("the goal".to_owned());
    history.begin("the goal".to_owned(), Begin::Anew);
    assert_eq!(history.pins(), ["the team", "the goal"], "no text comes twice");
    for nth in 0..100 {
        history.keep_goal(format!("word {nth} {}", "y".repeat(1_000)));
    }
    history.tell_team("the team now".to_owned());
    history.begin("ann is idle".to_owned(), Begin::Anew);
    let pins = history.pins();
    assert_eq!(pins[..2], ["the team now", "the goal"]);
    assert!(pins[pins.len() - 2].starts_with("word 99"));
    assert!(pins.iter().map(|it| it.len()).sum::<usize>() < MAX_PINNED + 2_000);
}
