//! The signals that ask this process to stop.

use anyhow::Result;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Listens to all of them until it is dropped.
pub(crate) struct Signals([(StopSignal, Signal); 3]);

/// A signal that came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StopSignal {
    pub(crate) name: &'static str,
    number: i32,
}

impl StopSignal {
    /// The exit code of a process that it ended, as in shells.
    pub(crate) fn code(self) -> u8 {
        u8::try_from(128 + self.number).unwrap_or(u8::MAX)
    }
}

impl Signals {
    pub(crate) fn listen() -> Result<Self> {
        let listen = |name, kind: SignalKind| {
            let number = kind.as_raw_value();
            Ok::<_, std::io::Error>((StopSignal { name, number }, signal(kind)?))
        };
        Ok(Self([
            listen("SIGINT", SignalKind::interrupt())?,
            listen("SIGTERM", SignalKind::terminate())?,
            listen("SIGHUP", SignalKind::hangup())?,
        ]))
    }

    /// Waits for the next one.
    pub(crate) async fn next(&mut self) -> StopSignal {
        let [interrupt, terminate, hangup] = &mut self.0;
        tokio::select! {
            _ = interrupt.1.recv() => interrupt.0,
            _ = terminate.1.recv() => terminate.0,
            _ = hangup.1.recv() => hangup.0,
        }
    }
}
