//! Commands of several processes and programs that know only the files, at once. The programs themselves judge.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use rustix::fs::{FlockOperation, flock};
use serde_json::{Value, json};
use troop_testkit::wait_for;

use crate::{
    mcp::Client,
    troop::{Printing, Troop, wait},
};

const LAYOUTS: [&str; 2] = ["seeds", "claude"];

/// A team in files, whose members are programs and people at the command line.
struct SharedTeam {
    troop: Troop,
    _parent: tempfile::TempDir,
    folder: PathBuf,
    layout: &'static str,
}

impl SharedTeam {
    fn new(layout: &'static str, members: &[&str]) -> Self {
        let parent = tempfile::tempdir().unwrap();
        let folder = parent.path().join("shared");
        let troop = Troop::on(&format!("files:{}?layout={layout}", folder.display()));
        let members: String = members.iter().map(|it| format!(" --member {it}=external")).collect();
        troop.ok(&format!("team create blue{members} --set assignment=claim"));
        Self { troop, _parent: parent, folder, layout }
    }

    fn task(&self, number: u32) -> PathBuf {
        let id = if self.layout == "seeds" { "task-" } else { "" };
        self.folder.join(format!("tasks/blue/{id}{number}.json"))
    }

    /// Takes the lock of a task as another program does, by its first or second name.
    fn lock(&self, number: u32, nth: usize) -> TaskLock {
        let path = self.task(number);
        if self.layout == "claude" {
            let folder = path.with_extension("json.lock");
            fs::create_dir(&folder).unwrap();
            return TaskLock::Folder(folder);
        }
        let file = File::create(path.with_extension(["lock", "json.lock"][nth])).unwrap();
        flock(&file, FlockOperation::LockExclusive).unwrap();
        TaskLock::File { _held: file }
    }

    /// Claims a task in its file, under a lock that is held.
    fn claim_in_file(&self, number: u32, who: &str) {
        let path = self.task(number);
        let mut task = read(&path);
        assert_eq!(task["status"], "pending", "nobody wrote the file while it was locked: {task}");
        task["status"] = json!("in_progress");
        task[self.owner()] = json!(who);
        let half = path.with_extension("tmp");
        fs::write(&half, task.to_string()).unwrap();
        fs::rename(half, path).unwrap();
    }

    fn owner(&self) -> &'static str {
        if self.layout == "seeds" { "claimed_by" } else { "owner" }
    }

    fn worker(&self, name: &str, n_tasks: u32) -> Child {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/files_worker.py");
        let mut python = Command::new("python3");
        python.arg(script).arg(&self.folder).args(["blue", self.layout, name]);
        python.arg(n_tasks.to_string()).stdout(Stdio::piped()).spawn().unwrap()
    }

    fn events(&self, kind: &str) -> Vec<Value> {
        let log = self.troop.ok("events --json");
        let events = log.lines().map(|it| serde_json::from_str::<Value>(it).unwrap());
        events.filter(|it| it["kind"] == kind).collect()
    }

    fn lead(&self) -> Printing {
        let lead = Printing::new(self.troop.start("resume blue --agent external --keep --grace 0"));
        wait("the lead runs", || self.troop.ok("team list").contains("running"));
        lead
    }
}

enum TaskLock {
    File { _held: File },
    Folder(PathBuf),
}

impl Drop for TaskLock {
    fn drop(&mut self) {
        if let Self::Folder(path) = self {
            fs::remove_dir(path).unwrap();
        }
    }
}

fn read(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

/// Completes a claimed task, then claims and completes others by commands until there is nothing left to do; returns all.
fn work_by_commands(
    team: &SharedTeam,
    who: &str,
    first: u64,
    n_tasks: u32,
) -> (Vec<u64>, Vec<u64>) {
    let (mut claimed, mut completed) = (vec![first], Vec::new());
    let mut complete = |number: u64| {
        team.troop.succeed(&format!("--as {who} task complete {number} --result done"));
        completed.push(number);
    };
    complete(first);
    loop {
        let claim = team.troop.run(&format!("--as {who} --json task claim"));
        if claim.code != 0 {
            assert!(claim.err.contains("no_work"), "{claim:?}");
            let over = team.troop.json("task list --status completed");
            let n_over: u64 = over["tasks"].as_array().unwrap().len() as u64;
            if n_over >= u64::from(n_tasks) {
                return (claimed, completed);
            }
            continue;
        }
        let task: Value = serde_json::from_str(&claim.out).unwrap();
        let number = task["number"].as_u64().unwrap();
        claimed.push(number);
        complete(number);
    }
}

/// Whether the team has leads meanwhile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Leads {
    Nobody,
    /// One after the other, each of which is killed.
    Killed,
}

