//! A part of the state that stays packed until it is used.

use std::sync::OnceLock;

use bytes::Bytes;
use serde::{Serialize, de::DeserializeOwned};

use crate::SnapshotError;

/// A value, or the bytes of a snapshot that hold it.
#[derive(Clone, Debug)]
pub(crate) struct PackedPart<T> {
    value: OnceLock<T>,
    bytes: Option<Bytes>,
}

impl<T: Serialize + DeserializeOwned + Default> PackedPart<T> {
    pub(crate) fn get(&self) -> &T {
        self.value.get_or_init(|| match &self.bytes {
            Some(bytes) => postcard::from_bytes(bytes).expect(
                "a snapshot that passed its checksum holds its parts as this format has them",
            ),
            None => T::default(),
        })
    }

    pub(crate) fn get_mut(&mut self) -> &mut T {
        self.get();
        self.value.get_mut().expect("`get` has just filled it")
    }

    /// The value, if it was used. An unused part has not changed.
    pub(crate) fn get_mut_if_used(&mut self) -> Option<&mut T> {
        self.value.get_mut()
    }

    /// Appends the packed value to a snapshot and returns its length.
    pub(crate) fn pack(&self, out: &mut Vec<u8>) -> usize {
        let start = out.len();
        match (self.value.get(), &self.bytes) {
            (None, Some(bytes)) => out.extend(bytes),
            _ => out.extend(
                postcard::to_stdvec(self.get()).expect("every part of a state can be packed"),
            ),
        }
        out.len() - start
    }
}

/// The packed parts of a snapshot, one after the other.
#[derive(Debug)]
pub(crate) struct SnapshotParts(pub(crate) Bytes);

impl SnapshotParts {
    /// The next part, of length `len`.
    pub(crate) fn next<T>(&mut self, len: usize) -> Result<PackedPart<T>, SnapshotError> {
        if len > self.0.len() {
            return Err(SnapshotError);
        }
        Ok(PackedPart { value: OnceLock::new(), bytes: Some(self.0.split_to(len)) })
    }

    /// Refuses bytes after the last part.
    pub(crate) fn finish(self) -> Result<(), SnapshotError> {
        if self.0.is_empty() { Ok(()) } else { Err(SnapshotError) }
    }
}

impl<T> Default for PackedPart<T> {
    fn default() -> Self {
        Self { value: OnceLock::new(), bytes: None }
    }
}

impl<T: Serialize + DeserializeOwned + Default + PartialEq> PartialEq for PackedPart<T> {
    fn eq(&self, other: &Self) -> bool {
        self.get() == other.get()
    }
}
