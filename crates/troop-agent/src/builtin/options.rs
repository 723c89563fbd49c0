//! How a built-in agent is set up.

use troop_protocol::Gate;

use super::{
    context::ContextSources,
    limits::{Price, WorkLimits},
    model::{Endpoint, HttpTimeouts, ModelError},
    permit::{Rule, Rules},
    retry::Retries,
    servers::{McpServer, McpTimeouts},
};

/// How a built-in agent is set up.
#[derive(Clone, Debug)]
pub struct BuiltinOptions {
    /// Which model it asks.
    pub endpoint: Endpoint,
    /// The variable of the environment that the key is in, if it is in one.
    pub key_variable: Option<String>,
    /// The command that prints the key, if there is none yet.
    pub key_command: Option<String>,
    /// How often it asks again.
    pub retries: Retries,
    /// How long it waits.
    pub patience: HttpTimeouts,
    /// How much one piece of work may cost.
    pub limits: WorkLimits,
    /// What the model costs, where that is known.
    pub price: Option<Price>,
    /// How many tokens the model can take in, with what it says.
    pub window: u64,
    /// How many tokens it may say at once.
    pub max_tokens: u32,
    /// What it may do without asking, and what not at all.
    pub rules: Rules,
    /// Variables of the environment that no command and no MCP server gets, because keys are in them.
    pub hidden: Vec<String>,
    /// Where it finds what a project tells its agents.
    pub sources: ContextSources,
    /// The MCP servers that it uses.
    pub servers: Vec<McpServer>,
    /// How long it waits for them.
    pub waits: McpTimeouts,
    /// What it is told about itself.
    pub about: String,
    /// What the project is made of, which it is told if it leads.
    pub profile: String,
    /// The tools that it may use, if not all, and for what.
    pub tools: Option<Vec<Rule>>,
    /// Whether it has the tools of its team, which its lead must know.
    pub gate: Gate,
    /// Spreads the waits of many.
    pub seed: u64,
}

impl BuiltinOptions {
    /// Everything as usual for this model.
    #[must_use]
    pub fn new(endpoint: Endpoint) -> Self {
        let variable = endpoint.api.key_variable().to_owned();
        let hidden = vec![variable.clone()];
        Self {
            endpoint,
            key_variable: Some(variable),
            key_command: None,
            retries: Retries::default(),
            patience: HttpTimeouts::default(),
            limits: WorkLimits::default(),
            price: None,
            window: 200_000,
            max_tokens: 16_000,
            rules: Rules::default(),
            hidden,
            sources: ContextSources::default(),
            servers: Vec::new(),
            waits: McpTimeouts::default(),
            about: String::new(),
            profile: String::new(),
            tools: None,
            gate: Gate::Open,
            seed: 0,
        }
    }

    /// How many tokens can be told, beside what the model may think and say.
    pub(crate) fn room(&self) -> u64 {
        let thinking = self.endpoint.thinking.unwrap_or_default();
        self.window.saturating_sub(u64::from(self.max_tokens) + u64::from(thinking))
    }

    /// Why nothing can be said to a model, if instructions and tools alone leave it hardly any room.
    pub(crate) fn too_small_for(&self, n_before: usize) -> Option<String> {
        // Nearly four bytes are a token in what we write ourselves.
        let (n_tokens, window) = (n_before as u64 / 4, self.window);
        (n_tokens * 2 > self.room()).then(|| {
            format!(
                "the model `{}` takes in {window} tokens, of which instructions and tools need {n_tokens}: use one with more, \
                 or say how many it takes in (`contextWindow` in `models` of `config.json`)",
                self.endpoint.model
            )
        })
    }

    /// What went wrong, with what to do about it.
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
                if *wait > self.retries.longest_asked =>
            {
                Some(format!(
                    "it wants to be asked again in {} minutes, and nobody waits for it here for so long: go on then",
                    wait.as_secs().div_ceil(60)
                ))
            }
            ModelError::Lost { .. } => Some(format!("is `{}` right?", self.endpoint.base_url)),
            ModelError::Foreign { .. } => {
                let Endpoint { api, base_url, .. } = &self.endpoint;
                Some(format!(
                    "is `{base_url}` right for the provider `{api}`? One of others often ends with `/v1`"
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
        match (&self.key_command, &self.key_variable) {
            (Some(command), _) if self.endpoint.key.is_none() => {
                format!("let `{command}` print a key that may use `{model}`")
            }
            (_, Some(variable)) => format!("set `{variable}` to a key that may use `{model}`"),
            (_, None) => {
                format!("say `apiKeyVariable` or `apiKeyCommand` for `{model}` in `models`")
            }
        }
    }
}
