//! Observed teams on a screen.

use troop_app::observing::ObservedStory;
use troop_observe::{Observer, ObserverOutput};

use super::*;

/// A team at work, from the stream of its lead, and the lines about it.
fn seen() -> (ObservedSession, Vec<String>) {
    let used = |id: &str, tool: &str, input: &str| {
        format!(
            r#"{{"type":"assistant","message":{{"id":"m{id}","content":[{{"type":"tool_use","id":"{id}","name":"{tool}","input":{input}}}]}}}}"#
        )
    };
    let result = |id: &str, said: &str| {
        format!(
            r#"{{"type":"user","message":{{"content":[{{"type":"tool_result","tool_use_id":"{id}","content":"{said}"}}]}}}}"#
        )
    };
    let mut lines = Vec::new();
    for (id, tool, input, said) in [
        ("1", "TeamCreate", r#"{"team_name":"blue"}"#, "ok"),
        ("2", "Task", r#"{"team_name":"blue","name":"ann","subagent_type":"tester"}"#, "ok"),
        (
            "3",
            "TaskCreate",
            r#"{"subject":"parse \u001b[31m it"}"#,
            "Task #1 created successfully: x",
        ),
        ("4", "TaskCreate", r#"{"subject":"print"}"#, "Task #2 created successfully: x"),
        ("5", "TaskUpdate", r#"{"taskId":"2","addBlockedBy":["1"]}"#, "Updated task #2 blockedBy"),
        (
            "6",
            "TaskUpdate",
            r#"{"taskId":"1","status":"in_progress","owner":"ann"}"#,
            "Updated task #1 status",
        ),
        ("7", "SendMessage", r#"{"to":"ann","message":"go\non"}"#, "ok"),
    ] {
        lines.extend([used(id, tool, input), result(id, said)]);
    }
    lines.push(used("toolu_000000000008", "TaskCreate", r#"{"subject":"ship"}"#));
    let mut observer = Observer::default();
    let mut told = Vec::new();
    let mut story = ObservedStory::default();
    for line in lines {
        for output in observer.line(line.as_bytes(), Time::from_micros(0)) {
            if let ObserverOutput::Event(event) = output {
                let line = observed_line(event.at, &story.tell(&event), 60);
                told.push(anstream::adapter::strip_str(&line).to_string());
            }
        }
    }
    (observer.session(), told)
}

#[test]
fn observed_events_are_printed_as_lines() {
    assert_eq!(
        seen().1,
        [
            "00:00:00  team blue",
            "00:00:00  ann joined (tester)",
            "00:00:00  new task 1: parse \\u{1b}[31m it",
            "00:00:00  new task 2: print",
            "00:00:00  changed task 2: print (waits for 1)",
            "00:00:00  ann does task 1: parse \\u{1b}[31m it",
            "00:00:00  team-lead → ann: go on",
        ]
    );
}

#[test]
fn an_observed_team_is_shown_with_its_members_and_tasks() {
    let text = anstream::adapter::strip_str(&observed(&seen().0, 60)).to_string();
    let expected = "
blue  0 of 3 tasks done

  ● ann (tester)  active

  ● 1  parse \\u{1b}[31m it  ann
  ◌ 2  print  after 1
  ○ …  ship  not confirmed
";
    assert_eq!(text, expected);
    assert_eq!(observed(&ObservedSession::default(), 60), "", "no team is nothing");
}

#[test]
fn an_observed_team_fits_a_screen_of_any_size() {
    let (session, told) = seen();
    let mut recent = Recent::default();
    told.iter().cycle().take(50).for_each(|line| recent.push(line.clone()));
    for height in 8..40 {
        for width in [40, 60, 200] {
            let team = session.team.as_ref().unwrap();
            let text =
                observed_screen(&ScreenContent::Team(team), &recent, Screen { width, height });
            let text = anstream::adapter::strip_str(&text).to_string();
            assert!(text.lines().count() < height, "{height}:\n{text}");
            let is_narrow = text.lines().all(|line| line.width() <= width);
            assert!(is_narrow, "{width}:\n{text}");
            assert!(text.starts_with("blue  0 of 3 tasks done"), "{text}");
        }
    }
}

#[test]
fn an_observed_team_that_is_over_stays_on_the_screen() {
    let (session, told) = seen();
    let mut recent = Recent::default();
    told.iter().for_each(|line| recent.push(line.clone()));
    let screen = Screen { width: 60, height: 24 };
    let over = ScreenContent::Over(session.team.as_ref().unwrap());
    let text = anstream::adapter::strip_str(&observed_screen(&over, &recent, screen)).to_string();
    assert!(text.starts_with("blue  0 of 3 tasks done  it is over\n"), "{text}");
    assert!(text.contains("ann (tester)") && text.contains("go on"), "{text}");
    let nothing = observed_screen(&ScreenContent::Nothing, &recent, screen);
    assert!(nothing.contains("no team yet"), "{nothing}");
}
