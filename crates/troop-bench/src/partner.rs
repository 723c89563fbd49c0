//! A child process, which does one step for every line on its input.

use std::{
    io::{BufRead, BufReader, Write},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

use anyhow::{Context as _, Result, ensure};
use serde::de::DeserializeOwned;
use troop_model::TeamId;

use crate::workbench::Workbench;

/// The line that a child prints when it is ready.
pub(crate) const READY: &str = "ready";

/// The other process. It ends when this is dropped, because its input ends.
#[derive(Debug)]
pub(crate) struct Partner {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Partner {
    /// Starts `troop-bench child …`; it is ready when this returns.
    pub(crate) fn start(bench: &Workbench, args: &[String]) -> Result<Self> {
        Self::spawn(&mut bench.child_command(args))
    }

    /// Starts a prepared command.
    pub(crate) fn spawn(command: &mut Command) -> Result<Self> {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().context("a child has an output")?);
        let mut partner = Self { child, input, output };
        let said = partner.hear()?;
        ensure!(said == READY, "a process of the benchmark did not start");
        Ok(partner)
    }

    /// Starts its next step.
    pub(crate) fn prompt(&mut self) -> Result<()> {
        let input = self.input.as_mut().context("a child has an input")?;
        input.write_all(b"\n")?;
        Ok(())
    }

    /// Reads its next line.
    fn hear(&mut self) -> Result<String> {
        let mut line = String::new();
        self.output.read_line(&mut line)?;
        Ok(line.trim_end().to_owned())
    }

    /// Reads its next line as JSON.
    pub(crate) fn hear_json<T: DeserializeOwned>(&mut self) -> Result<T> {
        let line = self.hear()?;
        serde_json::from_str(&line).context("a process of the benchmark ended early")
    }
}

impl Drop for Partner {
    fn drop(&mut self) {
        drop(self.input.take());
        // It is done; its exit code does not matter.
        drop(self.child.wait());
    }
}

/// The arguments that name a team to a child.
pub(crate) fn team_args(command: &str, team: TeamId, url: &str) -> Vec<String> {
    [command, "--id", &team.to_string(), "--at", url].map(str::to_owned).to_vec()
}
