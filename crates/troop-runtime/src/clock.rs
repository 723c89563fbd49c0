//! The source of time, so that tests can hold it still.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
};

use jiff::Timestamp;
use troop_model::Time;

/// A source of time. Cheap to clone.
#[derive(Clone)]
pub struct Clock(ClockSource);

#[derive(Clone)]
enum ClockSource {
    System,
    Manual(Arc<AtomicI64>),
}

impl Clock {
    /// The machine's clock.
    #[must_use]
    pub fn system() -> Self {
        Self(ClockSource::System)
    }

    /// A clock that stands until it is set.
    #[must_use]
    pub fn manual(start: Time) -> Self {
        Self(ClockSource::Manual(Arc::new(AtomicI64::new(start.as_micros()))))
    }

    /// Sets a manual clock; the machine's clock is not ours to set.
    pub fn set(&self, time: Time) {
        if let ClockSource::Manual(micros) = &self.0 {
            micros.store(time.as_micros(), Ordering::SeqCst);
        }
    }

    #[must_use]
    #[expect(clippy::disallowed_methods, reason = "this is the one place that asks the machine")]
    pub fn now(&self) -> Time {
        match &self.0 {
            ClockSource::System => Timestamp::now().into(),
            ClockSource::Manual(micros) => Time::from_micros(micros.load(Ordering::SeqCst)),
        }
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            ClockSource::System => "Clock::system",
            ClockSource::Manual(_) => "Clock::manual",
        })
    }
}