/// Leads the team until all tasks are done, and kills the lead after every few of them.
fn lead_and_kill(team: &SharedTeam, n_tasks: usize) {
    const N_PER_LEAD: usize = 4;
    let n_completed = || team.events("task.completed").len();
    while n_completed() < n_tasks {
        let lead = team.lead();
        let wanted = n_tasks.min(n_completed() + N_PER_LEAD);
        while n_completed() < wanted {
            // Each look is a process of its own, so that this does not spin.
        }
        drop(lead);
    }
}

fn no_task_is_done_twice(layout: &'static str, leads: Leads) {
    const N_TASKS: u32 = 24;
    let team = SharedTeam::new(layout, &["p1", "p2", "p3", "p4", "c1", "c2"]);
    for nth in 0..N_TASKS {
        team.troop.ok(&format!("task create 'task {nth}'"));
    }
    let programs: &[&str] = match leads {
        Leads::Nobody => &["p1", "p2", "p3", "p4"],
        // They would be done before there is a second lead.
        Leads::Killed => &[],
    };
    // However slow commands are, they have a share of what there is to do.
    let begun = ["c1", "c2"].map(|who| {
        let task = team.troop.json(&format!("--as {who} task claim"));
        (who, task["number"].as_u64().unwrap())
    });
    let workers: Vec<_> = programs.iter().map(|name| team.worker(name, N_TASKS)).collect();
    let by_commands = std::thread::scope(|scope| {
        if leads == Leads::Killed {
            scope.spawn(|| lead_and_kill(&team, N_TASKS as usize));
        }
        let shells = begun.map(|(who, first)| {
            let team = &team;
            scope.spawn(move || work_by_commands(team, who, first, N_TASKS))
        });
        shells.map(|shell| shell.join().unwrap())
    });
    let mut n_claims: BTreeMap<u64, u32> = BTreeMap::new();
    let mut n_ends: BTreeMap<u64, u32> = BTreeMap::new();
    let mut count = |claimed: Vec<u64>, completed: Vec<u64>| {
        claimed.into_iter().for_each(|it| *n_claims.entry(it).or_default() += 1);
        completed.into_iter().for_each(|it| *n_ends.entry(it).or_default() += 1);
    };
    for (claimed, completed) in by_commands {
        count(claimed, completed);
    }
    for worker in workers {
        let output = worker.wait_with_output().unwrap();
        assert!(output.status.success());
        let told: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(told["lost"], json!([]), "nobody lost a claim");
        let numbers =
            |key: &str| -> Vec<u64> { serde_json::from_value(told[key].clone()).unwrap() };
        count(numbers("claimed"), numbers("completed"));
    }
    let once: BTreeMap<u64, u32> = (1..=u64::from(N_TASKS)).map(|it| (it, 1)).collect();
    assert_eq!(n_claims, once, "each task was claimed once, as those say who claimed");
    assert_eq!(n_ends, once, "each task was completed once, as those say who completed");
    assert_eq!(team.events("task.claimed").len(), N_TASKS as usize);
    assert_eq!(team.events("task.completed").len(), N_TASKS as usize);
}

#[test]
fn no_task_is_done_twice_by_programs_and_commands_under_the_systems_locks() {
    no_task_is_done_twice("seeds", Leads::Nobody);
}

#[test]
fn no_task_is_done_twice_by_commands_while_leads_are_killed_and_replaced() {
    no_task_is_done_twice("seeds", Leads::Killed);
}

#[test]
fn no_task_is_done_twice_by_programs_and_commands_under_locks_that_are_folders() {
    no_task_is_done_twice("claude", Leads::Nobody);
}

