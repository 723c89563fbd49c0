//! Hooks that really run: whatever they do, the team continues.

use std::{fs, path::Path, sync::Arc, time::Duration};

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::{sync::mpsc, time};
use tokio_util::task::TaskTracker;
use troop_model::TaskNumber;
use troop_process::{Signal, kill_group};
use troop_runtime::{
    HookContext, HookEvent, HookOptions, HookReport, HookTask, Hooks, HooksConfig, Occasion,
    Verdict,
};
use troop_testkit::{wait_for, wait_until_gone};

/// More than any pipe holds.
const MUCH: usize = 1_000_000;

/// Hooks in a separate project folder.
struct Project {
    folder: TempDir,
    tracker: TaskTracker,
    late: mpsc::Receiver<String>,
    hooks: Arc<Hooks>,
}

impl Project {
    /// A project with these hooks, in the form of a configuration.
    fn new(config: &Value) -> Self {
        let folder = TempDir::new().unwrap();
        let path = folder.path().canonicalize().unwrap();
        Self::in_folder(folder, &path, config)
    }

    fn in_folder(folder: TempDir, path: &Path, config: &Value) -> Self {
        let (config, mistakes) = HooksConfig::read(config);
        assert_eq!(mistakes, []);
        let (sender, late) = mpsc::channel(8);
        let tracker = TaskTracker::new();
        let hooks = Hooks::new(
            config,
            HookOptions {
                folder: path.to_owned(),
                environment: vec![
                    ("PATH".into(), "/usr/bin:/bin".into()),
                    ("GIVEN".into(), "by the lead".into()),
                ],
                agreement: troop_runtime::Agreement::new(agreed),
                tracker: tracker.clone(),
                warnings: sender,
            },
        );
        Self { folder, tracker, late, hooks: Arc::new(hooks) }
    }

    /// A project whose completed tasks run these commands.
    fn on_completion(commands: &[&str]) -> Self {
        let hooks: Vec<_> = commands.iter().map(|it| json!({"command": it})).collect();
        Self::new(&json!({"TaskCompleted": [{"hooks": hooks}]}))
    }

    /// A project whose completed tasks run an asynchronous command.
    fn later(command: &str) -> Self {
        Self::new(&json!({"hooks": [
            {"event": "task-completed", "command": command, "async": true},
        ]}))
    }

    async fn complete(&self) -> HookReport {
        self.hooks.fire(&completed("all done")).await
    }

    fn read(&self, file: &str) -> String {
        fs::read_to_string(self.folder.path().join(file)).unwrap_or_default()
    }

    fn make(&self, file: &str) {
        fs::write(self.folder.path().join(file), "").unwrap();
    }

    /// Waits for a file that a hook writes a line to, and gives that line.
    async fn line(&self, file: &str) -> String {
        wait_for(file, async || {
            let text = self.read(file);
            text.ends_with('\n').then(|| text.trim().to_owned())
        })
        .await
    }

    async fn all_ended(&self) {
        self.tracker.close();
        self.tracker.wait().await;
    }
}

/// An agreement that refuses commands about changed files.
fn agreed(command: &str, _: &Path) -> Result<(), String> {
    if command.contains("changed") { Err("`a.sh` is another".to_owned()) } else { Ok(()) }
}

#[tokio::test]
async fn a_hook_without_agreement_does_not_run_and_is_reported() {
    let project = Project::on_completion(&["touch changed; exit 2", "touch same"]);
    let fired = project.complete().await;
    assert_eq!(fired.verdict, Verdict::Continue, "the team goes on");
    assert!(!project.folder.path().join("changed").exists());
    assert!(project.folder.path().join("same").exists());
    let told: Vec<_> = fired.complaints.iter().map(ToString::to_string).collect();
    assert!(
        told.len() == 1 && told[0].ends_with("could not be run: `a.sh` is another"),
        "{told:?}"
    );
}

fn context(occasion: Occasion) -> HookContext {
    HookContext { team: "blue".parse().unwrap(), session: "s-1".to_owned(), occasion }
}

fn task(description: &str) -> HookTask {
    HookTask {
        number: TaskNumber(7),
        subject: "write".to_owned(),
        description: description.to_owned(),
        owner: Some("ann".parse().unwrap()),
        folder: None,
    }
}

fn completed(result: &str) -> HookContext {
    context(Occasion::TaskCompleted { task: task("it"), result: result.to_owned() })
}

