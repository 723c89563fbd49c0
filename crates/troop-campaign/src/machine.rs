//! The abilities of the machine. A campaign leaves out faults that it cannot cause, and its report says so.

use std::path::Path;

use crate::{clock, disk};

/// The abilities of the machine that a plan may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Machine {
    /// Small disks can be mounted, to be filled.
    pub can_mount: bool,
    /// Processes can be given a clock that jumps.
    pub can_shift_clocks: bool,
}

impl Machine {
    /// Tries what it can do.
    pub async fn look(folder: &Path) -> Self {
        let can_mount = disk::can_mount(folder).await;
        let can_shift_clocks = clock::library().is_some();
        Self { can_mount, can_shift_clocks }
    }

    /// One sentence for each part of a campaign that is left out here.
    #[must_use]
    pub fn lacks(self) -> Vec<&'static str> {
        let disks = (!self.can_mount).then_some("No disk was full: that needs root.");
        let clocks = (!self.can_shift_clocks).then_some("No clock jumped: that needs libfaketime.");
        disks.into_iter().chain(clocks).collect()
    }
}
