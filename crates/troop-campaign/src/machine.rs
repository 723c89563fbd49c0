//! The abilities of the machine. A campaign leaves out faults that it cannot cause, and its report says so.

use std::path::Path;

use crate::{clock, disk, memory, network};

/// The abilities of the machine that a plan may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "a machine can do each of these or not")]
pub struct Machine {
    /// Small disks can be mounted, to be filled.
    pub can_mount: bool,
    /// Processes can be given a clock that jumps.
    pub can_shift_clocks: bool,
    /// The memory of processes can be limited.
    pub can_limit_memory: bool,
    /// Processes can be on machines of their own, whose network is cut.
    pub can_connect_machines: bool,
}

impl Machine {
    /// Tries what it can do.
    pub async fn look(folder: &Path) -> Self {
        let can_mount = disk::can_mount(folder).await;
        let can_shift_clocks = clock::library().is_some();
        let can_limit_memory = memory::can_limit();
        let can_connect_machines = network::can_connect().await;
        Self { can_mount, can_shift_clocks, can_limit_memory, can_connect_machines }
    }

    /// One sentence for each part of a campaign that is left out here.
    #[must_use]
    pub fn lacks(self) -> Vec<&'static str> {
        let parts = [
            (self.can_mount, "No disk was full: that needs root."),
            (self.can_shift_clocks, "No clock jumped: that needs libfaketime."),
            (self.can_limit_memory, "No memory was limited: that needs root and control groups."),
            (self.can_connect_machines, "No machine was cut off: that needs root and `ip`."),
        ];
        parts.into_iter().filter_map(|(can, sentence)| (!can).then_some(sentence)).collect()
    }
}
