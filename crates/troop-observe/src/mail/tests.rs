//! Messages of teammates are found in any surrounding text.

use super::*;

fn one(body: &str) -> Content {
    let text = format!("<teammate-message teammate_id=\"ann\">\n{body}\n</teammate-message>");
    let mut found = find(&text);
    assert_eq!(found.len(), 1, "{text}");
    found.remove(0).content
}

#[test]
fn several_mails_in_one_message_are_found_in_order() {
    let text = "before <teammate-message teammate_id=\"ann\" color=\"blue\" summary=\"all is well\">\nhi\n\
                </teammate-message>\n\n<teammate-message teammate_id=\"bob\">a > b</teammate-message> after";
    let found = find(text);
    assert_eq!(found.len(), 2);
    assert_eq!((found[0].from.as_str(), found[0].color.as_deref()), ("ann", Some("blue")));
    assert_eq!(found[0].summary.as_deref(), Some("all is well"));
    assert_eq!(found[0].content, Content::Text("hi".to_owned()));
    assert_eq!((found[1].from.as_str(), &found[1].summary), ("bob", &None));
    assert_eq!(found[1].content, Content::Text("a > b".to_owned()));
}

#[test]
fn structured_mail_is_read() {
    assert_eq!(
        one(r#"{"type":"idle_notification","from":"ann","completedTaskId":"3"}"#),
        Content::Idle { completed: ObservedTaskId::new("3") }
    );
    let request_id = || Some("r".to_owned());
    assert_eq!(
        one(r#"{"type":"shutdown_approved","requestId":"r","from":"ann","paneId":"1"}"#),
        Content::ShutdownResponse { request_id: request_id(), approved: true, reason: None }
    );
    assert_eq!(
        one(r#"{"type":"shutdown_rejected","requestId":"r","reason":"busy"}"#),
        Content::ShutdownResponse {
            request_id: request_id(),
            approved: false,
            reason: Some("busy".to_owned())
        }
    );
    assert_eq!(
        one(r#"{"type":"plan_approval_request","planContent":"p","requestId":"r"}"#),
        Content::PlanRequest { request_id: request_id(), plan: "p".to_owned() }
    );
    assert_eq!(
        one(r#"{"type":"plan_approval_response","requestId":"r","approved":true,"feedback":"go"}"#),
        Content::PlanResponse {
            request_id: request_id(),
            approved: true,
            feedback: Some("go".to_owned())
        }
    );
    assert_eq!(
        one(r#"{"type":"shutdown_request","requestId":"r","reason":"done"}"#),
        Content::ShutdownRequest { request_id: request_id(), reason: Some("done".to_owned()) }
    );
}

#[test]
fn an_arrow_in_a_summary_does_not_end_the_tag() {
    for (summary, found) in [
        ("parser -> done", "parser -> done"),
        ("<b>", "<b>"),
        ("now > \"then\" > later", "now > "),
        ("a 5\" disk", "a 5"),
    ] {
        let text = format!(
            "<teammate-message teammate_id=\"ann\" summary=\"{summary}\" color=\"red\">\n\
             {{\"type\":\"shutdown_approved\",\"requestId\":\"a > b\"}}\n</teammate-message>"
        );
        let mails = find(&text);
        assert_eq!(mails.len(), 1, "{text}");
        assert_eq!(mails[0].summary.as_deref(), Some(found), "{text}");
        let request_id = Some("a > b".to_owned());
        let approved = Content::ShutdownResponse { request_id, approved: true, reason: None };
        assert_eq!(mails[0].content, approved, "{text}");
    }
}

#[test]
fn unknown_structured_mail_is_text() {
    for body in [r#"{"type":"task_assignment","taskId":"1"}"#, "{broken", "[1]", "7", ""] {
        assert_eq!(one(body), Content::Text(body.to_owned()));
    }
}

#[test]
fn a_tag_without_an_end_or_a_sender_is_not_mail() {
    for text in [
        "",
        "<teammate-message",
        "<teammate-message teammate_id=\"ann\">",
        "<teammate-message>hi</teammate-message>",
        "<teammate-message teammate_id=\"\">hi</teammate-message>",
        "<teammate-message not_teammate_id=\"ann\">hi</teammate-message>",
        "<teammate-message teammate_id=ann>hi</teammate-message>",
    ] {
        assert_eq!(find(text), [], "{text}");
    }
}

#[test]
fn a_text_full_of_opening_tags_is_read_once() {
    // If each of them were searched to its end, this would take minutes.
    let text = "<teammate-message x>".repeat(200_000);
    assert_eq!(find(&text), []);
    assert_eq!(find(&(text + "</teammate-message>")), []);
    let text = "<teammate-message \">a</teammate-message>\"".repeat(20_000);
    assert_eq!(find(&text), []);
}
