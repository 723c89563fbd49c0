//! Command lines that send messages, and programs that take them out of an inbox.

use troop_model::{Actor, Command, MemberName, Outgoing, Party};
use uuid::Uuid;

use super::SimulatedMirror;
use crate::{board::SimulatedBoard, process::ProcessSeat};

/// The recipients of mail.
pub(crate) const RECIPIENT: &str = "ann";
/// How long it is until the next message, in microseconds.
const PAUSE: u64 = 5_000;

/// A few commands `troop message send`, one after the other.
pub(crate) async fn sender(seat: ProcessSeat) {
    let Ok(name) = seat.name.parse::<MemberName>() else { return };
    for nth in 0..=seat.world.plan.n_tasks {
        let board = SimulatedBoard::open(&seat).await;
        let mut mirror = SimulatedMirror::new(&seat, board);
        mirror.pass().await;
        let send = Command::Send(Outgoing::message(RECIPIENT, format!("{name} says {nth}")));
        if mirror.board.give(Actor::agent(&name), send).await.is_ok() {
            seat.count("a message was sent");
            mirror.pass().await;
        }
        seat.sleep(PAUSE).await;
    }
}

/// A program of the recipient: it shows each message, and then takes its file away.
pub(crate) async fn reader(seat: ProcessSeat) {
    let Ok(name) = RECIPIENT.parse::<MemberName>() else { return };
    let reader = Party::member(&name);
    let folder = format!("inbox/{RECIPIENT}/");
    let mut n_looks = 0;
    while n_looks < 3 || seat.world.n_workers.get() > 0 {
        seat.boundary().await;
        let there = seat.world.disk.borrow().list(&folder);
        n_looks = if there.is_empty() { n_looks + 1 } else { 0 };
        for letter in there {
            let id = letter.strip_prefix("msg-").and_then(|it| it.strip_suffix(".json"));
            let Some(id) = id.and_then(|it| it.parse::<Uuid>().ok()) else { continue };
            let path = format!("{folder}{letter}");
            seat.boundary().await;
            if seat.world.disk.borrow().read(&path).is_none() {
                continue;
            }
            seat.world.judge.borrow_mut().showed(reader.clone(), id);
            seat.count("a message was shown");
            seat.tell(|| format!("shows {path}"));
            seat.boundary().await;
            seat.world.disk.borrow_mut().remove(&path);
        }
        seat.sleep(PAUSE).await;
    }
}
