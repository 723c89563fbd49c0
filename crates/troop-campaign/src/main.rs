//! `campaign`: holds trials for a while and says how they went. `cargo xtask campaign` runs it.

use std::{path::PathBuf, process::ExitCode, time::Duration};

use anyhow::{Context as _, Result, bail};
use troop_campaign::{
    Backend, CampaignEnd, CampaignTally, Machine, Mix, Options, TrialKind, Violation, lead, run,
};
use troop_runtime::Clock;

const USAGE: &str = "usage: campaign --troop PROGRAM [--minutes N] [--seed S] [--store sqlite|files|postgres] \
                     [--kind KIND,...] [--at-once N] [--trials N | --trial N] [--report FILE]";
const MINUTES: u64 = 10;
/// How many trials must run in that time.
const N_TRIALS: u64 = 200;
const AT_ONCE: usize = 4;

fn main() -> ExitCode {
    match begin() {
        Ok(code) => code,
        Err(error) => {
            say(&format!("error: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

fn begin() -> Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut arguments = std::env::args().skip(1).peekable();
    if arguments.peek().is_some_and(|it| it == "lead") {
        runtime.block_on(lead::run())?;
        return Ok(ExitCode::SUCCESS);
    }
    runtime.block_on(hold(CampaignArguments::parse(arguments)?))
}

async fn hold(arguments: CampaignArguments) -> Result<ExitCode> {
    let folder = tempfile::Builder::new().prefix("campaign-").tempdir()?;
    let options = Options {
        troop: arguments.troop.canonicalize().context("the program `troop` is not there")?,
        lead: vec![std::env::current_exe()?.into(), "lead".into()],
        seed: arguments.seed,
        mix: Mix { kinds: arguments.kinds, backends: arguments.backends },
        folder: folder.path().to_owned(),
        n_at_once: arguments.n_at_once,
        first: arguments.trial.unwrap_or_default(),
        until: match arguments.trial.map(|_| 1).or(arguments.n_trials) {
            Some(n_trials) => CampaignEnd::Trials(n_trials),
            None => CampaignEnd::Elapsed(Duration::from_secs(60 * arguments.minutes)),
        },
    };
    say(&format!("seed {}", options.seed));
    let machine = Machine::look(folder.path()).await;
    machine.lacks().into_iter().for_each(say);
    let tally = run(options, tell).await?;
    let text = report(&tally, arguments.seed, machine);
    say(&text);
    if let Some(file) = arguments.report {
        std::fs::write(file, text)?;
    }
    if !tally.violations.is_empty() {
        // The remains of the trials are needed.
        say(&format!("kept in {}", folder.keep().display()));
        return Ok(ExitCode::FAILURE);
    }
    let is_timed = arguments.trial.is_none() && arguments.n_trials.is_none();
    if is_timed && arguments.minutes >= MINUTES && tally.n_trials() < N_TRIALS {
        bail!("there were only {} trials; {N_TRIALS} are wanted", tally.n_trials());
    }
    Ok(ExitCode::SUCCESS)
}

fn tell(violation: &Violation) {
    let Violation { trial, kind, what, folder } = violation;
    let what: Vec<_> = what.iter().map(|it| format!("\n  {it}")).collect();
    say(&format!("trial {trial} ({kind}), kept in {}:{}", folder.display(), what.concat()));
}

fn report(tally: &CampaignTally, seed: u64, machine: Machine) -> String {
    let day = Clock::system().now().to_string();
    let day = day.split('T').next().unwrap_or_default();
    let minutes = tally.elapsed.as_secs_f64() / 60.0;
    let lacks: Vec<_> = machine.lacks().iter().map(|it| format!(" {it}")).collect();
    let lacks = lacks.concat();
    format!("{day}, seed {seed}, {minutes:.1} minutes.{lacks}\n\n{}", tally.tables())
}

#[derive(Debug)]
struct CampaignArguments {
    troop: PathBuf,
    minutes: u64,
    seed: u64,
    kinds: Vec<TrialKind>,
    backends: Vec<Backend>,
    n_at_once: usize,
    /// How many trials there are, instead of a time.
    n_trials: Option<u64>,
    /// The one trial to hold.
    trial: Option<u64>,
    report: Option<PathBuf>,
}

impl CampaignArguments {
    fn parse(mut words: impl Iterator<Item = String>) -> Result<Self> {
        let mut given = Self {
            troop: PathBuf::new(),
            minutes: MINUTES,
            seed: Clock::system().now().as_micros().unsigned_abs(),
            kinds: TrialKind::mix(),
            backends: Backend::ALL.to_vec(),
            n_at_once: AT_ONCE,
            n_trials: None,
            trial: None,
            report: None,
        };
        while let Some(flag) = words.next() {
            let value = words.next().with_context(|| format!("`{flag}` needs a value; {USAGE}"))?;
            match flag.as_str() {
                "--troop" => given.troop = value.into(),
                "--minutes" => given.minutes = value.parse()?,
                "--seed" => given.seed = value.parse()?,
                "--kind" => {
                    given.kinds = TrialKind::parse(&value)?;
                }
                "--store" => given.backends = vec![value.parse()?],
                "--at-once" => given.n_at_once = value.parse()?,
                "--trials" => given.n_trials = Some(value.parse()?),
                "--trial" => given.trial = Some(value.parse()?),
                "--report" => given.report = Some(value.into()),
                _ => bail!("there is no `{flag}`; {USAGE}"),
            }
        }
        Ok(given)
    }
}

#[expect(clippy::print_stderr, reason = "the one place of this program that prints")]
fn say(text: &str) {
    eprintln!("{text}");
}
