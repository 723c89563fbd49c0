//! The keys `model`, `models`, `permissions` and `limits`: the model of the built-in agent, and what it may do.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

/// A model under your own name for it.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
#[schemars(deny_unknown_fields)]
pub struct ModelConfig {
    /// Its API: `anthropic`, `openai` (also Ollama, vLLM, OpenRouter and others, with `baseUrl`) or `gemini`.
    pub provider: Option<String>,
    /// Its name there; by default the name of this entry.
    pub model: Option<String>,
    /// The address of the API, such as `http://localhost:11434/v1`.
    pub base_url: Option<String>,
    /// The environment variable with its key.
    pub api_key_variable: Option<String>,
    /// A command that prints its key.
    pub api_key_command: Option<String>,
    /// The size of its context window, in tokens.
    pub context_window: Option<u64>,
    /// The most tokens in one reply.
    pub max_tokens: Option<u32>,
    /// The most tokens for thinking before a reply.
    pub thinking: Option<u32>,
    /// What a million tokens cost.
    pub price: Option<PriceConfig>,
}

/// What a million tokens cost, in dollars.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
#[schemars(deny_unknown_fields)]
pub struct PriceConfig {
    /// Input tokens.
    pub input: f64,
    /// Input tokens that were read from the API's cache; by default as `input`.
    pub cache_read: Option<f64>,
    /// Input tokens that were written to the API's cache; by default as `input`.
    pub cache_write: Option<f64>,
    /// Output tokens.
    pub output: f64,
}

/// What the built-in agent may do, as rules such as `Bash(git status:*)`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default)]
pub struct PermissionsConfig {
    /// Allowed without asking.
    pub allow: Vec<String>,
    /// Never allowed.
    pub deny: Vec<String>,
    /// Allowed only after asking.
    pub ask: Vec<String>,
}

/// How much the built-in agent may spend on one piece of work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(deny_unknown_fields)]
pub struct LimitsConfig {
    /// The most requests to the model; 200 by default.
    pub rounds: Option<u32>,
    /// The most tokens.
    pub tokens: Option<u64>,
    /// The most dollars, for models whose price is known.
    pub dollars: Option<f64>,
}

/// Models that a person describes, by name.
pub type Models = BTreeMap<String, ModelConfig>;
