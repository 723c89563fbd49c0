//! The built-in agent's model, its key, and what the agent may do.

use std::path::Path;

use troop_agent::{
    ContextSources, Rules,
    builtin::{Api, BuiltinOptions, Endpoint, KeySource, ModelSize, Price, Secret, WorkLimits},
};
use troop_model::{AgentKind, Hint, HintCommand, HintOption};
use troop_protocol::Gate;

use crate::{
    surroundings::{ConfigFile, Environment, ModelConfig, PermissionsConfig, ThinkingConfig},
    trust,
};

/// The default model for each API, in the order in which keys are looked for.
const USUAL: [(Api, &str); 3] = [
    (Api::Anthropic, "claude-sonnet-4-5"),
    (Api::OpenAi, "gpt-5"),
    (Api::Gemini, "gemini-2.5-pro"),
];
/// Short names of models in agent definitions.
const SHORT: [(&str, &str); 3] =
    [("opus", "claude-opus-4-5"), ("sonnet", "claude-sonnet-4-5"), ("haiku", "claude-haiku-4-5")];
/// How the names of each API's models begin.
const BEGINNINGS: [(&str, Api); 7] = [
    ("claude", Api::Anthropic),
    ("gpt", Api::OpenAi),
    ("chatgpt", Api::OpenAi),
    ("o1", Api::OpenAi),
    ("o3", Api::OpenAi),
    ("o4", Api::OpenAi),
    ("gemini", Api::Gemini),
];

/// Why an agent cannot think, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThinkingFault {
    pub why: String,
    pub hint: Hint,
}

/// A local model, as it is written in a configuration file.
const LOCAL_MODEL: &str = "`\"models\": {\"mine\": {\"provider\": \"openai\", \"model\": \"qwen3\", \
                           \"baseUrl\": \"http://localhost:11434/v1\"}}, \"model\": \"mine\"`";
/// Where rules are written.
const RULES: &str = "it is in `permissions` of your `config.json`, or of the project's `.troop/config.json`, \
                     `.claude/settings.json` or `.claude/settings.local.json`";
const CONFIG: &str = "correct your `config.json`";

/// Looks up a variable of the environment.
type Variable<'a> = &'a dyn Fn(&str) -> Option<String>;

/// Where an agent's configuration is read: the person's folder, the project and the environment.
#[derive(Clone, Copy, Debug)]
pub struct ThinkingPlace<'a> {
    pub home: &'a Path,
    pub project: &'a Path,
    pub environment: &'a Environment,
}

impl ThinkingPlace<'_> {
    /// How an agent of this project asks the named model, or the default one. `servers` are the MCP servers that a person
    /// agreed to, see [`trust::allowed_servers`].
    pub fn options(
        &self,
        model: Option<&str>,
        servers: Option<&str>,
    ) -> Result<BuiltinOptions, ThinkingFault> {
        let Self { home, project, environment } = *self;
        let unfit = |hint: Hint| move |why: String| ThinkingFault { why, hint };
        let read = ThinkingConfig::read(home, project, environment);
        let read = read.map_err(|error| error.to_string());
        let ThinkingConfig { file: config, off } = read.map_err(unfit(CONFIG.into()))?;
        let variable = |name: &str| environment.variable(name);
        let mut options = choose(&config, model, &variable).map_err(unfit(how_to_choose()))?;
        options.rights.rules =
            rules(&config.permissions, &variable).map_err(unfit(RULES.into()))?;
        options.sources =
            ContextSources { project: Some(project.to_owned()), home: Some(home.to_owned()) };
        options.gate = off.map_or(Gate::Open, |off| Gate::Closed { by: off.by });
        let allow = Hint::from("correct the file").and_to(
            ", then ",
            "allow it",
            HintCommand::troop("trust"),
        );
        options.servers = trust::servers(project, servers, environment).map_err(unfit(allow))?;
        options.requests.seed = u64::from(std::process::id());
        Ok(options)
    }

    /// The default model of the built-in agent here, if there is one.
    #[must_use]
    pub fn default_model(&self) -> Option<String> {
        self.options(None, None).ok().map(|options| options.endpoint.model)
    }

    /// The agents that can lead here, and what each needs.
    #[must_use]
    pub fn how_to_lead(&self) -> Hint {
        let builtin = HintOption::new("agent", AgentKind::Builtin.key());
        let own = Hint::from("let the built-in agent lead: ");
        let own = match self.default_model() {
            Some(model) => own.and_option(builtin).and(format!(", which uses `{model}` here")),
            None => own.and_hint(how_to_think()).and(", then ").and_option(builtin),
        };
        let demo = HintCommand::troop("demo");
        own.and("; or a script: ")
            .and_option(HintOption::blank("agent", "script:FILE"))
            .and("; or your own program, which `.troop/agents/NAME.md` describes (`program: [python3, agent.py]`): ")
            .and_option(HintOption::blank("agent", "NAME"))
            .and_to("; ", "to see a team at work without any of these", demo)
    }
}

