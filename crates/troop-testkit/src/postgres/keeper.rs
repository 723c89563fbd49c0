//! A server process that never outlives its test.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    os::unix::process::CommandExt as _,
    process::{Child, ChildStdin, Command, Stdio},
};

use tokio::time::sleep;

use super::own::LOOK;

/// Runs a program until it ends, until a line names a signal for it, or until nobody holds the other end: then its test is gone.
const KEEP: &str = r#"
exec 3<&0
"$@" </dev/null >/dev/null 3<&- & program=$!
(read -r how <&3 || how=$LAST; kill -"$how" $program) & reader=$!
echo
wait $program
kill $reader
"#;

/// A server's process. Dropping this ends it.
#[derive(Debug)]
pub(super) struct Keeper {
    child: Child,
    stdin: Option<ChildStdin>,
}

impl Keeper {
    /// Starts the program, which this signal ends at once. What it says on standard error is lost.
    pub(super) fn start(program: &Command, last: &str) -> Self {
        let mut keeper = Command::new("sh");
        keeper.args(["-c", KEEP, "keeper"]).arg(program.get_program()).args(program.get_args());
        keeper.env("LAST", last).current_dir("/").env_remove("LC_ALL").process_group(0);
        keeper.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = keeper.spawn().unwrap();
        let mut said = String::new();
        // From now on the program runs, so a signal finds it.
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut said).unwrap();
        let stdin = child.stdin.take();
        Self { child, stdin }
    }

    pub(super) fn check_ended(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }

    /// Sends a signal and waits until the program has ended. Meanwhile others go on: a server that ends waits for clients that
    /// are just connecting, and they may be tasks of this very thread.
    pub(super) async fn end(&mut self, signal: &str) {
        if let Some(mut stdin) = self.stdin.take() {
            // It may have ended just now.
            drop(stdin.write_all(format!("{signal}\n").as_bytes()));
        }
        while !self.check_ended() {
            sleep(LOOK).await;
        }
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        // Nothing more to say, so the program quits.
        drop(self.stdin.take());
        drop(self.child.wait());
    }
}
