//! What every agent is: it gets work, one piece at a time, and says how it went.

pub use futures_util::future::BoxFuture;
use troop_protocol::{MessageIn, WireTask};

use crate::Turn;

/// What thinks for one member. There is one object for each member, for as long as its process lives, and one more for each
/// delegation, for as long as that lasts.
pub trait Agent: Send {
    /// Does one piece of work. It ends soon after the turn is interrupted; dropped, it leaves nothing running.
    fn turn<'a>(&'a mut self, work: Work, turn: &'a Turn) -> BoxFuture<'a, TurnOutcome>;

    /// Another of the same kind that remembers nothing: it knows none of what this one was told, and what it learns goes with
    /// it.
    fn fresh(&self) -> Box<dyn Agent>;

    /// With what it thinks, if it does: then it can go on from what is on the board, and do again nothing that is done. What
    /// follows a script would begin anew.
    fn thinks(&self) -> Option<Thinking> {
        None
    }
}

/// With what an agent thinks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Thinking {
    /// The model, if nobody knows what it costs.
    pub unpriced: Option<String>,
}

/// What an agent is to do.
#[derive(Clone, Debug, PartialEq)]
pub enum Work {
    /// Get ready. Comes once, before all else.
    Start,
    /// Work on a task.
    Task(WireTask),
    /// Read mail that came while there was nothing to do.
    Mail(Vec<MessageIn>),
    /// Go on with a task after an interruption.
    Resume {
        /// The task.
        task: WireTask,
        /// What came since.
        mail: Vec<MessageIn>,
    },
    /// Get ready to end, or refuse to.
    Shutdown { reason: String },
}

/// How a piece of work went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TurnOutcome {
    /// The task is done.
    Completed {
        /// What came of it.
        result: String,
        /// The same in a few words.
        summary: Option<String>,
    },
    /// The task could not be done.
    Failed { reason: String },
    /// The task could not be done, and trying again would not help.
    Hopeless { reason: String },
    /// Somebody else should do the task.
    GaveBack { reason: String },
    /// There is nothing to report, or the agent has told the board itself.
    Done,
    /// It was interrupted. A task stays its own, and goes on with the next mail.
    Interrupted,
    /// It does not want to end now.
    Refused { reason: String },
    /// The process ends at once, without another word.
    Stop {
        /// With this code.
        code: u8,
    },
}