fn veto(feedback: &str) -> HookReport {
    let verdict = Verdict::Veto { feedback: feedback.to_owned() };
    HookReport { verdict, complaints: Vec::new() }
}

/// Checks that the team continues, and returns the complaint about the hook.
#[track_caller]
fn complaint(fired: &HookReport) -> String {
    assert_eq!(fired.verdict, Verdict::Continue);
    assert_eq!(fired.complaints.len(), 1, "{fired:?}");
    fired.complaints[0].to_string()
}

/// A command that waits for a file.
fn waiting_for(file: &str) -> String {
    format!("until [ -e {file} ]; do sleep 0.01; done")
}

#[tokio::test]
async fn a_hook_that_succeeds_lets_things_continue() {
    let project = Project::on_completion(&["true", "echo fine", "echo '[1, 2'", "echo '{}'"]);
    assert_eq!(project.complete().await, HookReport::default());
}

#[tokio::test]
async fn exit_code_2_is_a_veto_with_its_errors_as_feedback() {
    let project = Project::on_completion(&["echo no tests >&2; echo ignored; exit 2"]);
    assert_eq!(project.complete().await, veto("no tests"));
}

#[tokio::test]
async fn a_veto_without_errors_takes_its_output_as_feedback() {
    let project = Project::on_completion(&["echo no tests; exit 2"]);
    assert_eq!(project.complete().await, veto("no tests"));
    let project = Project::on_completion(&["exit 2"]);
    assert_eq!(project.complete().await, veto("a hook said no, without a reason"));
}

