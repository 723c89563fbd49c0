//! `troop observe`

use std::{net::SocketAddr, path::PathBuf};

use clap::Args;

#[derive(Clone, Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub(crate) struct ObserveArgs {
    /// Claude Code's stream-json, or a session's transcript; standard input without it
    pub(crate) file: Option<PathBuf>,
    /// Go on as the file grows
    #[arg(long, short, requires = "file")]
    pub(crate) follow: bool,
    /// Wait here for an agent that dials in with --sdk-url; what comes on standard input is said to it
    #[arg(long, value_name = "ADDRESS", conflicts_with = "file")]
    pub(crate) listen: Option<SocketAddr>,
    /// Keep in this file what is known, and go on from there
    #[arg(long, value_name = "FILE")]
    pub(crate) state: Option<PathBuf>,
    /// Print what is known at the end as JSON, and nothing before
    #[arg(long, conflicts_with_all = ["watch", "pass_through", "json"])]
    pub(crate) state_json: bool,
    /// Show the team on the screen while it works
    #[arg(long, conflicts_with_all = ["pass_through", "json"])]
    pub(crate) watch: bool,
    /// Pass the stream on, byte for byte, with messages about the team added
    #[arg(long, conflicts_with = "json")]
    pub(crate) pass_through: bool,
    /// Show which sources there are and what can be seen of them
    #[arg(long, conflicts_with_all = ["file", "listen", "state"])]
    pub(crate) capabilities: bool,
}