/// How to give the built-in agent a model, in short.
#[must_use]
pub fn how_to_think() -> Hint {
    let [first, others @ ..] = USUAL.map(|(api, _)| api.key_variable());
    let others = others.join("`, `");
    Hint::run(export(first)).and(format!(" (or `{others}`, or a local model: docs/builtin.md)"))
}

/// How to give the built-in agent a model, with an example of each way.
fn how_to_choose() -> Hint {
    Hint::from("for example: ")
        .and_run(export(Api::Anthropic.key_variable()))
        .and(", or a local model: ")
        .and(LOCAL_MODEL)
}

/// The command that sets the key of an API.
fn export(variable: &str) -> HintCommand {
    HintCommand::other("export").blank(format!("{variable}=…"))
}

/// Chooses the model with its key, price and limits.
fn choose(
    config: &ConfigFile,
    model: Option<&str>,
    variable: Variable<'_>,
) -> Result<BuiltinOptions, String> {
    let wanted = match model.or(config.model.as_deref()) {
        Some(wanted) => wanted.to_owned(),
        None => default_model(variable)?,
    };
    let (api, name, own) = find(config, &wanted)?;
    let base_url = own.base_url.clone().or_else(|| variable(base_variable(api)));
    let base_url = base_url.unwrap_or_else(|| api.base_url().to_owned());
    let is_original = base_url.trim_end_matches('/') == api.base_url();
    let named = named_key(&own, api);
    let key = named.and_then(variable).map(|key| Secret::new(&key)).filter(|key| !key.is_empty());
    let may_go_without = own.api_key_command.is_some() || named.is_none();
    if key.is_none() && !may_go_without && (is_original || own.api_key_variable.is_some()) {
        let name = named.unwrap_or_default();
        return Err(format!(
            "there is no key for the model `{wanted}`: set `{name}`, or `apiKeyCommand` in `models`"
        ));
    }
    let endpoint = Endpoint { api, base_url, model: name, key, thinking: own.thinking };
    let usual = BuiltinOptions::new(endpoint);
    let mut hidden: Vec<_> = USUAL.iter().map(|(api, _)| api.key_variable().to_owned()).collect();
    hidden.push("GOOGLE_API_KEY".to_owned());
    hidden.extend(config.models.values().filter_map(|it| it.api_key_variable.clone()));
    let limits = WorkLimits {
        rounds: config.limits.rounds.unwrap_or(usual.limits.rounds),
        tokens: config.limits.tokens,
        dollars: config.limits.dollars,
    };
    // The price of a model at its usual place applies under whatever name it is asked for.
    let is_same = |(key, it): &(&String, &ModelConfig)| {
        it.base_url.is_none() && it.model.as_ref().unwrap_or(key) == &usual.endpoint.model
    };
    let known = || config.models.iter().find(is_same).and_then(|(_, it)| it.price);
    let price = own.price.or_else(|| known().filter(|_| is_original)).map(|price| Price {
        input: price.input,
        cache_read: price.cache_read.unwrap_or(price.input),
        cache_write: price.cache_write.unwrap_or(price.input),
        output: price.output,
    });
    if let (Some(dollars), None) = (limits.dollars, price) {
        let name = &usual.endpoint.model;
        return Err(format!(
            "the price of the model `{name}` is unknown, so the limit of ${dollars} (`limits.dollars`) could not be kept: set what a \
             million tokens cost (`price` of `{name}` in `models` of `config.json`), or set `limits.tokens` instead"
        ));
    }
    let window = own.context_window.unwrap_or(usual.size.window);
    // A small model's replies must leave room for its input.
    let most = u32::try_from(window / 4).unwrap_or(u32::MAX);
    Ok(BuiltinOptions {
        key: KeySource { variable: named.map(str::to_owned), command: own.api_key_command, hidden },
        size: ModelSize {
            window,
            max_tokens: own.max_tokens.unwrap_or(usual.size.max_tokens.min(most)),
        },
        limits,
        price,
        ..usual
    })
}

