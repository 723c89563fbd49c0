//! How a built-in agent is set up.

use troop_protocol::Gate;

use super::{
    limits::{Price, WorkLimits},
    model::{Endpoint, ModelError, RequestPolicy},
    servers::{McpServer, McpTimeouts},
};
use crate::{ContextSources, Rule, Rules};

/// How a built-in agent is set up.
#[derive(Clone, Debug)]
pub struct BuiltinOptions {
    pub endpoint: Endpoint,
    pub key: KeySource,
    pub requests: RequestPolicy,
    pub size: ModelSize,
    /// How much one piece of work may cost.
    pub limits: WorkLimits,
    /// The price of the model, if it is known.
    pub price: Option<Price>,
    pub rights: ToolRights,
    /// Where it finds the files that a project has for agents.
    pub sources: ContextSources,
    pub servers: Vec<McpServer>,
    pub server_timeouts: McpTimeouts,
    /// The text of its definition.
    pub about: String,
    /// The profile of the project. Only leads get it.
    pub profile: String,
    /// Whether it has the tools of its team.
    pub gate: Gate,
}

/// Where the key of a model comes from, and who must not get it.
#[derive(Clone, Debug, Default)]
pub struct KeySource {
    /// The environment variable that holds it.
    pub variable: Option<String>,
    /// The command that prints it, if the endpoint has none yet.
    pub command: Option<String>,
    /// Environment variables that no command and no MCP server gets, because they hold keys.
    pub hidden: Vec<String>,
}

/// How many tokens a model takes.
#[derive(Clone, Copy, Debug)]
pub struct ModelSize {
    /// For a request and its reply together.
    pub window: u64,
    /// For one reply.
    pub max_tokens: u32,
}

/// The limits of an agent's tools.
#[derive(Clone, Debug, Default)]
pub struct ToolRights {
    pub rules: Rules,
    /// The only tools that it has, and for what; none if it has all.
    pub only: Option<Vec<Rule>>,
}

impl BuiltinOptions {
    /// The defaults for a model.
    #[must_use]
    pub fn new(endpoint: Endpoint) -> Self {
        let variable = endpoint.api.key_variable().to_owned();
        let hidden = vec![variable.clone()];
        Self {
            endpoint,
            key: KeySource { variable: Some(variable), command: None, hidden },
            requests: RequestPolicy::default(),
            size: ModelSize { window: 200_000, max_tokens: 16_000 },
            limits: WorkLimits::default(),
            price: None,
            rights: ToolRights::default(),
            sources: ContextSources::default(),
            servers: Vec::new(),
            server_timeouts: McpTimeouts::default(),
            about: String::new(),
            profile: String::new(),
            gate: Gate::Open,
        }
    }

    /// How many tokens a request may have, so that thinking and reply still fit into the window.
    pub(crate) fn room(&self) -> u64 {
        let thinking = self.endpoint.thinking.unwrap_or_default();
        self.size.window.saturating_sub(u64::from(self.size.max_tokens) + u64::from(thinking))
    }

    /// Why the model cannot be asked, if instructions and tools alone take most of its window.
    pub(crate) fn too_small_for(&self, n_before: usize) -> Option<String> {
        // Our own texts have nearly four bytes per token.
        let n_tokens = n_before as u64 / 4;
        let window = self.size.window;
        (n_tokens * 2 > self.room()).then(|| {
            format!(
                "the window of the model `{}` has {window} tokens, and instructions and tools alone need {n_tokens}: use a model \
                 with a larger window, or correct `contextWindow` in `models` of `config.json`",
                self.endpoint.model
            )
        })
    }

    /// An error, with what to do about it.
    pub(crate) fn told(&self, error: &ModelError) -> String {
        let Some(hint) = self.hint(error) else { return error.to_string() };
        format!("{error}; {hint}")
    }

    fn hint(&self, error: &ModelError) -> Option<String> {
        match error {
            ModelError::Key { .. } => Some(self.key_hint()),
            ModelError::Refused { status: 404, .. } => Some(format!(
                "is `{}` a model of `{}`?",
                self.endpoint.model, self.endpoint.base_url
            )),
            ModelError::Busy { retry_after: Some(wait), .. }
                if *wait > self.requests.retries.longest_asked =>
            {
                Some(format!(
                    "the API wants a pause of {} minutes, longer than troop waits: continue after that",
                    wait.as_secs().div_ceil(60)
                ))
            }
            ModelError::Lost { .. } => Some(format!("is `{}` right?", self.endpoint.base_url)),
            ModelError::Foreign { .. } => {
                let Endpoint { api, base_url, .. } = &self.endpoint;
                Some(format!(
                    "is `{base_url}` right for the provider `{api}`? Compatible APIs of others often end with `/v1`"
                ))
            }
            ModelError::BadUrl { .. }
            | ModelError::Refused { .. }
            | ModelError::TooLong { .. }
            | ModelError::Busy { .. }
            | ModelError::Senseless { .. } => None,
        }
    }

    fn key_hint(&self) -> String {
        let model = &self.endpoint.model;
        match (&self.key.command, &self.key.variable) {
            (Some(command), _) if self.endpoint.key.is_none() => {
                format!("let `{command}` print a key that may use `{model}`")
            }
            (_, Some(variable)) => format!("set `{variable}` to a key that may use `{model}`"),
            (_, None) => {
                format!("set `apiKeyVariable` or `apiKeyCommand` for `{model}` in `models`")
            }
        }
    }
}
