//! Reading every line shows nothing that the filter hides.

use serde_json::{Value, json};

use super::*;

const V47: &str = include_str!("../../tests/it/fixtures/stream-2.1.47.ndjson");
const V177: &str = include_str!("../../tests/it/fixtures/stream-2.1.177.ndjson");

/// Everything that is observed in a stream, except times and session ids, which the filter may skip.
fn seen(stream: &[u8], filters: bool) -> Value {
    let (mut observer, mut said) = (Observer::default(), Vec::new());
    for line in stream.split(|byte| *byte == b'\n') {
        let now = Time::from_micros(0);
        if !filters {
            observer.read(line, now);
        }
        let outputs = if filters { observer.line(line, now) } else { observer.out.drain(..) };
        // As text, because a supplement may nest deeper than a JSON parser allows.
        said.extend(outputs.map(|output| match output {
            ObserverOutput::Supplement(it) => serde_json::to_string(&it).unwrap(),
            ObserverOutput::Event(it) => {
                serde_json::to_string(&TeamEvent { at: now, session_id: None, ..*it }).unwrap()
            }
        }));
    }
    let session = ObservedSession { session_id: None, ..observer.session() };
    let ObserverCounts { incomplete, unknown_tools, lines: _, unreadable: _ } = observer.counts();
    json!([said, session, incomplete, unknown_tools, observer.n_waiting()])
}

fn same_with_the_filter(stream: &[u8]) {
    let (with, without) = (seen(stream, true), seen(stream, false));
    assert!(with == without, "with the filter {with}, without {without}");
}

/// A line in other shapes that mean the same: with spaces, with its type at the end, without a type, with escaped letters,
/// and as in a transcript.
fn shapes(line: &str) -> Vec<String> {
    let spaced = line.replace("\":", "\" : ").replace(",\"", ", \"");
    let mut shapes = vec![line.to_owned(), spaced];
    for letter in ["T", "A", "S", "t", "m", "i", "_", "<", "\\u003c"] {
        let code = letter.bytes().next().unwrap_or_default();
        shapes.push(line.replace(letter, &format!("\\u{code:04x}")));
    }
    let Ok(Value::Object(fields)) = serde_json::from_str(line) else { return shapes };
    let mut fields = fields;
    let kind = fields.remove("type").unwrap_or_default();
    shapes.push(Value::from(fields.clone()).to_string());
    let text = Value::from(fields.clone()).to_string();
    let within = text.strip_prefix('{').and_then(|it| it.strip_suffix('}')).unwrap();
    shapes.push(format!("{{{within},\"type\":{kind}}}"));
    shapes.push(format!("{{\"parentUuid\":null,\"type\":{kind},{within}}}"));
    fields.insert("type".to_owned(), kind);
    fields.insert("teamName".to_owned(), "blue".into());
    fields.insert("agentName".to_owned(), "ann".into());
    shapes.push(Value::from(fields).to_string());
    shapes
}

fn examples() -> Vec<String> {
    let mail =
        "<teammate-message teammate_id=\"alice\" summary=\"a -> b\">\nhi\n</teammate-message>";
    let mails = [json!(mail), json!([{"type": "text", "text": mail}])]
        .map(|content| json!({"type": "user", "message": {"role": "user", "content": content}}));
    let ended = json!({"type": "system", "subtype": "task_notification", "status": "killed", "summary": "alice@my-team"});
    let others = mails.into_iter().chain([ended]).map(|it| it.to_string());
    let others: Vec<_> = others.collect();
    vec![format!("{V47}{}", others.join("\n")), V177.to_owned()]
}

#[test]
fn no_line_that_matters_is_skipped_in_any_shape() {
    for stream in examples() {
        same_with_the_filter(stream.as_bytes());
        let lines: Vec<_> = stream.lines().collect();
        let n_shapes = lines.iter().map(|line| shapes(line).len()).max().unwrap();
        for nth in 0..n_shapes {
            let shaped = lines.iter().map(|line| shapes(line).into_iter().nth(nth));
            let shaped: Vec<_> = shaped.map(Option::unwrap_or_default).collect();
            same_with_the_filter(shaped.join("\n").as_bytes());
        }
    }
}

#[test]
fn fuzz_filter() {
    let words = [
        "\"TaskList\"",
        "\"type\":\"user\",",
        "{\"type\":\"assistant\",",
        "\\u0054",
        "\"tool_use_id\":",
    ];
    let examples: Vec<_> = examples().into_iter().map(String::into_bytes).collect();
    troop_testkit::fuzz(&words, &examples, 150, same_with_the_filter);
}
