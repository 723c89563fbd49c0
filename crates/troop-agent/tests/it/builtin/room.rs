//! Conversations that grow beyond the model's window.

use std::fs;

use serde_json::json;
use tempfile::TempDir;
use troop_agent::builtin::{Api, BuiltinOptions, ModelSize};
use troop_testkit::mock::{Answer, MockModel, MockRequest, Reply};

use super::{ann, completed, does, ended, options};

const SUMMARY: &str = "I have read big.txt thrice; it is full of words";

/// A folder with a file of this many lines.
fn with_big_file(n_lines: usize) -> TempDir {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("big.txt"), "words and words\n".repeat(n_lines)).unwrap();
    folder
}

/// A model with this window, of which one reply may take a part.
fn with_window(window: u64, max_tokens: u32, options: BuiltinOptions) -> BuiltinOptions {
    BuiltinOptions { size: ModelSize { window, max_tokens }, ..options }
}

/// This answer, with the real number of tokens.
fn counted(answer: Answer, seen: &MockRequest) -> Answer {
    let n_tokens = serde_json::to_string(&seen.body).unwrap().len() as u64 / 4;
    match answer {
        Answer::Reply(reply) => Answer::Reply(Reply { tokens: (n_tokens, 0, 20), ..reply }),
        other @ (Answer::Status { .. } | Answer::Garbage(_) | Answer::Close | Answer::Hang) => {
            other
        }
    }
}

/// A model that reads a big file this many times, and is done.
fn reader(
    n_times: u32,
    summary: &'static str,
) -> impl FnMut(&MockRequest) -> Answer + Send + 'static {
    let mut n_rounds = 0;
    move |seen| {
        if is_asked_for_summary(seen) {
            return counted(Answer::text(summary), seen);
        }
        n_rounds += 1;
        let is_over = n_rounds > n_times;
        let read = Answer::call("Read", &json!({"file_path": "big.txt"}));
        counted(if is_over { Answer::text("done") } else { read }, seen)
    }
}

/// Whether the model is asked for a summary.
fn is_asked_for_summary(seen: &MockRequest) -> bool {
    seen.last().contains("is about to be shortened")
}

#[tokio::test]
async fn a_shortened_conversation_keeps_the_task_and_the_summary() {
    for api in [Api::Anthropic, Api::OpenAi, Api::Gemini] {
        let folder = with_big_file(500);
        let mock = MockModel::start(reader(6, SUMMARY)).await;
        let options = with_window(12_000, 1_000, options(api, &mock));
        let mut lead = ann(options, folder.path()).await;
        assert_eq!(
            does(&mut lead, "count all words, and mind the unicorn").await,
            completed("done")
        );
        let asked = mock.requests();
        let n_cut = asked.iter().filter(|seen| is_asked_for_summary(seen)).count();
        assert!((1..=4).contains(&n_cut), "{api}: cut {n_cut} times");
        for seen in &asked {
            let length = serde_json::to_string(&seen.body["messages"]).unwrap().len();
            assert!(length < 60_000, "{api}: {length}");
        }
        let last = serde_json::to_string(&asked.last().unwrap().body).unwrap();
        assert!(last.contains("mind the unicorn"), "{api}: the task is forgotten");
        assert!(last.contains(SUMMARY), "{api}: the summary is forgotten");
    }
}

#[tokio::test]
async fn mail_outlives_a_cut() {
    let folder = with_big_file(500);
    let mut read = reader(6, "I forgot all mail");
    let mut n_asked = 0;
    let mock = MockModel::start(move |seen| {
        n_asked += 1;
        let waits = json!({"command": "until [ -e go ]; do sleep 0.01; done"});
        if n_asked == 1 { Answer::call("Bash", &waits) } else { read(seen) }
    })
    .await;
    let options = with_window(12_000, 1_000, options(Api::Anthropic, &mock));
    let mut lead = ann(options, folder.path()).await;
    lead.assign("task-1", "count").await;
    mock.is_asked(1).await;
    lead.mails_and_knows("the password of the day is heron").await;
    fs::write(folder.path().join("go"), "").unwrap();
    assert_eq!(ended(&mut lead).await, completed("done"));
    let asked = mock.requests();
    assert!(asked.iter().any(is_asked_for_summary), "it was never cut");
    let last = serde_json::to_string(&asked.last().unwrap().body).unwrap();
    assert!(last.contains("I forgot all mail") && last.contains("is heron"), "{last}");
}

#[tokio::test]
async fn a_conversation_that_the_api_finds_too_long_is_shortened() {
    let folder = with_big_file(1_000);
    let mut n_rounds = 0;
    let mock = MockModel::start(move |seen| {
        let length = serde_json::to_string(&seen.body).unwrap().len();
        if length > 60_000 {
            return Answer::status(400, "prompt is too long: 210000 tokens > 200000 maximum");
        }
        if is_asked_for_summary(seen) {
            return Answer::text(SUMMARY);
        }
        n_rounds += 1;
        match n_rounds {
            1..=8 => Answer::call("Read", &json!({"file_path": "big.txt"})),
            _ => Answer::text("done"),
        }
    })
    .await;
    let mut lead = ann(options(Api::Anthropic, &mock), folder.path()).await;
    let (status, result) = does(&mut lead, "count all words, and mind the unicorn").await;
    assert_eq!((status.as_str(), result.as_str()), ("completed", "done"));
    let last = serde_json::to_string(&mock.requests().last().unwrap().body).unwrap();
    assert!(last.contains("mind the unicorn"));
}

