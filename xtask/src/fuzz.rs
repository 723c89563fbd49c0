//! `cargo xtask fuzz`: runs the fuzz targets, which every test run tries for a moment, for longer.

use anyhow::{Context as _, Result, bail};

use crate::run;

/// How long each target runs by default.
const SECONDS: &str = "60";

pub(crate) fn run() -> Result<()> {
    let mut target = String::new();
    let mut seconds = None;
    let mut seed = None;
    let mut arguments = std::env::args().skip(2);
    while let Some(argument) = arguments.next() {
        let mut value = || -> Result<String> {
            let value = arguments.next().with_context(|| format!("`{argument}` needs a number"))?;
            value.parse::<u64>().with_context(|| format!("`{value}` is not a number"))?;
            Ok(value)
        };
        match argument.as_str() {
            "--seconds" => seconds = Some(value()?),
            "--seed" => seed = Some(value()?),
            name if !name.starts_with('-') && target.is_empty() => target = argument,
            _ => bail!("usage: cargo xtask fuzz [TARGET] [--seconds N] [--seed S]"),
        }
    }
    // A seed without a time is a single case.
    let seconds = seconds.or_else(|| seed.is_none().then(|| SECONDS.to_owned()));
    let mut environment = Vec::new();
    environment.extend(seconds.as_deref().map(|it| ("TROOP_FUZZ_SECONDS", it)));
    environment.extend(seed.as_deref().map(|it| ("TROOP_FUZZ_SEED", it)));
    let target = target.trim_start_matches("fuzz_");
    let filter = format!("test(/(^|::)fuzz_{target}/)");
    let nextest = ["nextest", "run", "--workspace", "--locked", "--profile", "fuzz", "-E", &filter];
    run::cargo_with(&environment, &nextest)
}