/// The variable with a model's key: the model's own before its provider's. The provider's key never goes to another server.
fn named_key(own: &ModelConfig, api: Api) -> Option<&str> {
    let elsewhere =
        own.base_url.as_deref().is_some_and(|url| url.trim_end_matches('/') != api.base_url());
    match (&own.api_key_variable, &own.api_key_command) {
        (Some(variable), _) => Some(variable),
        (None, Some(_)) => None,
        (None, None) => (!elsewhere).then(|| api.key_variable()),
    }
}

/// How to set what a model costs.
#[must_use]
pub fn how_to_price(home: &Path, model: &str) -> Hint {
    let file = home.join("config.json");
    let set = format!(
        "set what a million tokens cost, in dollars: `\"models\": {{\"{model}\": {{\"price\": {{\"input\": 3, \
         \"output\": 15}}}}}}` in `{}` (0 for a local model); or limit tokens instead: ",
        file.display()
    );
    Hint::from(set).and_option(HintOption::new("set", "budget.tokens=2000000"))
}

/// The default model of the first API that has a key.
fn default_model(variable: Variable<'_>) -> Result<String, String> {
    let found = USUAL.iter().find(|(api, _)| variable(api.key_variable()).is_some());
    let names: Vec<_> = USUAL.iter().map(|(api, _)| format!("`{}`", api.key_variable())).collect();
    found.map(|(_, model)| (*model).to_owned()).ok_or_else(|| {
        format!(
            "the agent `builtin` has no model to use: set {} in the environment, or `model` in `config.json`",
            names.join(" or ")
        )
    })
}

/// The API of a model, its name there, and its own entry in the file.
fn find(config: &ConfigFile, wanted: &str) -> Result<(Api, String, ModelConfig), String> {
    if let Some(own) = config.models.get(wanted) {
        let name = own.model.as_deref().unwrap_or(wanted);
        let api = match &own.provider {
            Some(provider) => provider.parse()?,
            None => guess(name)?,
        };
        return Ok((api, name.to_owned(), own.clone()));
    }
    let none = ModelConfig::default();
    if let Some((provider, name)) = wanted.split_once('/')
        && let Ok(api) = provider.parse()
    {
        return Ok((api, name.to_owned(), none));
    }
    let short = SHORT.iter().find(|(short, _)| *short == wanted);
    let name = short.map_or(wanted, |(_, name)| name);
    Ok((guess(name)?, name.to_owned(), none))
}

fn guess(name: &str) -> Result<Api, String> {
    let found = BEGINNINGS.iter().find(|(beginning, _)| name.starts_with(beginning));
    found.map(|(_, api)| *api).ok_or_else(|| {
        format!(
            "the provider of the model `{name}` is unknown: write `anthropic/{name}`, `openai/{name}` or `gemini/{name}`, or \
             describe it in `models` of `config.json`"
        )
    })
}

/// The variable with an API's address.
fn base_variable(api: Api) -> &'static str {
    match api {
        Api::Anthropic => "ANTHROPIC_BASE_URL",
        Api::OpenAi => "OPENAI_BASE_URL",
        Api::Gemini => "GEMINI_BASE_URL",
    }
}

fn rules(config: &PermissionsConfig, variable: Variable<'_>) -> Result<Rules, String> {
    let home = variable("HOME").unwrap_or_default();
    let parse = |texts: &[String]| {
        // `~/` is the person's home folder, as an absolute path.
        let whole = |text: &String| text.replacen("(~/", &format!("(/{home}/"), 1);
        let rules =
            texts.iter().map(|text| whole(text).parse().map_err(|error| format!("{error}")));
        rules.collect::<Result<Vec<_>, String>>()
    };
    Ok(Rules { allow: parse(&config.allow)?, deny: parse(&config.deny)?, ask: parse(&config.ask)? })
}

#[cfg(test)]
mod tests;