#[tokio::test]
async fn a_task_that_is_too_long_by_itself_fails_and_says_so() {
    let folder = TempDir::new().unwrap();
    let mock = MockModel::start(|_| Answer::status(400, "prompt is too long")).await;
    let mut lead = ann(options(Api::Anthropic, &mock), folder.path()).await;
    let (status, reason) = does(&mut lead, "too long").await;
    assert_eq!(status, "failed");
    assert!(reason.contains("too long for the model"), "{reason}");
    assert!(mock.requests().len() < 10);
}

#[tokio::test]
async fn the_team_outlives_a_cut() {
    let folder = with_big_file(500);
    let mock = MockModel::start(reader(6, "I forgot my team")).await;
    let options = with_window(12_000, 1_000, options(Api::Anthropic, &mock));
    let mut lead = ann(options, folder.path()).await;
    let context = json!({"tasks": [], "mode": "bypass", "teamMd": "# Team of herons\n"});
    lead.say("team.updateContext", context).await;
    assert_eq!(does(&mut lead, "count").await, completed("done"));
    assert_eq!(does(&mut lead, "count again").await, completed("done"));
    let asked = mock.requests();
    assert!(asked.iter().any(is_asked_for_summary), "it was never cut");
    for seen in &asked {
        assert!(seen.body.to_string().contains("# Team of herons"), "{:#}", seen.body);
    }
}

#[tokio::test]
async fn every_apis_error_about_length_is_understood() {
    for words in [
        "input length and `max_tokens` exceed context limit: 190000 + 16000 > 200000, decrease input length",
        "request (9000 tokens) exceeds the available context size (8192 tokens), try increasing it",
        "This model's maximum context length is 8192 tokens",
    ] {
        let folder = TempDir::new().unwrap();
        let mock = MockModel::start(|_| Answer::status(400, words)).await;
        let mut lead = ann(options(Api::OpenAi, &mock), folder.path()).await;
        let (_, reason) = does(&mut lead, "look").await;
        assert!(reason.contains("too long for the model"), "{reason}");
    }
}

#[tokio::test]
async fn a_window_too_small_for_the_instructions_is_refused() {
    let folder = TempDir::new().unwrap();
    let mock = MockModel::with([]).await;
    let options = with_window(2_000, 500, options(Api::OpenAi, &mock));
    let mut lead = ann(options, folder.path()).await;
    let (status, reason) = does(&mut lead, "look").await;
    assert_eq!(status, "failed");
    assert!(reason.contains("has 2000 tokens, and instructions and tools alone need"), "{reason}");
    assert!(reason.contains("`contextWindow`") && mock.requests().is_empty(), "{reason}");
}

#[tokio::test]
async fn without_a_summary_the_model_gets_a_list_of_its_steps() {
    let folder = with_big_file(500);
    let mut read = reader(6, "");
    let mock = MockModel::start(move |seen| match is_asked_for_summary(seen) {
        // As small models do, whatever they are offered.
        true => counted(Answer::call("Read", &json!({"file_path": "big.txt"})), seen),
        false => read(seen),
    })
    .await;
    let options = with_window(12_000, 1_000, options(Api::OpenAi, &mock));
    let mut lead = ann(options, folder.path()).await;
    assert_eq!(does(&mut lead, "mind the unicorn").await, completed("done"));
    let asked = mock.requests();
    let summaries: Vec<_> = asked.iter().filter(|seen| is_asked_for_summary(seen)).collect();
    assert!((1..=4).contains(&summaries.len()), "cut {} times", summaries.len());
    for seen in summaries {
        assert!(seen.tools().is_empty(), "{:?}", seen.tools());
        assert!(seen.last().contains("[result of Read]"), "{}", seen.last());
    }
    let last = asked.last().unwrap().body.to_string();
    for part in
        ["mind the unicorn", "Your last steps until here, in brief", "result: ", "words and"]
    {
        assert!(last.contains(part), "`{part}` is not in {last}");
    }
}

#[tokio::test]
async fn a_small_window_holds_several_pages_of_a_big_file() {
    let folder = with_big_file(5_000);
    let mock = MockModel::start(reader(7, SUMMARY)).await;
    let options = with_window(32_000, 8_000, options(Api::OpenAi, &mock));
    let mut lead = ann(options, folder.path()).await;
    assert_eq!(does(&mut lead, "count all words").await, completed("done"));
    let asked = mock.requests();
    let n_cut = asked.iter().filter(|seen| is_asked_for_summary(seen)).count();
    assert!(n_cut <= 3, "cut {n_cut} times");
    let told = asked[1].last();
    assert!(told.contains("bytes are not shown here]"), "{told}");
}
