//! Several processes. The test binary starts itself again for each of them.

use std::{
    env,
    ffi::OsStr,
    io::{BufRead, BufReader, Lines, Write},
    process::{Child, ChildStdout, Command, Stdio},
};

use rustix::process::{Pid, Signal, kill_process};
use troop_model::{TeamId, Version};
use troop_store::{AppendOutcome, Missing, StoreUrl, open};
use troop_testkit::TestStore;

use crate::{
    disk::{self, Brim},
    support::{append, assert_some_are_prompt, batch, bodies, create, notice},
};

const ROLE: &str = "TROOP_TEST_ROLE";

/// The job of another process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// Appends a pair of events for every line it is given.
    Follow,
    /// Appends triples of events, for as long as it lives.
    Write,
    /// Takes an append slot and keeps it.
    Hold,
    /// Fills its disk.
    Fill,
    /// Reads, and tries to write.
    Visit,
}

/// Another process at work on a store.
#[derive(Debug)]
pub(crate) struct Other {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Other {
    pub(crate) fn start(role: Role, name: u32, store: &TestStore, team: TeamId) -> Self {
        Self::start_under(&[], role, name, store.url(), team)
    }

    /// Starts it through a command that changes its environment.
    pub(crate) fn start_under(
        prefix: &[&str],
        role: Role,
        name: u32,
        url: &str,
        team: TeamId,
    ) -> Self {
        let program = env::current_exe().unwrap();
        let mut words = prefix.iter().map(OsStr::new).chain([program.as_os_str()]);
        let mut child = Command::new(words.next().unwrap())
            .args(words)
            .args(["--exact", "processes::another_process", "--nocapture"])
            .env(ROLE, format!("{role:?} {name} {team} {url}"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, lines }
    }

    /// Makes a follower append this many pairs.
    pub(crate) fn go(&mut self, n_pairs: usize) {
        let stdin = self.child.stdin.as_mut().unwrap();
        stdin.write_all("go\n".repeat(n_pairs).as_bytes()).unwrap();
    }

    /// The next line that it says, or none if it has ended.
    pub(crate) fn hear(&mut self) -> Option<String> {
        let said = |line: String| line.strip_prefix("said: ").map(str::to_owned);
        self.lines.by_ref().find_map(|line| said(line.unwrap()))
    }

    /// Stops it where it is, as a debugger or a full terminal does.
    pub(crate) fn stop(&self) {
        kill_process(Pid::from_child(&self.child), Signal::STOP).unwrap();
    }

    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    pub(crate) fn finish(mut self) {
        drop(self.child.stdin.take());
        while self.hear().is_some() {}
        assert!(self.child.wait().unwrap().success());
    }
}

pub(crate) fn say(what: &str) {
    let mut stdout = std::io::stdout().lock();
    stdout.write_all(format!("\nsaid: {what}\n").as_bytes()).unwrap();
    stdout.flush().unwrap();
}

/// Not a test: the other processes run this. Without a role it does nothing.
#[tokio::test]
async fn another_process() {
    let Some(role) = env::var_os(ROLE) else { return };
    let role = role.into_string().unwrap();
    let [role, name, team, url] = role.splitn(4, ' ').collect::<Vec<_>>()[..] else {
        panic!("a role has four words")
    };
    let store = open(&StoreUrl::parse(url).unwrap(), Missing::Make).await.unwrap();
    let team: TeamId = team.parse().unwrap();
    let mut seen = Version(1);
    match role {
        "Follow" => {
            for (nth, _) in std::io::stdin().lines().enumerate() {
                let pair = vec![format!("[{name},{nth}]"), "null".to_owned()];
                append(&*store, team, &mut seen, pair).await.unwrap();
                say("appended");
            }
        }
        "Write" => {
            let padding = "x".repeat(5000);
            for nth in 0.. {
                let triple = (0..3).map(|part| format!("[{name},{nth},{part},\"{padding}\"]"));
                append(&*store, team, &mut seen, triple.collect()).await.unwrap();
                say(&nth.to_string());
            }
        }
        "Fill" => disk::fill(&*store, url, Brim::from_name(name)).await,
        "Visit" => disk::visit(&*store, team).await,
        _ => {
            let behind = store.append(team, batch(0, &["1"])).await.unwrap();
            assert!(matches!(behind, AppendOutcome::Behind(_)));
            say("holding");
            std::future::pending::<()>().await;
        }
    }
}

pub(crate) async fn each_append_of_many_processes_is_in_the_log_once(store: TestStore) {
    let team = create(&*store, "crew").await;
    let mut others: Vec<_> =
        (0..4).map(|name| Other::start(Role::Follow, name, &store, team)).collect();
    others.iter_mut().for_each(|other| other.go(25));
    others.into_iter().for_each(Other::finish);
    let all = bodies(&*store, team).await;
    let mut firsts: Vec<_> = all[1..].chunks(2).map(|pair| pair[0].clone()).collect();
    assert!(all[1..].chunks(2).all(|pair| pair[1] == "null"));
    firsts.sort();
    firsts.dedup();
    assert_eq!(firsts.len(), 4 * 25);
}

pub(crate) async fn a_watch_sees_another_process(store: TestStore) {
    let team = create(&*store, "crew").await;
    let mut other = Other::start(Role::Follow, 0, &store, team);
    let mut notices = Vec::new();
    for _ in 0..8 {
        notices.push(notice(&*store, team, async { other.go(1) }).await);
    }
    assert_some_are_prompt(&notices);
    assert_eq!(bodies(&*store, team).await.len(), 1 + 8 * 2);
    other.finish();
}