/// A program has the lock and claims; a command that came meanwhile waited for it, and is refused.
fn a_command_waits_for_the_lock(layout: &'static str, nth: usize, is_led: bool, command: &str) {
    let team = SharedTeam::new(layout, &["pat", "cara"]);
    team.troop.ok("task create one");
    let lead = is_led.then(|| team.lead());
    let lock = team.lock(1, nth);
    let mut waiting = team.troop.start(&format!("--as cara task {command}"));
    // These begin after the command and pass it.
    for other in ["two", "three"] {
        team.troop.ok(&format!("task create {other}"));
    }
    assert!(waiting.try_wait().unwrap().is_none(), "{layout}, {command}: it waits for the lock");
    assert_eq!(team.events("task.claimed").len(), 0, "{layout}, {command}");
    team.claim_in_file(1, "pat");
    drop(lock);
    let refused = waiting.wait_with_output().unwrap();
    let err = String::from_utf8(refused.stderr).unwrap();
    assert_eq!(refused.status.code(), Some(1), "{layout}, {command}: {err}");
    assert!(err.contains("pat"), "{layout}, {command}: {err}");
    let task = team.troop.json("task get 1");
    assert_eq!((&task["owner"], &task["status"]), (&json!("pat"), &json!("in_progress")));
    assert_eq!(read(&team.task(1))[team.owner()], "pat", "{layout}: its program keeps it");
    drop(lead);
}

#[test]
fn a_claim_by_command_waits_for_either_lock_of_the_tasks_file() {
    a_command_waits_for_the_lock("seeds", 0, false, "claim 1");
    a_command_waits_for_the_lock("seeds", 1, false, "claim 1");
    a_command_waits_for_the_lock("claude", 0, false, "claim 1");
}

#[test]
fn a_claim_through_a_lead_waits_for_the_lock_of_the_tasks_file() {
    a_command_waits_for_the_lock("seeds", 1, true, "claim 1");
    a_command_waits_for_the_lock("claude", 0, true, "claim 1");
}

/// Completing a task that nobody holds claims it first.
#[test]
fn completing_a_pending_task_waits_for_the_lock_of_its_file() {
    for is_led in [true, false] {
        a_command_waits_for_the_lock("seeds", 0, is_led, "complete 1 --result done");
        a_command_waits_for_the_lock("claude", 0, is_led, "complete 1 --result done");
    }
}

#[test]
fn a_claim_is_in_the_file_before_its_command_ends_and_the_lock_is_free() {
    for layout in LAYOUTS {
        let team = SharedTeam::new(layout, &["cara"]);
        team.troop.ok("task create one");
        team.troop.ok("--as cara task claim 1");
        let task = read(&team.task(1));
        assert_eq!((&task["status"], &task[team.owner()]), (&json!("in_progress"), &json!("cara")));
        drop(team.lock(1, 0));
    }
}

#[test]
fn the_next_task_is_one_that_no_program_has_locked() {
    for layout in LAYOUTS {
        let team = SharedTeam::new(layout, &["cara"]);
        team.troop.ok("task create one");
        team.troop.ok("task create two");
        let lock = team.lock(1, 0);
        assert_eq!(team.troop.json("--as cara task claim")["number"], 2, "{layout}");
        drop(lock);
        assert_eq!(team.troop.json("--as cara task claim")["number"], 1, "{layout}");
    }
}

#[test]
fn a_lock_that_is_kept_is_named_and_nothing_has_changed() {
    let team = SharedTeam::new("seeds", &["cara"]);
    team.troop.ok("task create one");
    let lock = team.lock(1, 0);
    let names = [
        "--as cara task claim 1",
        "--as cara task claim",
        "task assign 1 cara",
        "task cancel 1 --reason no",
        "task update 1 --subject new",
    ];
    let children: Vec<Child> = names.iter().map(|it| team.troop.start(it)).collect();
    for (name, child) in names.iter().zip(children) {
        let output = child.wait_with_output().unwrap();
        let err = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{name}: {err}");
        assert!(err.starts_with("error: the file of task-1 is in use"), "{name}: {err}");
        assert!(err.contains("tasks/blue/task-1.lock"), "{name}: {err}");
        assert!(err.contains("hint: "), "{name}: {err}");
    }
    drop(lock);
    assert_eq!(team.events("task.claimed").len() + team.events("task.assigned").len(), 0);
    assert_eq!(team.troop.json("task get 1")["subject"], "one");
    team.troop.ok("--as cara task claim 1");
}

