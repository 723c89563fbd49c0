//! `troop observe`

use std::{net::SocketAddr, path::PathBuf};

use clap::Args;

#[derive(Clone, Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a separate flag")]
pub(crate) struct ObserveArgs {
    /// Claude Code's stream-json, a session's transcript, or with --follow a folder of them [default: standard input]
    pub(crate) file: Option<PathBuf>,
    /// Keep reading as the file grows; of a folder, the newest session, and newer ones when they begin
    #[arg(long, short, requires = "file")]
    pub(crate) follow: bool,
    /// Wait for an agent that connects with --sdk-url, and send it standard input
    #[arg(long, value_name = "ADDRESS", value_parser = super::listen_address, conflicts_with = "file")]
    pub(crate) listen: Option<SocketAddr>,
    /// Keep what is known in this file, and continue from it
    #[arg(long, value_name = "FILE")]
    pub(crate) state: Option<PathBuf>,
    /// Print only the final state, as JSON
    #[arg(long, conflicts_with_all = ["watch", "pass_through", "json"])]
    pub(crate) state_json: bool,
    /// Show the team on the screen while it works
    #[arg(long, conflicts_with_all = ["pass_through", "json"])]
    pub(crate) watch: bool,
    /// Pass the stream on, byte for byte, with messages about the team added
    #[arg(long, conflicts_with = "json")]
    pub(crate) pass_through: bool,
    /// List the supported sources and what can be seen in each
    #[arg(long, conflicts_with_all = ["file", "listen", "state"])]
    pub(crate) capabilities: bool,
}
