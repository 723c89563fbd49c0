//! Tests of a running lead: its board and wires are real, its members are scripted by the tests.

mod branches;
mod breaking;
mod budget;
mod conversations;
mod delegations;
mod files;
mod hanging;
mod hooks;
mod isolation;
mod late;
mod loose;
mod mail;
mod processes;
mod recovery;
mod shared;
mod socket;
mod stage;
mod starting;
mod stopping;
mod takeover;
mod turns;
mod work;

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering::SeqCst},
};

use troop_model::{Status, TaskNumber};

use self::stage::{Play, worker};

fn is_done(number: u32) -> impl Fn(&troop_model::State) -> Option<()> + Clone + Send + 'static {
    move |state| {
        let status = state.tasks().status(TaskNumber(number))?;
        (status == Status::Completed).then_some(())
    }
}

/// A worker whose first run plays differently.
fn at_first(first: Play) -> Play {
    let (n_runs, later) = (Arc::new(AtomicU32::new(0)), worker());
    Arc::new(move |part| if n_runs.fetch_add(1, SeqCst) == 0 { first(part) } else { later(part) })
}
