//! Histories of fixed seeds: what is found in them, and what is not.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test may fail loudly")]

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use troop_simulator::{
    Promise, SavedHistory, Scenario, ShrinkTrial, StepTally, known, run_choices, run_seed, shrink,
    shrink_by,
};

/// The result of the histories of some seeds.
#[derive(Default)]
struct Findings {
    tally: StepTally,
    /// How often each known violation was found.
    known: BTreeMap<&'static str, u64>,
    n_whole: u64,
}

/// Runs histories. A violation that nobody knows fails the test, with its steps.
fn run(scenario: Scenario, n_histories: u64) -> Findings {
    let mut findings = Findings::default();
    for seed in 1..=n_histories {
        let end = run_seed(seed, &[scenario]);
        for (what, n) in &end.tally {
            *findings.tally.entry(what).or_default() += n;
        }
        match &end.violation {
            None => findings.n_whole += 1,
            Some(violation) => {
                let Some(known) = known::find(scenario, violation) else {
                    let history = shrink(SavedHistory::of(&end).unwrap());
                    panic!(
                        "seed {seed} of {scenario:?} breaks a promise: {violation:?}\n{history}"
                    );
                };
                *findings.known.entry(known.name).or_default() += 1;
            }
        }
    }
    findings
}

/// Every fault and every rare step must really happen, or the histories prove nothing.
fn check_met(findings: &Findings, sometimes: &[&'static str]) {
    let missed: Vec<_> = sometimes.iter().filter(|it| !findings.tally.contains_key(*it)).collect();
    assert!(missed.is_empty(), "these never happened: {missed:?}\nthese did: {:?}", findings.tally);
}

/// Violations that are known in a scenario are found there: the simulator can see them.
fn check_known(findings: &Findings, scenario: Scenario) {
    for known in known::KNOWN.iter().filter(|it| it.scenarios.contains(&scenario)) {
        assert!(
            findings.known.contains_key(known.name),
            "{} was not found in {scenario:?}: is it mended? then remove it from known.rs",
            known.name
        );
    }
    assert!(findings.n_whole > 0, "every history breaks something, so none says anything");
}

#[test]
fn boards_of_several_machines_keep_every_promise() {
    let findings = run(Scenario::Board, 800);
    check_met(
        &findings,
        &[
            "a board decided again because others wrote first",
            "a late holder was refused",
            "a member completed a task on the board",
            "fault: answer of the store lost",
            "fault: clock jumped",
            "fault: process killed",
            "fault: process stopped and continued",
        ],
    );
    check_known(&findings, Scenario::Board);
}

#[test]
fn programs_and_command_lines_that_share_files_break_only_known_promises() {
    let findings = run(Scenario::Files, 400);
    check_met(
        &findings,
        &[
            "a command line claimed a task",
            "a command line completed a task",
            "a lock was waited for",
            "a file was locked, and visited again later",
            "a command waited for the lock of a file",
            "a mirror announced a command",
            "a mirror took in what a program wrote",
            "a mirror wrote the file of a task",
            "a program claimed a task",
            "a program completed a task",
            "a task was completed without a claim, through a lead",
            "fault: process killed",
        ],
    );
    check_known(&findings, Scenario::Files);
}

#[test]
fn mail_in_folders_breaks_only_known_promises() {
    let findings = run(Scenario::Mail, 400);
    check_met(
        &findings,
        &[
            "a message that was gone from an inbox counted as read",
            "a message was put into an inbox",
            "a message was sent",
            "a message was shown",
            "fault: process killed",
        ],
    );
    check_known(&findings, Scenario::Mail);
}

#[test]
fn leads_that_die_at_any_step_break_only_known_promises() {
    let findings = run(Scenario::Lead, 800);
    check_met(
        &findings,
        &[
            "a lead took over from a dead one",
            "a lead told the board of a merge that it had not heard of",
            "a team landed, or was told to wait",
            "unfinished work of an ended member was kept on its branch",
            "work of two members was merged",
            "fault: process killed",
        ],
    );
    check_known(&findings, Scenario::Lead);
}

#[test]
fn teams_that_land_at_once_break_only_known_promises() {
    let findings = run(Scenario::Landing, 1_600);
    check_met(
        &findings,
        &[
            "a person committed in the project",
            "a team landed, or was told to wait",
            "a team waited for its turn to land",
            "files of the project were put back",
            "git could not move the project",
        ],
    );
    check_known(&findings, Scenario::Landing);
}

#[test]
fn a_seed_gives_the_same_history_again_and_so_do_its_choices() {
    for seed in 1..60 {
        let end = run_seed(seed, &Scenario::ALL);
        let again = run_seed(seed, &Scenario::ALL);
        assert_eq!(
            (end.n_steps, &end.choices, &end.violation),
            (again.n_steps, &again.choices, &again.violation)
        );
        let given = run_choices(end.plan, &end.choices, false);
        assert_eq!(given.n_steps, end.n_steps, "seed {seed}");
        assert_eq!(given.violation, end.violation, "seed {seed}");
        assert_eq!(given.tally, end.tally, "seed {seed}");
    }
}

#[test]
fn a_shrunk_history_is_smaller_breaks_the_same_promise_and_survives_its_file() {
    // It is broken by two choices that are not calm, the first before the second.
    let run = |history: &SavedHistory| {
        let first = history.choices.iter().position(|it| *it == 3);
        let second = first.and_then(|at| history.choices.iter().skip(at).position(|it| *it == 5));
        ShrinkTrial { broken_by: second.map(|_| history.choices.clone()), n_steps: 1 }
    };
    let choices = [1, 0, 5, 3, 0, 2, 0, 0, 5, 1, 3, 0].to_vec();
    let history = SavedHistory { choices, ..saved(Scenario::Landing) };
    let small = shrink_by(history.clone(), &run);
    assert_eq!((small.choices.as_slice(), small.broke), ([3, 5].as_slice(), history.broke));
    assert_eq!(SavedHistory::read(&small.to_string()).unwrap(), small);
}

/// A saved history of this scenario.
fn saved(scenario: Scenario) -> SavedHistory {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/histories");
    let files = fs::read_dir(folder).unwrap();
    let read = |path: PathBuf| SavedHistory::read(&fs::read_to_string(path).unwrap()).unwrap();
    let mut histories = files.map(|it| read(it.unwrap().path()));
    histories.find(|it| it.plan.scenario == scenario).unwrap()
}

#[test]
fn saved_histories_break_what_they_broke_while_that_is_known_and_nothing_afterwards() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/histories");
    let mut n_files = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let history = SavedHistory::read(&fs::read_to_string(&path).unwrap()).unwrap();
        let broken = history.run(false).violation;
        let is_known = known::KNOWN.iter().any(|it| {
            it.scenarios.contains(&history.plan.scenario) && it.promises.contains(&history.broke)
        });
        let promise: Option<Promise> = broken.as_ref().map(|it| it.promise);
        let expect = is_known.then_some(history.broke);
        assert_eq!(promise, expect, "{}: {broken:?}", path.display());
        n_files += 1;
    }
    assert!(n_files >= 4, "each violation that was ever found has its history");
}

#[test]
fn a_history_that_cannot_be_read_says_why() {
    let cases = [
        ("", "no line `plan:`"),
        ("plan: nowhere tasks=1", "no scenario `nowhere`"),
        ("plan: files tasks", "words like `tasks=1`"),
        ("plan: files apples=1", "no `apples`"),
        ("plan: files tasks=1", "no line `choices:`"),
        ("plan: files tasks=1\nchoices: 1 x", "choices are numbers"),
        ("plan: files tasks=1\nchoices: 1", "no line `broke:`"),
        ("plan: files tasks=1\nchoices: 1\nbroke: Trust", "no promise `Trust`"),
    ];
    for (text, expect) in cases {
        let error = SavedHistory::read(text).unwrap_err();
        assert!(format!("{error:#}").contains(expect), "{text:?}: {error:#}");
    }
}
