//! A team that is led in process, without a command line.

use std::{fs, os::unix::fs::PermissionsExt as _, path::Path, time::Duration};

use troop_model::{Fact, Permissions};
use troop_runtime::LeadEnd;

use super::{LeadTerms, RunEvent, RunReport, TeamRun, WhenQuiet};
use crate::{
    start::{Goal, SettingOptions, StartOptions, TeamStart, start},
    team::TeamDesk,
    tests::desk_in,
    trust::ProjectTrust,
};

const SCRIPT: &str = "when mail * from user\n    message user {mail} is done\n";

/// Begins a team in `folder` whose lead answers the user.
async fn begun(folder: &Path, when_quiet: WhenQuiet) -> (TeamDesk, TeamRun) {
    fs::write(folder.join("lead.script"), SCRIPT).unwrap();
    // A lead starts troop as its guard, which waits for the end of its input.
    let troop = folder.join("troop");
    fs::write(&troop, "#!/bin/sh\nexec cat >/dev/null\n").unwrap();
    fs::set_permissions(&troop, fs::Permissions::from_mode(0o755)).unwrap();
    let mut desk = desk_in(folder).await;
    let trust = ProjectTrust::look(&desk.surroundings).unwrap();
    let options = StartOptions {
        goal: Goal::new("ship it".to_owned()).unwrap(),
        agent: Some("script:lead.script".to_owned()),
        members: Vec::new(),
        permissions: Permissions::Default,
        settings: SettingOptions { others: vec!["isolation=none".into()], ..Default::default() },
        terms: LeadTerms { grace: Duration::from_secs(3), when_quiet },
    };
    let TeamStart { leading, beginning } = start(&mut desk, &trust, troop, options).await.unwrap();
    let mut run = leading.prepare(&mut desk, &trust).await.unwrap().begin(&mut desk).await.unwrap();
    run.set_to_work(beginning).await.unwrap();
    (desk, run)
}

/// Leads a team, and stops it at the line that contains `stop`. Returns all lines.
async fn led(folder: &Path, when_quiet: WhenQuiet, stop: &str) -> (Vec<String>, RunReport) {
    let (desk, mut run) = begun(folder, when_quiet).await;
    let mut lines = Vec::new();
    while let Some(event) = movable(run.next_event()).await {
        let RunEvent::Happened { line: Some(line), .. } = event else { continue };
        if line.text.contains(stop) {
            assert!(!run.has_ended());
            run.stop("that is enough").await;
        }
        lines.push(line.text);
    }
    let finished = run.finish().await;
    desk.close().await;
    (lines, finished)
}

/// A gateway leads teams in tasks that move between threads.
fn movable<F: Future + Send>(future: F) -> F {
    future
}

#[tokio::test]
async fn a_screen_leads_a_team_until_its_work_is_done() {
    let folder = tempfile::tempdir().unwrap();
    let (lines, finished) = Box::pin(led(folder.path(), WhenQuiet::End, "no line says this")).await;
    assert!(lines.iter().any(|line| line == "lead → user: ship it is done"), "{lines:#?}");
    assert_eq!(finished.ended, LeadEnd::Quiet);
    finished.check().unwrap();
    assert!(finished.landing.notes().is_empty());
}

#[tokio::test]
async fn a_screen_stops_a_team_that_waits_for_more() {
    let folder = tempfile::tempdir().unwrap();
    let (lines, finished) = Box::pin(led(folder.path(), WhenQuiet::Stay, "ship it is done")).await;
    let asked = "pat asks the team to stop: that is enough";
    assert!(lines.iter().any(|line| line == asked), "{lines:#?}");
    assert_eq!(finished.ended, LeadEnd::Stopped { reason: "that is enough".to_owned() });
    finished.check().unwrap();
}

/// The board refuses to stop a team without a lead, but hooks may still run: troop must not wait for them.
#[tokio::test]
async fn a_stop_that_comes_when_the_lead_has_just_gone_ends_the_run_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let (desk, mut run) = Box::pin(begun(folder.path(), WhenQuiet::End)).await;
    while let Some(event) = run.next_event().await {
        let RunEvent::Happened { event, .. } = event else { continue };
        if matches!(event.fact, Fact::LeadReleased {}) {
            run.stop("that is enough").await;
            assert!(run.deadline.is_some(), "hooks would be waited for");
        }
    }
    assert!(run.deadline.is_some(), "the lead was not released");
    let finished = run.finish().await;
    assert_eq!(finished.ended, LeadEnd::Quiet);
    finished.check().unwrap();
    desk.close().await;
}
