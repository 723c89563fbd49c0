//! What no good member does, so that it can be seen what a team does about it.

use rustix::process::{Signal, getpid, kill_process};
use troop_protocol::{Level, MAX_LINE};

use super::{
    perform::{Performance, ScriptStop},
    syntax::Mischief,
};
use crate::{RawWrite, TurnOutcome};

/// How much is written at once.
const CHUNK: usize = 64 * 1024;

impl Performance<'_> {
    pub(super) async fn misbehave(&mut self, mischief: &Mischief) -> Result<(), ScriptStop> {
        match mischief {
            Mischief::Crash(code) => {
                return Err(ScriptStop::End(TurnOutcome::Stop { code: *code }));
            }
            Mischief::Kill => {
                kill_process(getpid(), Signal::KILL).map_err(|error| failed(&error))?;
            }
            Mischief::Hang => {
                self.turn.wire.fall_silent();
                std::future::pending::<()>().await;
            }
            Mischief::FloodLogs(n_logs) => {
                for nth in 1..=*n_logs {
                    self.turn.log(Level::Info, &format!("line {nth} of {n_logs}")).await;
                }
            }
            Mischief::FloodMessages { n_messages, to } => {
                for nth in 1..=*n_messages {
                    let text = format!("message {nth} of {n_messages}");
                    self.turn.say(to, &text).await.map_err(|error| failed(&error))?;
                }
            }
            Mischief::FloodBytes(n_bytes) => self.write_raw(noise(*n_bytes as usize)).await?,
            Mischief::Garbage => self.write_raw(garbage()).await?,
            Mischief::HalfLine => {
                self.write_raw(b"{\"jsonrpc\":\"2.0\",\"method\":\"team.lo".to_vec()).await?;
            }
        }
        Ok(())
    }

    /// Writes to the wire itself, past all that makes messages of it.
    async fn write_raw(&mut self, bytes: Vec<u8>) -> Result<(), ScriptStop> {
        let Some(write) = self.turn.place().raw_write else {
            return Err(ScriptStop::Failed("there is no wire here to write garbage to".to_owned()));
        };
        let written = tokio::task::spawn_blocking(move || write_all(write, &bytes)).await;
        let written = written.map_err(|error| failed(&error))?;
        written.map_err(|error| failed(&error))
    }
}

fn write_all(write: RawWrite, bytes: &[u8]) -> std::io::Result<()> {
    bytes.chunks(CHUNK).try_for_each(write)
}

/// Bytes of all kinds, the same each time, with an end of line at their end.
fn noise(n_bytes: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_u32;
    let byte = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    };
    let mut bytes: Vec<u8> = std::iter::repeat_with(byte).take(n_bytes).collect();
    bytes.push(b'\n');
    bytes
}

/// Lines that are no messages: bytes, text, JSON that says nothing, and one that is too long.
fn garbage() -> Vec<u8> {
    let mut bytes = b"\xff\xfe\x00\x01\nno JSON at all\n[]\n42\n{}\n\n{\"jsonrpc\":\n".to_vec();
    bytes.extend(std::iter::repeat_n(b'x', MAX_LINE + 1));
    bytes.push(b'\n');
    bytes
}

fn failed(error: &dyn std::fmt::Display) -> ScriptStop {
    ScriptStop::Failed(error.to_string())
}
