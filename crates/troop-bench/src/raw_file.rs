//! The baseline of files: lines that are appended to one file.

use std::{fs::File, io::Write as _, path::Path, time::Duration};

use anyhow::Result;
use tokio::time::Instant;

use crate::{outcome::Throughput, team};

/// A file to which lines are added, each durable before the next.
#[derive(Debug)]
pub(crate) struct RawFile {
    file: File,
    line: String,
}

impl RawFile {
    pub(crate) fn new(path: &Path) -> Result<Self> {
        let around = "{\"v\":123456,\"n\":1,\"op\":\"01a1e136-9eb3-77cd-a6f6-7edc75a6f611\",\
                      \"crc\":\"12345678\",\"events\":[]}\n";
        let line = format!("{}{around}", team::sample_line()?);
        Ok(Self { file: File::create(path)?, line })
    }

    /// Adds a line, durably.
    pub(crate) fn append(&mut self) -> Result<()> {
        self.file.write_all(self.line.as_bytes())?;
        Ok(self.file.sync_data()?)
    }

    /// Adds lines for a while.
    pub(crate) fn run(&mut self, span: Duration) -> Result<Throughput> {
        let start = Instant::now();
        let mut n_operations = 0;
        loop {
            self.append()?;
            n_operations += 1;
            if start.elapsed() >= span {
                return Ok(Throughput { n_operations, elapsed: start.elapsed() });
            }
        }
    }
}
