//! Where streams come from, and what can be seen in them.

use serde::Serialize;

/// What a stream comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    /// Claude Code's `--output-format stream-json`, from a pipe or a file.
    ClaudeStream,
    /// A session's transcript, `~/.claude/projects/**.jsonl`.
    Transcript,
    /// Claude Code that dials in with `--sdk-url`.
    SdkUrl,
    /// Messages as the Agent SDK hands them out.
    AgentSdk,
    /// An agent behind the Agent Client Protocol.
    Acp,
    /// Codex.
    Codex,
}

/// What can be seen of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Capabilities {
    /// Whether its stream tells of teams.
    pub teams: bool,
    /// Whether it tells of things as they happen.
    pub live: bool,
    /// Whether what was said before somebody looked is there too.
    pub history: bool,
}

impl Source {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::ClaudeStream,
        Self::Transcript,
        Self::SdkUrl,
        Self::AgentSdk,
        Self::Acp,
        Self::Codex,
    ];

    /// What can be seen of it.
    #[must_use]
    pub const fn capabilities(self) -> Capabilities {
        let (teams, live, history) = match self {
            Self::ClaudeStream | Self::SdkUrl | Self::AgentSdk => (true, true, false),
            Self::Transcript => (true, true, true),
            Self::Acp | Self::Codex => (false, true, false),
        };
        Capabilities { teams, live, history }
    }

    /// Its name.
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
