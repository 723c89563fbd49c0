//! Teams that other programs run: reads their streams, keeps what is known across runs, and tells what happens.
//!
//! `troop-observe` has the rules and does no I/O; this is its rim.

mod keeper;
mod pieces;
mod sessions;
mod story;

pub use keeper::Keeper;
pub use pieces::{
    PieceReceiver, PieceSender, ReadPosition, StreamPiece, follow_file, follow_sessions, read_file,
    read_stream,
};
pub use sessions::SessionFolder;
pub use story::ObservedStory;
