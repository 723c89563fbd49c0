//! Runs the program in a separate environment.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    path::Path,
    process::{Child, Command, Output, Stdio},
    sync::mpsc,
    time::Duration,
};

use rustix::process::{Pid, Signal};
use serde_json::Value;
use tempfile::TempDir;
use tokio::time::Instant;

/// How long a wait takes before it fails. Long, because the machine may be busy.
const MAX_WAIT: Duration = Duration::from_secs(40);

/// A home folder, and the program that uses it.
pub(crate) struct Troop {
    folder: TempDir,
    store: Option<String>,
}

/// The exit code and the output of a run.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Troop {
    /// An empty home.
    pub(crate) fn new() -> Self {
        Self { folder: TempDir::new().unwrap(), store: None }
    }

    /// An empty home with another store.
    pub(crate) fn on(store: &str) -> Self {
        Self { folder: TempDir::new().unwrap(), store: Some(store.to_owned()) }
    }

    /// A home with the team `blue`: a lead, `ann` and `bob`.
    pub(crate) fn with_team() -> Self {
        let troop = Self::new();
        troop.make_team();
        troop
    }

    pub(crate) fn make_team(&self) {
        self.ok("team create blue --member ann=claude --member bob=codex");
    }

    /// The project folder that commands run in.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_troop"));
        command
            .args(arguments)
            .current_dir(self.folder.path())
            .env_clear()
            .env("TROOP_HOME", self.folder.path().join("home"))
            .env("TMPDIR", self.folder.path())
            .env("USER", "pat")
            .env("PATH", "/usr/bin:/bin");
        if let Some(store) = &self.store {
            command.env("TROOP_STORE", store);
        }
        command
    }

    /// Runs a command as another person of this machine.
    pub(crate) fn by(&self, user: &str, arguments: &[&str]) -> Run {
        Run::new(self.command(arguments).env("USER", user).output().unwrap())
    }

    /// Runs the program with these arguments.
    pub(crate) fn args(&self, arguments: &[&str]) -> Run {
        Run::new(self.command(arguments).stdin(Stdio::null()).output().unwrap())
    }

    /// Runs the program with the words of a line; `'…'` keeps words together.
    pub(crate) fn run(&self, line: &str) -> Run {
        let words = split(line);
        self.args(&words.iter().map(String::as_str).collect::<Vec<_>>())
    }

    /// Runs the program, which must succeed without warnings, and returns what it printed.
    #[track_caller]
    pub(crate) fn ok(&self, line: &str) -> String {
        self.succeed_silently(line).out
    }

    /// Runs the program, which must succeed without warnings.
    #[track_caller]
    pub(crate) fn succeed_silently(&self, line: &str) -> Run {
        let run = self.succeed(line);
        assert_eq!(run.err, "", "`troop {line}` warned: {run:#?}");
        run
    }

    /// Runs the program, which must succeed but may warn.
    #[track_caller]
    pub(crate) fn succeed(&self, line: &str) -> Run {
        let run = self.run(line);
        assert_eq!(run.code, 0, "`troop {line}` did not succeed: {run:#?}");
        run
    }

    /// Runs the program for its JSON.
    #[track_caller]
    pub(crate) fn json(&self, line: &str) -> Value {
        let out = self.ok(&format!("{line} --json"));
        serde_json::from_str(&out)
            .unwrap_or_else(|error| panic!("`troop {line}` printed no JSON ({error}): {out}"))
    }

    /// Runs the program, which must fail, and returns its exit code and its error.
    #[track_caller]
    pub(crate) fn refused(&self, line: &str) -> (i32, String) {
        let run = self.run(line);
        assert_ne!(run.code, 0, "`troop {line}` succeeded: {}", run.out);
        assert_eq!(run.out, "", "a refusal goes to standard error");
        (run.code, run.err)
    }

    /// Runs the program with text on its standard input.
    pub(crate) fn with_input(&self, line: &str, input: &str) -> Run {
        let words = split(line);
        let mut command = self.command(&words.iter().map(String::as_str).collect::<Vec<_>>());
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        // The program may have ended without reading it.
        drop(child.stdin.take().unwrap().write_all(input.as_bytes()));
        Run::new(child.wait_with_output().unwrap())
    }

    /// A command that runs a shell line on a terminal.
    pub(crate) fn on_terminal(&self, line: &str) -> Command {
        let mut command = Command::new("script");
        command.args(["-qec", line, "/dev/null"]).current_dir(self.folder());
        command.env("TROOP_HOME", self.folder().join("home")).env("TMPDIR", self.folder());
        command.env("USER", "pat").env("SHELL", "/bin/sh");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Starts the program and leaves it running.
    pub(crate) fn start(&self, line: &str) -> Child {
        let words = split(line);
        let mut command = self.command(&words.iter().map(String::as_str).collect::<Vec<_>>());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }
}

/// A running program and its output.
pub(crate) struct Printing {
    child: Child,
    lines: mpsc::Receiver<String>,
    seen: String,
}

/// Much longer than any wait should take, so that only a missing event fails.
const PATIENCE: Duration = Duration::from_secs(40);

impl Printing {
    pub(crate) fn new(mut child: Child) -> Self {
        let out = BufReader::new(child.stdout.take().unwrap());
        let (tell, lines) = mpsc::channel();
        std::thread::spawn(move || {
            for line in out.lines().map_while(Result::ok) {
                if tell.send(line).is_err() {
                    return;
                }
            }
        });
        Self { child, lines, seen: String::new() }
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Waits for a line with a text in it.
    #[track_caller]
    pub(crate) fn wait_for(&mut self, what: &str) -> String {
        loop {
            let Ok(line) = self.lines.recv_timeout(PATIENCE) else {
                let mut err = String::new();
                self.child.kill().unwrap();
                self.child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
                panic!("`{what}` was never seen in:\n{}{err}", self.seen);
            };
            self.seen.push_str(&line);
            self.seen.push('\n');
            if line.contains(what) {
                return line;
            }
        }
    }

    pub(crate) fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(self.id().try_into().unwrap()).unwrap();
        rustix::process::kill_process(pid, signal).unwrap();
    }

    /// Waits until it ends; returns everything that it printed.
    pub(crate) fn end(mut self) -> Run {
        while let Ok(line) = self.lines.recv_timeout(PATIENCE) {
            self.seen.push_str(&line);
            self.seen.push('\n');
        }
        let code = self.child.wait().unwrap().code().unwrap_or(-1);
        let mut err = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
        Run { code, out: std::mem::take(&mut self.seen), err }
    }
}

impl Drop for Printing {
    fn drop(&mut self) {
        // It may have ended already.
        drop(self.child.kill());
        self.child.wait().unwrap();
    }
}

impl Run {
    pub(crate) fn new(output: Output) -> Self {
        Self {
            code: output.status.code().unwrap_or(-1),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

fn split(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    for (nth, part) in line.split('\'').enumerate() {
        if nth % 2 == 1 {
            words.push(part.to_owned());
        } else {
            words.extend(part.split_whitespace().map(str::to_owned));
        }
    }
    words
}

/// Waits for a named condition.
#[track_caller]
pub(crate) fn wait(what: &str, is_so: impl Fn() -> bool) {
    let until = Instant::now() + MAX_WAIT;
    while !is_so() {
        assert!(Instant::now() < until, "waited {MAX_WAIT:?} in vain for: {what}");
        std::thread::yield_now();
    }
}
