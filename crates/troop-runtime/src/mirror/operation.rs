//! Operation ids for what files say: the same content counts once, however often and by how many mirrors it is read.

use sha2::{Digest as _, Sha256};
use troop_model::{OperationId, Time};
use uuid::Uuid;

/// The operation for what was written at a time. Read again, it is the same.
pub(super) fn of(written_at: Time, now: Time, parts: &[&[u8]]) -> OperationId {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    }
    let digest: [u8; 32] = hash.finalize().into();
    let mut tail = [0; 16];
    tail.copy_from_slice(digest.split_at(16).0);
    let tail = u128::from_be_bytes(tail);
    // An operation from the future would make all others look old.
    let millis = u128::try_from(written_at.min(now).as_micros() / 1_000).unwrap_or(0);
    let bits = (millis << 80) | (tail & !(u128::MAX << 80));
    let versioned = (bits & !(0xf << 76)) | (0x7 << 76);
    OperationId(Uuid::from_u128((versioned & !(0b11 << 62)) | (0b10 << 62)))
}

/// Marks operations that the file of a task stands for, in the last bits of their ids. Such commands are given by a mirror that
/// has taken the file in, so that they need not wait for its lock.
const OF_FILE: u128 = 0x7461_736b;
const OF_FILE_MASK: u128 = 0xffff_ffff;

/// The operation for what the file of a task says.
pub fn of_task(written_at: Time, now: Time, parts: &[&[u8]]) -> OperationId {
    let bits = of(written_at, now, parts).0.as_u128();
    OperationId(Uuid::from_u128((bits & !OF_FILE_MASK) | OF_FILE))
}

/// Whether the file of a task stands for the operation.
pub(super) fn is_of_task(operation: OperationId) -> bool {
    operation.0.as_u128() & OF_FILE_MASK == OF_FILE
}

/// This operation with the current time, for one so old that the board has forgotten whether it was done.
pub fn anew(operation: OperationId, now: Time) -> OperationId {
    let millis = u128::try_from(now.as_micros() / 1_000).unwrap_or(0);
    let tail = operation.0.as_u128() & !(u128::MAX << 80);
    OperationId(Uuid::from_u128((millis << 80) | tail))
}

/// Whether two operations differ only in their time.
pub(super) fn is_same(one: OperationId, other: OperationId) -> bool {
    (one.0.as_u128() ^ other.0.as_u128()) << 48 == 0
}
