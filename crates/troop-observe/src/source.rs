//! Where streams come from, and what each source can show.

use serde::Serialize;

/// The source of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum StreamSource {
    /// Claude Code's `--output-format stream-json`, from a pipe or a file.
    ClaudeStream,
    /// A session's transcript, `~/.claude/projects/**.jsonl`.
    Transcript,
    /// Claude Code that dials in with `--sdk-url`.
    SdkUrl,
    /// Messages as the Agent SDK hands them out.
    AgentSdk,
    /// An agent that speaks the Agent Client Protocol.
    Acp,
    Codex,
}

/// The capabilities of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Capabilities {
    /// Whether its stream shows teams.
    pub teams: bool,
    /// Whether it shows events as they happen.
    pub live: bool,
    /// Whether it contains what happened before the observer connected.
    pub history: bool,
}

impl StreamSource {
    pub const ALL: [Self; 6] = [
        Self::ClaudeStream,
        Self::Transcript,
        Self::SdkUrl,
        Self::AgentSdk,
        Self::Acp,
        Self::Codex,
    ];

    #[must_use]
    pub const fn capabilities(self) -> Capabilities {
        let (teams, live, history) = match self {
            Self::ClaudeStream | Self::SdkUrl | Self::AgentSdk => (true, true, false),
            Self::Transcript => (true, true, true),
            Self::Acp | Self::Codex => (false, true, false),
        };
        Capabilities { teams, live, history }
    }

    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ClaudeStream => "claude-stream",
            Self::Transcript => "transcript",
            Self::SdkUrl => "sdk-url",
            Self::AgentSdk => "agent-sdk",
            Self::Acp => "acp",
            Self::Codex => "codex",
        }
    }
}
