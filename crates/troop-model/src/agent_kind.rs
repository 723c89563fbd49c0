//! The built-in agent kinds: one table of their traits, so that no crate compares keys.
//!
//! The table is in the lowest crate because the rules, the lead, the agents and the surfaces all use it. Agents that a project
//! or a person describes are not in it: they have their own keys.

/// The key of [`AgentKind::External`].
pub const EXTERNAL: &str = "external";

/// The prefix of a scripted agent's key: `script:FILE`.
const SCRIPT: &str = "script:";

/// A built-in agent kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AgentKind {
    /// Troop's own agent, on a model by API.
    Builtin,
    /// Claude Code.
    ClaudeCode,
    Codex,
    /// Any agent that speaks the Agent Client Protocol.
    Acp,
    /// Runs the text of a task as a command.
    Command,
    /// A program that troop does not start, and that shares files with the team.
    External,
    /// Follows a script.
    Script,
}

/// Whether troop starts an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AgentStart {
    Now,
    /// Known, so that a board can name it as a member's agent, but troop cannot start it yet.
    Later,
    /// Never: another program is the member.
    Elsewhere,
}

/// The traits of an agent kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AgentTraits {
    pub kind: AgentKind,
    pub key: &'static str,
    pub description: &'static str,
    pub start: AgentStart,
    pub can_lead: bool,
    /// Whether it can repair its work after a check failed. Others would only repeat it.
    pub can_repair: bool,
    /// Whether it uses a model, so that it costs money.
    pub thinks: bool,
}

impl AgentKind {
    /// The kind that hints propose for a new member: it needs no installation.
    pub const PROPOSED: Self = Self::Command;

    /// Every kind with its traits, in the order in which people see them.
    pub const TABLE: [AgentTraits; 7] = [
        AgentTraits {
            kind: Self::Builtin,
            key: "builtin",
            description: "troop's own agent, on a model by API",
            start: AgentStart::Now,
            can_lead: true,
            can_repair: true,
            thinks: true,
        },
        AgentTraits {
            kind: Self::ClaudeCode,
            key: "claude",
            description: "Claude Code",
            start: AgentStart::Later,
            can_lead: true,
            can_repair: true,
            thinks: true,
        },
        AgentTraits {
            kind: Self::Codex,
            key: "codex",
            description: "Codex",
            start: AgentStart::Later,
            can_lead: true,
            can_repair: true,
            thinks: true,
        },
        AgentTraits {
            kind: Self::Acp,
            key: "acp",
            description: "any agent that speaks the Agent Client Protocol",
            start: AgentStart::Later,
            can_lead: true,
            can_repair: true,
            thinks: true,
        },
        AgentTraits {
            kind: Self::Command,
            key: "command",
            description: "runs a task's command",
            start: AgentStart::Now,
            can_lead: false,
            can_repair: false,
            thinks: false,
        },
        AgentTraits {
            kind: Self::External,
            key: EXTERNAL,
            description: "a program that troop does not run, and that shares files with the team",
            start: AgentStart::Elsewhere,
            can_lead: true,
            can_repair: true,
            thinks: false,
        },
        AgentTraits {
            kind: Self::Script,
            key: "script",
            description: "follows a script, as `script:FILE`; for tests and demonstrations",
            start: AgentStart::Now,
            can_lead: true,
            can_repair: true,
            thinks: false,
        },
    ];

    /// The kind that a key names; none for an agent that a project or a person describes.
    #[must_use]
    pub fn of(key: &str) -> Option<Self> {
        if Self::script_file(key).is_some() {
            return Some(Self::Script);
        }
        Self::TABLE.iter().find(|it| it.key == key).map(|it| it.kind)
    }

    /// Whether a key names this kind.
    #[must_use]
    pub fn is(self, key: &str) -> bool {
        Self::of(key) == Some(self)
    }

    /// The script in a key like `script:FILE`.
    #[must_use]
    pub fn script_file(key: &str) -> Option<&str> {
        key.strip_prefix(SCRIPT)
    }

    #[must_use]
    pub fn traits(self) -> AgentTraits {
        let found = Self::TABLE.into_iter().find(|it| it.kind == self);
        found.expect("the table has every kind")
    }

    #[must_use]
    pub fn key(self) -> &'static str {
        self.traits().key
    }
}

/// Whether an agent can repair its work after a check failed. Described agents are assumed to.
#[must_use]
pub fn can_repair(agent: &str) -> bool {
    AgentKind::of(agent).is_none_or(|kind| kind.traits().can_repair)
}

#[cfg(test)]
mod tests {
    //! The table of agents.

    use super::{AgentKind, can_repair};

    #[test]
    fn every_agent_has_one_key_and_is_found_by_it() {
        for traits in AgentKind::TABLE {
            assert_eq!(AgentKind::of(traits.key), Some(traits.kind));
            assert_eq!(traits.kind.traits(), traits);
        }
        assert_eq!(AgentKind::of("script:a.script"), Some(AgentKind::Script));
        assert_eq!(AgentKind::of("reviewer"), None);
    }

    #[test]
    fn an_agent_that_only_runs_commands_cannot_repair_its_work() {
        assert!(!can_repair("command"));
        assert!(can_repair("builtin") && can_repair("script:a.script") && can_repair("reviewer"));
    }
}
