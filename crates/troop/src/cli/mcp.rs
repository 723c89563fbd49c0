//! `troop mcp`: the team for any agent that speaks MCP.

use std::net::SocketAddr;

use clap::{Args, Subcommand, ValueEnum};
use troop_app::mcp_client::McpClient;

use super::DialectArg;

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct McpArgs {
    #[command(subcommand)]
    pub(crate) command: Option<McpCommand>,
    /// Tool names to offer; those of the team if not given, or `board`
    #[arg(long, value_enum)]
    pub(crate) dialect: Option<DialectArg>,
    /// Serve streamable HTTP at a loopback address, such as `127.0.0.1:7007`, to clients that have the token
    #[arg(long, value_name = "ADDRESS", value_parser = super::listen_address)]
    pub(crate) listen: Option<SocketAddr>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum McpCommand {
    /// Add the server to a client's configuration; shows the change and asks first
    Install(InstallArgs),
}

#[derive(Debug, Args)]
pub(crate) struct InstallArgs {
    /// Client to configure
    #[arg(value_enum)]
    pub(crate) client: McpClientArg,
    /// Tool names to offer; those of the team if not given, or `board`
    #[arg(long, value_enum)]
    pub(crate) dialect: Option<DialectArg>,
    /// Do not ask
    #[arg(long, short)]
    pub(crate) yes: bool,
    /// Only print what would be written
    #[arg(long, conflicts_with = "yes")]
    pub(crate) print: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum McpClientArg {
    #[value(alias = "claude")]
    ClaudeCode,
    Codex,
    Gemini,
    Opencode,
    Cursor,
}

impl From<McpClientArg> for McpClient {
    fn from(client: McpClientArg) -> Self {
        match client {
            McpClientArg::ClaudeCode => Self::ClaudeCode,
            McpClientArg::Codex => Self::Codex,
            McpClientArg::Gemini => Self::Gemini,
            McpClientArg::Opencode => Self::Opencode,
            McpClientArg::Cursor => Self::Cursor,
        }
    }
}
