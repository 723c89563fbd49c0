//! How far the board has come with the commands of this lead. Its answer waits for the store, so it comes back as an input.

use troop_model::{State, Version};

use super::{input::LeadInput, post::Post};

/// How far the board has come with the commands of this lead.
#[derive(Debug, Default)]
pub(super) struct BoardProgress {
    n_given: u64,
    /// How many of them it had decided when it was last asked ...
    n_decided: u64,
    /// ... and the version of the log at that moment.
    version: Version,
    /// Whether it is being asked.
    is_asked: bool,
}

impl BoardProgress {
    /// A command is given to the board.
    pub(super) fn give(&mut self) {
        self.n_given += 1;
    }

    pub(super) fn n_given(&self) -> u64 {
        self.n_given
    }
}

impl Post {
    /// How many commands of this lead are decided and followed, as far as it knows.
    pub(super) fn n_followed(&self) -> u64 {
        let is_followed = self.progress.version <= self.state.version();
        if is_followed { self.progress.n_decided } else { 0 }
    }

    /// Whether all commands given so far are decided and followed.
    pub(super) fn has_followed_all(&self) -> bool {
        let BoardProgress { n_given, n_decided, version, .. } = self.progress;
        n_decided == n_given && version == self.state.version()
    }

    /// Asks the board how far it is, unless that answer, or the last event of it, is on its way already.
    pub(super) fn ask_progress(&mut self) {
        let BoardProgress { n_given, n_decided, version, is_asked } = self.progress;
        let is_coming = n_decided == n_given && version > self.state.version();
        if is_asked || is_coming {
            return;
        }
        self.progress.is_asked = true;
        let board = self.board.clone();
        self.background.spawn_input(async move {
            // The look queues behind all commands given so far.
            let version = board.look(State::version).await.ok();
            Some(LeadInput::Progress(n_given, version))
        });
    }

    /// The board has said how far it is; no version if it cannot be asked.
    pub(super) fn note_progress(&mut self, n_decided: u64, version: Option<Version>) {
        self.progress.is_asked = false;
        if let Some(version) = version {
            self.progress.n_decided = n_decided;
            self.progress.version = version;
        }
    }
}