#[tokio::test]
async fn a_json_answer_can_veto() {
    for (answer, feedback) in [
        (r#"{"continue": false, "reason": "why"}"#, "why"),
        (r#"{"continue": false, "stopReason": "why not"}"#, "why not"),
        (r#"{"decision": "block", "reason": "because"}"#, "because"),
        (r#"{"continue": true, "decision": "block", "reason": "still"}"#, "still"),
        (r#"{"continue": false}"#, "a hook said no, without a reason"),
    ] {
        let project = Project::on_completion(&[&format!("echo '{answer}'")]);
        assert_eq!(project.complete().await, veto(feedback), "{answer}");
    }
    for answer in [r#"{"continue": true}"#, r#"{"decision": "approve"}"#, r#"{"other": 1}"#] {
        let project = Project::on_completion(&[&format!("echo '{answer}'")]);
        assert_eq!(project.complete().await, HookReport::default(), "{answer}");
    }
}

#[tokio::test]
async fn a_hook_in_another_language_vetoes_by_json() {
    let script = "import json, sys\n\
        event = json.load(sys.stdin)\n\
        reason = event['teammate_name'] + ' forgot ' + event['task_subject']\n\
        print(json.dumps({'decision': 'block', 'reason': reason}))";
    let project = Project::on_completion(&[&format!("python3 -c \"{script}\"")]);
    assert_eq!(project.complete().await, veto("ann forgot write"));
}

#[tokio::test]
async fn a_veto_counts_only_where_something_can_be_prevented() {
    let ann = || "ann".parse().unwrap();
    let occasions = [
        Occasion::TeamCreated,
        Occasion::TeammateSpawned { teammate: ann(), agent: "coder".to_owned(), pid: 1 },
        Occasion::TeammateIdle { teammate: ann() },
        Occasion::TaskCreated { task: task("it"), teammate: None },
        Occasion::TaskAssigned { task: task("it") },
        Occasion::TaskCompleted { task: task("it"), result: "done".to_owned() },
        Occasion::TeamShutdown { n_members: 1, n_completed: 1, n_tasks: 1 },
    ];
    let entry = |event: HookEvent| json!({"event": event.name(), "command": "echo no; exit 2"});
    let project = Project::new(&json!({"hooks": HookEvent::ALL.map(entry)}));
    let mut vetoed = Vec::new();
    for context in occasions.map(context) {
        let event = context.event();
        let fired = project.hooks.fire(&context).await;
        if fired == veto("no") {
            vetoed.push(event.name());
        } else {
            assert_eq!(
                complaint(&fired),
                format!(
                    "hook `echo no; exit 2` on {event} said no, but it is too late to prevent anything: no"
                )
            );
        }
    }
    assert_eq!(vetoed, ["TeammateIdle", "TaskCreated", "TaskCompleted"]);
}

#[tokio::test]
async fn any_other_end_is_only_reported() {
    for (command, what) in [
        ("echo oh >&2; exit 1", "ended with exit code 1: oh"),
        ("exit 3", "ended with exit code 3"),
        ("kill -9 $$", "was ended by signal 9"),
        ("kill -SEGV $$", "was ended by signal 11"),
        (
            "echo '{\"continue\": fals'",
            "printed something that is not JSON (EOF while parsing a value at line 1 column 17): {\"continue\": fals",
        ),
        (
            "echo '{\"continue\": \"no\"}'",
            "gave an answer that cannot be understood: {\"continue\": \"no\"}",
        ),
        ("echo '{\"decision\": 7}'", "gave an answer that cannot be understood: {\"decision\": 7}"),
    ] {
        let project = Project::on_completion(&[command]);
        let said = complaint(&project.complete().await);
        assert_eq!(said, format!("hook `{command}` on task-completed {what}"));
    }
    let project = Project::on_completion(&["no-such-program"]);
    let said = complaint(&project.complete().await);
    assert!(said.contains("ended with exit code 127: "), "{said}");
}

#[tokio::test]
async fn invalid_utf8_from_a_hook_does_no_harm() {
    let project = Project::on_completion(&["printf '\\377\\376\\000'; exit 2"]);
    let fired = project.complete().await;
    assert_eq!(fired, veto("\u{fffd}\u{fffd}"));
}

#[tokio::test]
async fn a_hook_that_cannot_be_started_is_only_reported() {
    let folder = TempDir::new().unwrap();
    let missing = folder.path().join("missing");
    let config = json!({"TaskCompleted": [{"hooks": [{"command": "true"}]}]});
    let project = Project::in_folder(folder, &missing, &config);
    let said = complaint(&project.complete().await);
    assert!(said.contains("could not be run: No such file or directory"), "{said}");
}

#[tokio::test]
async fn a_hanging_hook_is_killed_with_everything_it_started() {
    let project = Project::on_completion(&["sleep 600 & echo $! > child; wait"]);
    let hooks = Arc::clone(&project.hooks);
    let firing = project.tracker.spawn(async move { hooks.fire(&completed("done")).await });
    let child = project.line("child").await;
    time::pause();
    time::advance(Duration::from_secs(61)).await;
    let fired = firing.await.unwrap();
    time::resume();
    assert!(complaint(&fired).ends_with("took longer than 60s and was killed"), "{fired:?}");
    wait_until_gone(&child).await;
}

#[tokio::test]
async fn a_hook_has_its_configured_time() {
    let config = json!({"TaskCompleted": [{"hooks": [{"command": "sleep 600", "timeout": 0.05}]}]});
    let project = Project::new(&config);
    let said = complaint(&project.complete().await);
    assert_eq!(said, "hook `sleep 600` on task-completed took longer than 50ms and was killed");
}

#[tokio::test]
async fn a_hook_is_killed_when_its_caller_stops_waiting() {
    let project = Project::on_completion(&["sleep 600 & echo $! > child; wait"]);
    let hooks = Arc::clone(&project.hooks);
    let firing = project.tracker.spawn(async move { hooks.fire(&completed("done")).await });
    let child = project.line("child").await;
    firing.abort();
    wait_until_gone(&child).await;
    project.all_ended().await;
}

#[tokio::test]
async fn the_beginning_of_a_long_output_is_kept_and_the_rest_is_read() {
    let much = "python3 -c \"import sys; sys.stdout.write('o' * 10000000); \
        sys.stderr.write('e' * 10000000); sys.exit(2)\"";
    let project = Project::on_completion(&[much]);
    assert_eq!(project.complete().await, veto(&"e".repeat(64 * 1024)));
}

#[tokio::test]
async fn a_hook_need_not_read_its_input() {
    let much = "x".repeat(MUCH);
    let project = Project::on_completion(&["echo 'not read' >&2; exit 2"]);
    for _ in 0..20 {
        assert_eq!(project.hooks.fire(&completed(&much)).await, veto("not read"));
    }
    let project = Project::on_completion(&["exec <&-; echo closed >&2; exit 2"]);
    assert_eq!(project.hooks.fire(&completed(&much)).await, veto("closed"));
}

#[tokio::test]
async fn a_value_too_long_for_a_variable_is_whole_in_the_json() {
    let much = format!("a\0{}", "é".repeat(MUCH));
    let project = Project::on_completion(&[
        "printf %s \"$HOOK_teamTaskResult\" > variable; cat > input.json",
    ]);
    assert_eq!(project.hooks.fire(&completed(&much)).await, HookReport::default());
    let variable = project.read("variable");
    assert!(variable.starts_with("aé") && variable.len() > 32_000, "{}", variable.len());
    let input: Value = serde_json::from_str(&project.read("input.json")).unwrap();
    assert_eq!(input["task_result"], much);
}

#[tokio::test]
async fn background_processes_of_a_hook_are_not_waited_for() {
    let project =
        Project::on_completion(&["echo $$ > group; sleep 600 & echo 'said before' >&2; exit 2"]);
    for _ in 0..20 {
        assert_eq!(project.complete().await, veto("said before"));
        let group = project.read("group").trim().parse().unwrap();
        // It was left alone, and blocks nobody.
        kill_group(group, Signal::KILL).unwrap();
    }
}

#[tokio::test]
async fn endless_background_output_is_not_read() {
    let project = Project::on_completion(&["echo $$ > group; yes & exit 0"]);
    assert_eq!(project.complete().await, HookReport::default());
    // Nobody reads its output any more, so it ends.
    let group = project.read("group").trim().to_owned();
    wait_for("`yes` is gone", async || {
        let is_in_it = |entry: &fs::DirEntry| {
            let stat = fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
            let fields = stat.rsplit_once(") ").map_or("", |(_, fields)| fields).to_owned();
            let fields: Vec<_> = fields.split(' ').collect();
            fields.len() > 2 && fields[0] != "Z" && fields[2] == group
        };
        let processes = fs::read_dir("/proc").unwrap().filter_map(Result::ok);
        (!processes.into_iter().any(|entry| is_in_it(&entry))).then_some(())
    })
    .await;
}

#[tokio::test]
async fn an_async_hook_does_not_delay_its_caller() {
    let project = Project::later(&format!("{}; touch ended", waiting_for("fired")));
    assert_eq!(project.complete().await, HookReport::default());
    assert!(!project.folder.path().join("ended").exists());
    project.make("fired");
    project.all_ended().await;
    assert!(project.folder.path().join("ended").exists());
}

#[tokio::test]
async fn a_failure_of_an_async_hook_is_reported_later() {
    let mut project = Project::later("exit 1");
    project.complete().await;
    let said = project.late.recv().await.unwrap();
    assert_eq!(said, "hook `exit 1` on task-completed ended with exit code 1");

    let mut project = Project::later("echo no; exit 2");
    assert_eq!(project.complete().await, HookReport::default());
    let said = project.late.recv().await.unwrap();
    assert!(said.ends_with(" said no, but an `async` hook cannot veto: no"), "{said}");
}

#[tokio::test]
async fn hooks_run_in_parallel() {
    let one = format!("touch one; {}", waiting_for("two"));
    let two = format!("touch two; {}", waiting_for("one"));
    let project = Project::on_completion(&[&one, &two]);
    assert_eq!(project.complete().await, HookReport::default());
}

#[tokio::test]
async fn the_first_veto_in_the_order_of_the_configuration_wins() {
    let first = format!("{}; echo first; exit 2", waiting_for("second"));
    let project = Project::on_completion(&["exit 1", &first, "touch second; echo second; exit 2"]);
    let fired = project.complete().await;
    assert_eq!(fired.verdict, veto("first").verdict);
    assert_eq!(fired.complaints.len(), 1);
}

#[tokio::test]
async fn a_hook_configured_twice_runs_once() {
    let entry = json!({"event": "task-completed", "command": "echo ran >> log"});
    let project = Project::new(&json!({
        "TaskCompleted": [{"hooks": [{"command": "echo ran >> log"}]}, {"hooks": [{"command": "echo ran >> log"}]}],
        "hooks": [entry, {"event": "task-completed", "command": "echo other >> log2"}],
    }));
    assert_eq!(project.complete().await, HookReport::default());
    assert_eq!((project.read("log"), project.read("log2")), ("ran\n".into(), "other\n".into()));
}

#[tokio::test]
async fn a_hook_gets_its_context_as_variables_and_as_json() {
    let project = Project::on_completion(&["env > variables; cat > input.json; pwd > folder"]);
    assert_eq!(project.complete().await, HookReport::default());
    let folder = project.folder.path().canonicalize().unwrap().display().to_string();
    let variables = project.read("variables");
    for expected in [
        "HOOK_teamTaskId=task-7",
        "HOOK_TEAM_TASK_ID=task-7",
        "HOOK_teamTaskOwner=ann",
        "HOOK_TEAM_TASK_RESULT=all done",
        "HOOK_event=task-completed",
        "GIVEN=by the lead",
        &format!("CLAUDE_PROJECT_DIR={folder}"),
    ] {
        assert!(variables.lines().any(|line| line == expected), "{expected}: {variables}");
    }
    let input: Value = serde_json::from_str(&project.read("input.json")).unwrap();
    assert_eq!(
        (&input["hook_event_name"], &input["task_id"], &input["cwd"]),
        (&json!("TaskCompleted"), &json!("7"), &json!(folder))
    );
    assert_eq!(project.read("folder").trim(), folder);
}

#[tokio::test]
async fn only_hooks_whose_filter_matches_run() {
    let entry = |name: &str| json!({"event": "task-completed", "command": format!("touch {name}"), "filter": {"teammateName": format!("{name}*")}});
    let project = Project::new(&json!({
        "hooks": [entry("an"), entry("bo")],
        "TaskCompleted": [
            {"matcher": "bob|ann", "hooks": [{"command": "touch matched"}]},
            {"matcher": "bob", "hooks": [{"command": "touch other"}]},
        ],
    }));
    assert_eq!(project.complete().await, HookReport::default());
    let made = |file: &str| project.folder.path().join(file).exists();
    assert_eq!(["an", "bo", "matched", "other"].map(made), [true, false, true, false]);
}

#[tokio::test]
async fn disabled_hooks_do_not_run() {
    let project = Project::new(&json!({
        "enabled": false,
        "hooks": [{"event": "task-completed", "command": "exit 2"}],
        "TaskCompleted": [{"hooks": [{"type": "command", "command": "exit 2"}]}],
    }));
    assert!(!project.hooks.has(HookEvent::TaskCompleted));
    assert_eq!(project.complete().await, HookReport::default());
}

#[tokio::test]
async fn hooks_know_which_events_have_any() {
    let project = Project::on_completion(&["true"]);
    let has: Vec<_> =
        HookEvent::ALL.into_iter().filter(|event| project.hooks.has(*event)).collect();
    assert_eq!(has, [HookEvent::TaskCompleted]);
    assert!(HookEvent::ALL.into_iter().all(|event| !Hooks::none().has(event)));
    assert_eq!(Hooks::none().fire(&completed("done")).await, HookReport::default());
}

#[tokio::test]
async fn the_scripts_in_the_hooks_page_work() {
    let page = include_str!("../../../../docs/hooks.md");
    for (language, program, feedback) in [
        (
            "sh",
            "sh",
            "task-7 is not done, because its tests fail:\nmake: *** No rule to make target 'test'.  Stop.",
        ),
        (
            "python",
            "python3",
            "task 7 is not done: make: *** No rule to make target 'test'.  Stop.\n",
        ),
    ] {
        let (_, rest) = page.split_once(&format!("```{language}\n")).unwrap();
        let (script, _) = rest.split_once("```").unwrap();
        let project = Project::on_completion(&[&format!("{program} script")]);
        fs::write(project.folder.path().join("script"), script).unwrap();
        assert_eq!(project.complete().await, veto(feedback));
        fs::write(project.folder.path().join("Makefile"), "test:\n\ttrue\n").unwrap();
        assert_eq!(project.complete().await, HookReport::default());
    }
}

#[test]
fn the_hooks_page_lists_every_event_and_value() {
    let page = include_str!("../../../../docs/hooks.md");
    for event in HookEvent::ALL {
        let values: Vec<_> = event.carries().iter().map(|name| format!("`{name}`")).collect();
        let (name, kebab, values) = (event.name(), event.kebab(), values.join(", "));
        let row = page.lines().find(|line| line.starts_with(&format!("| `{name}` | `{kebab}` |")));
        let row = row.unwrap_or_else(|| panic!("`{name}` has no row"));
        assert!(row.ends_with(&format!("| {values} |")), "{row}");
        let can_be_vetoed = row.split('|').nth(3).is_some_and(|cell| !cell.trim().is_empty());
        assert_eq!(can_be_vetoed, event.can_be_vetoed(), "{row}");
    }
}
