//! Any bytes: targets as a fuzzer has them, driven by a small one that needs no special compiler.
//!
//! A test runs each for a moment. `TROOP_FUZZ_SECONDS=600 cargo nextest run -p troop-observe fuzz` runs each for longer; what
//! fails prints its seed and the bytes.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    time::Duration,
};

use proptest::prelude::*;
use troop_observe::{Lines, Observer};

use crate::stream::{V47, V177, at, mail, team_lines};

/// Lines by themselves, on an observer that has a team.
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
}

/// A stream in pieces, whose sizes are in its bytes: all lines come out as they are, and only they.
fn follow(bytes: &[u8]) {
    let (mut lines, mut found, mut rest) = (Lines::default(), Vec::new(), bytes);
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

/// What was saved and changed: refused, or good to go on with.
fn restore(bytes: &[u8]) {
    if let Ok(mut observer) = Observer::restore(bytes) {
        V177.lines().for_each(|line| drop(observer.line(line.as_bytes(), at(0))));
        let saved = observer.save();
        let again = Observer::restore(&saved).unwrap();
        assert_eq!(again.session(), observer.session());
    }
}

/// Numbers that look random and are the same for the same seed.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, below: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % below.max(1) as u64) as usize
    }

    /// Changes some bytes, as fuzzers do: flips, holes, copies, cuts, and words that mean something.
    fn mutate(&mut self, bytes: &mut Vec<u8>) {
        const WORDS: [&str; 14] = [
            "\"",
            "\\",
            "{",
            "[",
            "}",
            "]",
            "\n",
            "null",
            "\\u0000",
            "\\ud800",
            "\"TaskUpdate\"",
            "<teammate-message teammate_id=\"x\">",
            "\"tool_use_id\":\"",
            "18446744073709551616",
        ];
        for _ in 0..=self.roll(6) {
            let at = self.roll(bytes.len() + 1).min(bytes.len());
            match self.roll(6) {
                0 if at < bytes.len() => bytes[at] ^= 1 << self.roll(8),
                1 => drop(bytes.drain(at..(at + self.roll(40)).min(bytes.len()))),
                2 => {
                    let part = bytes[at..(at + self.roll(200)).min(bytes.len())].to_vec();
                    let to = self.roll(bytes.len() + 1);
                    bytes.splice(to..to, part);
                }
                3 => bytes.truncate(at),
                4 => drop(bytes.splice(at..at, WORDS[self.roll(WORDS.len())].bytes())),
                _ => bytes.insert(at, self.roll(256) as u8),
            }
        }
    }
}

/// Runs a target on changed copies of examples: so many, or for as long as was asked for.
fn fuzz(name: &str, target: fn(&[u8]), examples: &[Vec<u8>], n_runs: u64) {
    let seconds = std::env::var_os("TROOP_FUZZ_SECONDS").and_then(|it| it.into_string().ok());
    let span = Duration::from_secs(seconds.map_or(0, |it| it.parse().unwrap()));
    #[expect(clippy::disallowed_methods, reason = "it is the machine's time that is spent")]
    let start = std::time::Instant::now();
    for seed in 1.. {
        if seed > n_runs && start.elapsed() >= span {
            break;
        }
        let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let mut bytes = examples[dice.roll(examples.len())].clone();
        dice.mutate(&mut bytes);
        if catch_unwind(AssertUnwindSafe(|| target(&bytes))).is_err() {
            panic!("{name}, seed {seed}: {:?}", String::from_utf8_lossy(&bytes));
        }
    }
}

/// Lines that matter, for a start.
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
    fuzz("recognise", recognise, &examples(), 1500);
}

#[test]
fn fuzz_follow() {
    fuzz("follow", follow, &[V47.as_bytes().to_vec(), b"\n\na\r\n".to_vec()], 500);
}

#[test]
fn fuzz_restore() {
    let mut observer = Observer::default();
    V47.lines().for_each(|line| drop(observer.line(line.as_bytes(), at(0))));
    fuzz("restore", restore, &[observer.save()], 1500);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..2000)) {
        recognise(&bytes);
        follow(&bytes);
        restore(&bytes);
    }

    #[test]
    fn any_text_within_a_message_is_survived(text in "\\PC{0,80}", name in "(Team|Task|Agent|SendMessage)[A-Za-z]{0,6}") {
        let line = serde_json::json!({"type": "assistant", "message": {"content": [
            {"type": "tool_use", "id": text, "name": name, "input": {"subject": text, "taskId": text, "name": text,
                "team_name": text, "type": "message", "recipient": text, "content": text}}]}});
        let answer = serde_json::json!({"type": "user", "message": {"content": [
            {"type": "tool_result", "tool_use_id": text, "content": text}]}});
        recognise(format!("{line}\n{answer}\n{}", mail(&text, &text)).as_bytes());
    }
}
