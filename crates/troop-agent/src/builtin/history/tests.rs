//! Histories that a model can go on with.

use serde_json::Map;

use super::{History, MAX_PINNED};
use crate::builtin::chat::{Message, Part, Said, ToolCall, ToolResult};

fn call(id: usize) -> Vec<Part> {
    let (name, input) = ("Read".to_owned(), Ok(Map::new()));
    vec![Part::Call(ToolCall { id: id.to_string(), name, input, signature: None })]
}

fn result(id: usize, length: usize) -> Vec<ToolResult> {
    let (name, content) = ("Read".to_owned(), "x".repeat(length));
    vec![ToolResult { id: id.to_string(), name, content, is_error: false }]
}

fn long(n_rounds: usize, length: usize) -> History {
    let mut history = History::default();
    history.begin("the task".to_owned());
    for round in 0..n_rounds {
        history.reply(call(round), 0);
        history.results(result(round, length));
    }
    history
}

/// Every call is followed by its result, and both sides take turns.
fn is_valid(history: &History) -> bool {
    let messages = history.messages();
    let takes_turns = messages
        .iter()
        .enumerate()
        .all(|(nth, message)| matches!(message, Message::User(_)) == (nth % 2 == 0));
    let ids = |message: &Message| -> (Vec<String>, Vec<String>) {
        match message {
            Message::Model(parts) => {
                let calls = parts.iter().filter_map(|part| match part {
                    Part::Call(call) => Some(call.id.clone()),
                    Part::Text(_) | Part::Thinking { .. } | Part::Hidden { .. } => None,
                });
                (calls.collect(), Vec::new())
            }
            Message::User(said) => {
                let results = said.iter().filter_map(|said| match said {
                    Said::Result(result) => Some(result.id.clone()),
                    Said::Text(_) => None,
                });
                (Vec::new(), results.collect())
            }
        }
    };
    let answered = messages.windows(2).all(|pair| ids(&pair[0]).0 == ids(&pair[1]).1);
    takes_turns && answered && ids(&messages[0]).1.is_empty()
}

#[test]
fn texts_that_come_together_are_one_message() {
    let mut history = long(1, 10);
    history.tell("mail".to_owned());
    history.tell("more".to_owned());
    assert_eq!(history.messages().len(), 3);
    assert!(is_valid(&history));
}

#[test]
fn wherever_the_front_is_cut_off_a_model_can_go_on() {
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
fn tokens_are_as_counted_and_guessed_from_there() {
    let mut history = long(0, 0);
    history.reply(call(1), 5_000);
    assert_eq!(history.n_tokens(), 5_000);
    history.results(result(1, 3_000));
    assert_eq!(history.n_tokens(), 6_000);
}

#[test]
fn the_work_and_the_latest_mail_are_never_forgotten() {
    let mut history = long(1, 10);
    for nth in 0..100 {
        history.tell_for_good(format!("mail {nth} {}", "y".repeat(1_000)));
    }
    let pins = history.pins();
    assert_eq!(pins[0], "the task");
    assert!(pins.last().unwrap().starts_with("mail 99"));
    assert!(pins.iter().map(String::len).sum::<usize>() < MAX_PINNED + 2_000);
    history.begin("another".to_owned());
    assert_eq!(history.pins(), ["another"]);
}
