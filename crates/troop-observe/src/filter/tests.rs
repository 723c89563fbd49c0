//! Lines are skipped only if reading them would change nothing.

use super::*;

fn look(line: &str) -> LineVerdict {
    LineFilter::new().look(line.as_bytes(), &Correlator::default())
}

#[test]
fn everyday_lines_are_skipped() {
    for line in [
        r#"{"type":"assistant","message":{"content":[{"type":"text","text":"The Task is done, says the Team"}]}}"#,
        r#"{"type":"assistant","message":{"content":[{"type":"tool_use","id":"t","name":"Read","input":{}}]}}"#,
        r#"{"type":"result","subtype":"success","parent_tool_use_id":null}"#,
        r#"{"text":"colours: \u001b[31m"}"#,
        "",
        "no JSON",
    ] {
        assert_eq!(look(line), LineVerdict::Skip, "{line}");
    }
}

#[test]
fn lines_that_may_be_about_a_team_are_read() {
    for line in [
        r#"{"name":"TeamCreate"}"#,
        r#"{"name": "TaskNew"}"#,
        r#"{"name":"Agent"}"#,
        r#"{"name":"SendMessage"}"#,
        r#"{"text":"<teammate-message teammate_id=\"a\">"}"#,
        r#"{"type":"system","subtype":"init"}"#,
        r#"{"type":"system","subtype":"task_notification"}"#,
        r#"{"subtype":"init","type":"system"}"#,
        r#"{"name":"Team\u0043reate"}"#,
        r#"{"text":"\u003cteammate-message"}"#,
        r#"{"teamName":"x"}"#,
        r#"{"parentUuid":null,"attachment":{"type":"queued_command","prompt":"x"},"type":"attachment"}"#,
    ] {
        assert_eq!(look(line), LineVerdict::Read, "{line}");
    }
}

#[test]
fn results_are_read_if_their_use_is_known_and_kept_otherwise() {
    let line = r#"{"content":[{"tool_use_id":"a"},{ "tool_use_id" : "b" }]}"#;
    assert_eq!(look(line), LineVerdict::Early(["a", "b"].map(hash).to_vec()));
    // If the filter cannot tell, the line is read.
    for line in [r#"{"tool_use_id":"a\n"}"#, r#"{"tool_use_id":7}"#, r#"{"tool_use_id":"cut"#] {
        assert_eq!(look(line), LineVerdict::Read, "{line}");
    }
}
