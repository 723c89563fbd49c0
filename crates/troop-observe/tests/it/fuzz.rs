//! Random bytes for every parser of an observer.

use proptest::prelude::*;
use troop_observe::{LineSplitter, Observer};
use troop_testkit::fuzz;

use crate::stream::{V47, V177, at, mail, team_lines};

/// Single lines, for an observer that has a team.
fn recognise(bytes: &[u8]) {
    let mut observer = Observer::default();
    for line in team_lines() {
        observer.line(line.as_bytes(), at(0));
    }
    for line in bytes.split(|byte| *byte == b'\n') {
        observer.line(line, at(0));
        observer.line(line, at(40));
    }
    observer.end(at(50));
    assert_eq!(
        observer.session().agents.len(),
        observer.session().team.map_or(0, |it| it.members().len())
    );
    // It can be saved and restored, and its size is bounded by its input, a few times over.
    let saved = observer.save();
    assert!(saved.len() < 100_000 + 64 * bytes.len(), "{} of {}", saved.len(), bytes.len());
    let mut again = Observer::restore(&saved).unwrap();
    assert_eq!(again.session(), observer.session());
    // A repeated line changes nothing, and yields no event if it can be recognised as the same.
    for line in bytes.split(|byte| *byte == b'\n') {
        again.line(line, at(60));
        let (before, n_said) = (again.session(), again.line(line, at(60)).count());
        assert_eq!(again.session(), before, "{:?}", String::from_utf8_lossy(line));
        let read: serde_json::Value = serde_json::from_slice(line).unwrap_or_default();
        let is_known = read["uuid"].as_str().is_some_and(|it| !it.is_empty());
        assert!(n_said == 0 || !is_known, "{:?}", String::from_utf8_lossy(line));
    }
}

/// Cuts a stream into pieces, whose sizes are in the bytes: exactly its lines come out.
fn follow(bytes: &[u8]) {
    let (mut lines, mut found, mut rest) = (LineSplitter::default(), Vec::new(), bytes);
    while let Some(size) = rest.first() {
        let (mut piece, after) = rest.split_at(rest.len().min(usize::from(*size) + 1));
        rest = after;
        while !piece.is_empty() {
            let (n_taken, line) = lines.next(piece);
            found.extend(line.map(<[u8]>::to_vec));
            piece = &piece[n_taken..];
        }
    }
    found.extend(lines.end().map(<[u8]>::to_vec));
    let mut whole: Vec<_> = bytes.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
    if whole.last().is_some_and(Vec::is_empty) {
        whole.pop();
    }
    assert_eq!(found, whole);
}

/// A damaged saved state is refused, or the observer continues from it.
fn restore(bytes: &[u8]) {
    if let Ok(mut observer) = Observer::restore(bytes) {
        V177.lines().for_each(|line| drop(observer.line(line.as_bytes(), at(0))));
        let saved = observer.save();
        let again = Observer::restore(&saved).unwrap();
        assert_eq!(again.session(), observer.session());
    }
}

/// Words that mean something to an observer.
const WORDS: [&str; 3] =
    ["\"TaskUpdate\"", "<teammate-message teammate_id=\"x\">", "\"tool_use_id\":\""];

/// Lines that matter, as a start.
fn examples() -> Vec<Vec<u8>> {
    let mut examples: Vec<_> = V47.lines().chain(V177.lines()).map(str::to_owned).collect();
    for kind in ["idle_notification", "shutdown_approved", "plan_approval_request"] {
        examples.push(mail(
            "ann",
            &format!("{{\"type\":\"{kind}\",\"requestId\":\"r\",\"completedTaskId\":\"1\"}}"),
        ));
    }
    // A use and its result, so that both halves are changed together.
    examples.extend(team_lines().chunks(2).map(|pair| pair.join("\n")));
    examples.into_iter().map(String::into_bytes).collect()
}

#[test]
fn fuzz_recognise() {
    fuzz(&WORDS, &examples(), 600, recognise);
}

#[test]
fn fuzz_follow() {
    fuzz(&WORDS, &[V47.as_bytes().to_vec(), b"\n\na\r\n".to_vec()], 300, follow);
}

#[test]
fn fuzz_restore() {
    let mut observer = Observer::default();
    V47.lines().for_each(|line| drop(observer.line(line.as_bytes(), at(0))));
    fuzz(&WORDS, &[observer.save()], 600, restore);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_handled(bytes in prop::collection::vec(any::<u8>(), 0..2000)) {
        recognise(&bytes);
        follow(&bytes);
        restore(&bytes);
    }

    #[test]
    fn any_text_within_a_message_is_handled(text in "\\PC{0,80}", name in "(Team|Task|Agent|SendMessage)[A-Za-z]{0,6}") {
        let line = serde_json::json!({"type": "assistant", "message": {"content": [
            {"type": "tool_use", "id": text, "name": name, "input": {"subject": text, "taskId": text, "name": text,
                "team_name": text, "type": "message", "recipient": text, "content": text}}]}});
        let answer = serde_json::json!({"type": "user", "message": {"content": [
            {"type": "tool_result", "tool_use_id": text, "content": text}]}});
        recognise(format!("{line}\n{answer}\n{}", mail(&text, &text)).as_bytes());
    }
}
