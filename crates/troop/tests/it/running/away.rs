//! Leads that are stopped, gone, or have lost their agent.

use rustix::process::Signal;
use troop_testkit::wait_for;

use super::{WAIT, at_work, kill, project, write};
use crate::troop::Troop;

#[tokio::test]
async fn a_stopped_lead_is_named_with_the_ways_out() {
    let troop = project(WAIT);
    let team = at_work(&troop);
    let id = team.id();
    team.signal(Signal::STOP);
    let status = wait_for("that the lead was stopped", async || {
        let status = troop.ok("team status crew");
        status.contains("was stopped").then_some(status)
    })
    .await;
    let what = format!("process {id}, which leads it, was stopped (by Ctrl-Z, or a signal)");
    let ways = format!(
        "let it continue: `kill -CONT {id}` (or `fg` in its terminal), or end it: `kill -9 {id}`"
    );
    assert!(status.starts_with(&format!("crew  running, but {what}; {ways}\n")), "{status}");
    for line in ["resume crew", "stop crew"] {
        let (_, err) = troop.refused(line);
        let says = format!(
            "error: team `crew` does not respond: {what}\nhint: {ways}, then: `troop {line}`\n"
        );
        assert_eq!(err, says);
    }
    let list = troop.json("member list");
    let mut members = list["members"].as_array().unwrap().iter();
    let lead = members.find(|it| it["role"] == "lead").unwrap();
    assert_eq!(lead["state_reason"], format!("stopped: `kill -CONT {id}`"));
    team.signal(Signal::CONT);
    write(&troop, "go", "");
    assert_eq!(team.end().code, 0);
}

#[tokio::test]
async fn without_a_lead_no_member_is_asked_to_stop() {
    let troop = project(WAIT);
    let team = at_work(&troop);
    kill(team, &troop).await;
    for line in ["member stop ann", "member interrupt ann"] {
        let (code, err) = troop.refused(line);
        let says = "error: teammate `ann` is not running; it is crashed\n";
        assert!(code == 1 && err.starts_with(says), "{err}");
    }
    let troop = Troop::new();
    troop.ok("team create blue --member ann=command");
    troop.ok("task create x --description true");
    troop.ok("task delegate 1 --to ann");
    let (code, err) = troop.refused("member stop ann");
    assert!(code == 1 && err.starts_with("error: teammate `ann` is not running;"), "{err}");
}

#[test]
fn another_agent_can_lead_a_team_whose_leads_script_is_gone() {
    let troop = project(
        "when mail * from user\n    call task/create {\"subject\": \"one\", \"description\": \"echo 1\"}\n",
    );
    assert_eq!(troop.run("--team crew run hi --agent script:lead.script").code, 1);
    std::fs::remove_file(troop.folder().join("lead.script")).unwrap();
    troop.ok("--team crew member add ann=command");
    let (code, err) = troop.refused("resume crew");
    let hint = "; or choose another agent to lead: `troop resume crew --agent AGENT`\n";
    assert!(code == 1 && err.ends_with(hint), "{err}");
    let (_, err) = troop.refused("resume crew --agent command");
    assert!(err.starts_with("error: `command` cannot lead"), "{err}");
    write(&troop, "other.script", "when started\n    message user I lead now\n");
    let run = troop.succeed_silently("resume crew --agent script:other.script");
    assert!(run.out.contains("lead → user: I lead now"), "{}", run.out);
    assert!(run.out.contains("ann completed task-1: 1"), "{}", run.out);
}
