//! An observer that is killed between two changes has kept everything that it told.

use std::{collections::BTreeMap, fs};

use serde_json::Value;
use troop_testkit::wait_for;

use super::{HEADLESS, Printing, Signal, Troop, V47, append};

fn kept(troop: &Troop, file: &str) -> Option<Value> {
    // It does not exist before the first change.
    let kept = fs::read(troop.folder().join(file)).ok()?;
    Some(serde_json::from_slice::<Value>(&kept).unwrap()["observer"]["memory"].clone())
}

/// Adds events by their numbers. A repeated event must be the same.
fn add(all: &mut BTreeMap<u64, Value>, printed: &str) {
    for line in printed.lines() {
        let mut event: Value = serde_json::from_str(line).unwrap();
        // Before the stream has told a time, it is the time of the reader.
        event.as_object_mut().unwrap().remove("at");
        let number = event["sequence"].as_u64().unwrap();
        assert_eq!(*all.entry(number).or_insert_with(|| event.clone()), event);
    }
}

#[tokio::test]
async fn observer_state_survives_a_kill_at_any_step() {
    for stream in [V47, HEADLESS] {
        let troop = Troop::new();
        let lines: Vec<_> = stream.split_inclusive('\n').collect();
        let mut expected = BTreeMap::new();
        add(&mut expected, &troop.with_input("observe --json", stream).out);
        fs::write(troop.folder().join("session.jsonl"), "").unwrap();
        let mut told = BTreeMap::new();
        let mut from = 0;
        for to in (1..=lines.len()).filter(|nth| nth % 6 == 0 || *nth == lines.len()) {
            // The final knowledge of a reader that reads the whole beginning.
            let whole = troop
                .with_input(&format!("observe --json --state {to}.json"), &lines[..to].concat());
            assert_eq!(whole.code, 0);
            let whole = kept(&troop, &format!("{to}.json")).unwrap();
            let observer = troop.start("observe session.jsonl --follow --json --state state.json");
            let observer = Printing::new(observer);
            append(&troop, &lines[from..to].concat());
            // It runs on; nothing makes it keep anything but the change itself.
            wait_for(&format!("the state after line {to} is kept"), async || {
                let is_same = |it: &Value| {
                    it["sequence"] == whole["sequence"] && it["session"] == whole["session"]
                };
                kept(&troop, "state.json").filter(is_same)
            })
            .await;
            observer.signal(Signal::KILL);
            add(&mut told, &tokio::task::spawn_blocking(move || observer.end().out).await.unwrap());
            from = to;
        }
        assert_eq!(told, expected);
    }
}