/// Nobody reads, so that nothing counts as read, however many processes put mail into the same inbox.
fn nothing_counts_as_read(layout: &'static str, is_led: bool) {
    const N_MESSAGES: usize = 15;
    let team = SharedTeam::new(layout, &["ann", "bob"]);
    let lead = is_led.then(|| team.lead());
    std::thread::scope(|scope| {
        for sender in 0..2 {
            let team = &team;
            scope.spawn(move || {
                for nth in 0..N_MESSAGES {
                    team.troop.ok(&format!("message send ann 'from {sender}: {nth}'"));
                }
            });
        }
        scope.spawn(|| {
            for nth in 0..N_MESSAGES {
                team.troop.ok(&format!("task create 'task {nth}'"));
            }
        });
    });
    assert_eq!(team.events("message.read"), Vec::<Value>::new(), "{layout}");
    let unread = team.troop.json("--as ann message read --peek");
    assert_eq!(unread["messages"].as_array().unwrap().len(), 2 * N_MESSAGES, "{layout}");
    let inbox = match layout {
        "seeds" => fs::read_dir(team.folder.join("teams/blue/inbox/ann")).unwrap().count(),
        _ => read(&team.folder.join("teams/blue/inboxes/ann.json")).as_array().unwrap().len(),
    };
    assert_eq!(inbox, 2 * N_MESSAGES, "{layout}");
    drop(lead);
}

#[test]
fn mail_that_nobody_read_does_not_count_as_read_in_folders() {
    nothing_counts_as_read("seeds", false);
}

#[test]
fn mail_that_nobody_read_does_not_count_as_read_in_one_file() {
    nothing_counts_as_read("claude", false);
}

#[test]
fn mail_that_nobody_read_does_not_count_as_read_while_somebody_leads() {
    for layout in LAYOUTS {
        nothing_counts_as_read(layout, true);
    }
}

#[tokio::test]
async fn a_team_that_an_mcp_client_makes_has_its_files_at_once() {
    for layout in LAYOUTS {
        let team = SharedTeam::new(layout, &[]);
        let mut lead = Client::start(&team.troop, "--as lead --dialect claude");
        lead.call("CleanupTeam", &json!({}));
        lead.call("TeamCreate", &json!({"team_name": "green", "description": "again"}));
        let config = read(&team.folder.join("teams/green/config.json"));
        assert_eq!(config["description"], "again", "{layout}");
        let inbox = if layout == "seeds" { "inbox/lead" } else { "inboxes" };
        for folder in [format!("teams/green/{inbox}"), "tasks/green".to_owned()] {
            assert!(team.folder.join(&folder).is_dir(), "{layout}: {folder}");
        }
        team.troop.ok("message send lead hello");
        let letters = match layout {
            "seeds" => fs::read_dir(team.folder.join("teams/green/inbox/lead")).unwrap().count(),
            _ => read(&team.folder.join("teams/green/inboxes/team-lead.json"))
                .as_array()
                .unwrap()
                .len(),
        };
        assert_eq!(letters, 1, "{layout}: the lead's mail lies in its inbox");
        lead.call("TaskCreate", &json!({"subject": "New", "description": "x"}));
        let task = if layout == "seeds" { "task-1" } else { "1" };
        let task = team.folder.join(format!("tasks/green/{task}.json"));
        wait_for("the task has its file", async || task.exists().then_some(())).await;
        assert_eq!(read(&task)["subject"], "New", "{layout}");
    }
}

