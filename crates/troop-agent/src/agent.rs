//! The trait of all agents: an agent gets one piece of work at a time and reports how it went.

pub use futures_util::future::BoxFuture;
use troop_protocol::{MessageIn, WireTask};

use crate::Turn;

/// Thinks for one member. There is one agent per member for the life of its process, and one more per delegation for
/// as long as that lasts.
pub trait Agent: Send {
    /// Does one piece of work. It ends soon after the turn is interrupted; when dropped, it leaves nothing running.
    fn turn<'a>(&'a mut self, work: Work, turn: &'a Turn) -> BoxFuture<'a, TurnOutcome>;

    /// A new agent of the same kind that remembers nothing of this one's work.
    fn fresh(&self) -> Box<dyn Agent>;

    /// Its model, if it thinks. A thinking agent can continue from the state of the board without repeating finished work; a
    /// script would start from the beginning.
    fn thinks(&self) -> Option<Thinking> {
        None
    }
}

/// The model of an agent that thinks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Thinking {
    /// The model, if its price is unknown.
    pub unpriced: Option<String>,
}

/// A piece of work for an agent.
#[derive(Clone, Debug, PartialEq)]
pub enum Work {
    /// Get ready. Comes once, before everything else.
    Start,
    Task(WireTask),
    /// Mail that came while there was nothing to do.
    Mail(Vec<MessageIn>),
    /// Go on with a task after an interruption.
    Resume {
        task: WireTask,
        /// The mail since then.
        mail: Vec<MessageIn>,
    },
    /// Get ready to end, or refuse.
    Shutdown {
        reason: String,
    },
}

/// How a piece of work ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TurnOutcome {
    Completed {
        result: String,
        /// The result in a few words.
        summary: Option<String>,
    },
    Failed {
        reason: String,
    },
    /// The task failed, and trying again would not help.
    Hopeless {
        reason: String,
    },
    /// Another member should do the task.
    GaveBack {
        reason: String,
    },
    /// There is nothing to report, or the agent has told the board itself.
    Done,
    /// The turn was interrupted. The member keeps its task, and continues with the next mail.
    Interrupted,
    /// The agent refuses to end now.
    Refused {
        reason: String,
    },
}
