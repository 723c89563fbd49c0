//! The deciding halves of the product, open to tools that drive them without disk, git and processes: the simulator.
//!
//! These are the functions that the product itself runs, and not copies. Everything here is pure: it touches no file, no clock
//! and no board. It is no interface for anybody else, and changes with the product.

/// The board: from waiting commands to rulings.
pub mod board {
    pub use crate::board::rules::{CommandInLine, Ruling, decide_all, foresee};
}

/// The mirror: from what the board says, what was written last and what lies there, to steps and effects.
pub mod mirror {
    pub use crate::{
        disk::{DiskFile, Stamp},
        mirror::{
            Item, Settlement,
            difference::*,
            ids::{FileId, Ids},
            layout::*,
            operation::{anew, of_task as operation_of},
            rules::*,
            written::{TargetPlace, WrittenNote},
        },
    };
}

/// Isolation: from what git says to steps and effects.
pub mod isolation {
    pub use crate::isolation::{
        effect::{FileExchange, FolderEffect, IndexEffect, OldValue, RefMove, RepositoryEffect},
        names::{full, handed_in, task_branch, team_branch},
        rules::*,
    };
}

/// The lead: the order of a completion, and who gets which task.
pub mod lead {
    pub use crate::lead::{
        crew::facts::MemberFacts,
        policy::{
            asking::would_take,
            completion::*,
            unheard::{
                completion as unheard_completion, is_recorded, is_unheard, last_resort,
                open_attempts,
            },
            work::*,
        },
    };
}
