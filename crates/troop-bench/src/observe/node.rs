//! Bare `JSON.parse` in Node on the same bytes, which any observer in that language must do.

use std::{
    path::Path,
    process::{Command, Stdio},
    time::Duration,
};

use anyhow::{Context as _, Result, ensure};

/// Parses every line of a file until time is up, and prints the bytes per second.
const SCRIPT: &str = "
const [file, seconds] = process.argv.slice(1);
const text = require('fs').readFileSync(file);
const lines = text.toString().split('\\n').filter(line => line);
const start = process.hrtime.bigint();
let bytes = 0, elapsed = 0;
do {
  for (const line of lines) JSON.parse(line);
  bytes += text.length;
  elapsed = Number(process.hrtime.bigint() - start) / 1e9;
} while (elapsed < Number(seconds));
console.log(bytes / elapsed);
";

/// Whether there is a Node on this machine.
pub(crate) fn is_there() -> bool {
    let mut node = Command::new("node");
    node.arg("--version").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    node.status().is_ok_and(|status| status.success())
}

/// How many bytes per second Node parses.
pub(crate) fn rate(file: &Path, span: Duration) -> Result<f64> {
    let mut node = Command::new("node");
    node.args(["--eval", SCRIPT, "--"]).arg(file).arg(span.as_secs_f64().to_string());
    let output = node.stdin(Stdio::null()).output()?;
    ensure!(output.status.success(), "`node` ended badly");
    let said = String::from_utf8_lossy(&output.stdout);
    said.trim().parse().context("`node` said no number")
}
