//! The keys `model`, `models`, `permissions` and `limits`: the model of the built-in agent, and what it may do.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

/// A model under a name of one's own.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
#[schemars(deny_unknown_fields)]
pub struct ModelConfig {
    /// How it is spoken to: `anthropic`, `openai` (also Ollama, vLLM, OpenRouter and others, with `baseUrl`) or `gemini`.
    pub provider: Option<String>,
    /// Its name there; the name of this entry unless said otherwise.
    pub model: Option<String>,
    /// Where it is, such as `http://localhost:11434/v1`.
    pub base_url: Option<String>,
    /// The variable of the environment that its key is in.
    pub api_key_variable: Option<String>,
    /// A command that prints its key.
    pub api_key_command: Option<String>,
    /// How many tokens it can take in.
    pub context_window: Option<u64>,
    /// How many tokens it may say at once.
    pub max_tokens: Option<u32>,
    /// How many tokens it may think before it speaks.
    pub thinking: Option<u32>,
    /// What a million tokens cost.
    pub price: Option<PriceConfig>,
}

/// What a million tokens cost, in dollars.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
#[schemars(deny_unknown_fields)]
pub struct PriceConfig {
    /// Read.
    pub input: f64,
    /// Read from what the API kept at hand; as `input` unless said otherwise.
    pub cache_read: Option<f64>,
    /// Read, and kept at hand; as `input` unless said otherwise.
    pub cache_write: Option<f64>,
    /// Said.
    pub output: f64,
}

/// What the built-in agent may do, as rules such as `Bash(git status:*)`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default)]
pub struct PermissionsConfig {
    /// Without asking.
    pub allow: Vec<String>,
    /// Never.
    pub deny: Vec<String>,
    /// Only after asking.
    pub ask: Vec<String>,
}

/// How much one piece of work of the built-in agent may cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(deny_unknown_fields)]
pub struct LimitsConfig {
    /// How often the model is asked; 200 unless said otherwise.
    pub rounds: Option<u32>,
    /// How many tokens.
    pub tokens: Option<u64>,
    /// How much money, where the price is known.
    pub dollars: Option<f64>,
}

/// Models that a person describes, by name.
pub type Models = BTreeMap<String, ModelConfig>;