#[tokio::test]
async fn the_config_has_the_process_of_a_member_while_it_runs() {
    for layout in LAYOUTS {
        let team = SharedTeam::new(layout, &[]);
        let lead = team.lead();
        team.troop.ok("member spawn ann=command");
        let member = || {
            let config = read(&team.folder.join("teams/blue/config.json"));
            let members = config["members"].as_array().unwrap().iter();
            members.clone().find(|it| it["name"] == "ann").cloned()
        };
        let pid = wait_for("the config has its process", async || member()?["pid"].as_u64()).await;
        let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap();
        assert!(String::from_utf8_lossy(&words).contains("ann"), "{layout}: it is its process");
        team.troop.ok("member stop ann");
        let is_gone = async || member()?.get("pid").is_none().then_some(());
        wait_for("the config has no process", is_gone).await;
        drop(lead);
    }
}

#[test]
fn a_member_is_found_in_the_config_that_troop_wrote() {
    for layout in LAYOUTS {
        let team = SharedTeam::new(layout, &[]);
        team.troop.ok("member add ann=command");
        let base = team.folder.display();
        let start = format!("--teammate --team blue --agent ann --base-dir {base}");
        let run = team.troop.succeed(&start);
        let ready = run.out.lines().next().unwrap();
        let expect = r#""method":"team.ready","params":{"name":"ann""#;
        assert!(ready.contains(expect), "{layout}: {ready}");
    }
}

#[test]
fn a_member_gets_the_colour_of_its_messages_in_the_config() {
    let team = SharedTeam::new("claude", &["pat", "quin"]);
    let letter = json!([{"from": "pat", "text": "hello", "timestamp": "2026-01-01T00:00:00.000Z",
        "color": "green", "read": false}]);
    fs::write(team.folder.join("teams/blue/inboxes/quin.json"), letter.to_string()).unwrap();
    let color = || {
        let config = read(&team.folder.join("teams/blue/config.json"));
        let members = config["members"].as_array().unwrap().clone();
        members.into_iter().find(|it| it["name"] == "pat").unwrap()["color"].clone()
    };
    team.troop.ok("task list");
    assert_eq!(color(), "green");
    team.troop.ok("member add ann=command");
    assert_eq!(color(), "green", "it is kept");
}

#[test]
fn a_message_is_reported_as_taken_once_however_often_the_mirror_starts() {
    let troop = Troop::new();
    let folder = troop.folder().join("mirrored");
    troop.ok("team create blue --member pat=external --member quin=external");
    let mirror = format!("team mirror {} --once", folder.display());
    troop.ok(&mirror);
    let letter = json!({"from": "pat", "to": "quin", "type": "direct", "content": "hello"});
    fs::write(folder.join("teams/blue/inbox/quin/hello.json"), letter.to_string()).unwrap();
    let taken = "taken: teams/blue/inbox/quin/hello.json: a message to quin\n";
    assert_eq!(troop.ok(&mirror), taken);
    assert_eq!(troop.ok(&mirror), "", "it still waits, and was taken before");
    let n_waiting = |troop: &Troop| {
        troop.json("--as quin message read --peek")["messages"].as_array().unwrap().len()
    };
    assert_eq!(n_waiting(&troop), 1);
    // The same in one file for each member.
    let folder = troop.folder().join("claude");
    let mirror = format!("team mirror {} --layout claude --once", folder.display());
    troop.ok(&mirror);
    let inbox = folder.join("teams/blue/inboxes/quin.json");
    let mut letters = read(&inbox);
    letters.as_array_mut().unwrap().push(
        json!({"from": "pat", "text": "again", "timestamp": "2026-01-01T00:00:00.000Z", "read": false}),
    );
    fs::write(&inbox, letters.to_string()).unwrap();
    assert_eq!(troop.ok(&mirror), "taken: teams/blue/inboxes/quin.json: a message to quin\n");
    assert_eq!(troop.ok(&mirror), "", "it still waits, and was taken before");
    assert_eq!(n_waiting(&troop), 2);
}

#[test]
fn an_assignment_that_changes_nothing_gives_programs_the_task() {
    let team = SharedTeam::new("seeds", &["cara"]);
    team.troop.ok("task create one");
    team.troop.ok("--as cara task claim 1");
    let again = team.troop.json("task assign 1 cara");
    assert_eq!((&again["number"], &again["owner"]), (&json!(1), &json!("cara")));
}
