//! What each command does: one file for each noun.

pub(crate) mod bench;
mod demo;
mod doctor;
mod events;
mod export;
mod log;
mod mcp;
mod member;
mod message;
mod mirror;
mod observe;
mod profile;
mod proof;
mod resume;
mod run;
mod settings;
mod stop;
mod task;
mod team;
mod trust;
mod workspace;

use std::io::Read as _;

use anyhow::{Context as _, Result};
use troop_runtime::Following;
use troop_store::Missing;

use crate::{
    cli::{Cli, Command, MemberCommand, TaskCommand, TeamCommand},
    config::{self, Starter, Surroundings},
    desk::Desk,
    output::Printer,
    report::{Hint, HintCommand, Refused, Usage},
};

/// Carries out a command.
pub(crate) async fn run(cli: Cli, surroundings: Surroundings, printer: &Printer) -> Result<()> {
    if let Command::Doctor { rescue } = &cli.command {
        let care = if *rescue { doctor::Care::Rescue } else { doctor::Care::Look };
        return doctor::run(&cli.global, surroundings, care, printer).await;
    }
    if let Command::Profile(args) = &cli.command {
        return Box::pin(profile::run(args, &cli.global, surroundings, printer)).await;
    }
    if let Command::Observe(args) = &cli.command {
        return observe::run(args, printer).await;
    }
    if let Command::Trust(args) = &cli.command {
        if let Some(starter) = Starter::find()? {
            let message =
                format!("`{}` runs this, but only a person can trust a project", starter.member);
            let ask = HintCommand::troop("message send").word(troop_model::USER).text("…");
            return Err(Refused::forbidden(message, Hint::to("ask the user", ask)).into());
        }
        return trust::run(args, &surroundings, printer);
    }
    // A client is served all the same: it is shown no tools.
    let is_served = matches!(cli.command, Command::Mcp(_));
    if let Some(off) = surroundings.teams.off.as_ref().filter(|_| !is_served) {
        let hint = format!("switch them on: {}", off.fix);
        return Err(Refused::new(format!("teams are switched off by {}", off.by), hint).into());
    }
    let makes_a_team = missing(&cli.command) == Missing::Make;
    let leads = makes_a_team || matches!(cli.command, Command::Resume(_) | Command::Demo(_));
    if leads && config::is_teammate() {
        let ask = HintCommand::troop("message send").word("lead").text("…");
        let hint = Hint::to("ask the lead", ask);
        return Err(Refused::new("a teammate can neither create nor lead a team", hint).into());
    }
    if let Command::Demo(args) = &cli.command {
        return Box::pin(demo::run(args, &cli.global, surroundings.user, printer)).await;
    }
    let (following, missing) = (following(&cli.command), missing(&cli.command));
    let mut desk = Desk::open(&cli.global, surroundings, following, missing).await?;
    let result = match cli.command {
        Command::Team(command) => team::run(command, &mut desk, printer).await,
        Command::Member(command) => member::run(command, &mut desk, printer).await,
        Command::Task(command) => task::run(command, &mut desk, printer).await,
        Command::Message(command) => message::run(command, &mut desk, printer).await,
        Command::Workspace(command) => workspace::run(command, &mut desk, printer).await,
        Command::Events(args) => events::run(&args, &mut desk, printer).await,
        Command::Run(args) => run::run(args, &mut desk, printer).await,
        Command::Resume(args) => resume::run(args, &mut desk, printer).await,
        Command::Stop(args) => stop::run(&args, &mut desk, printer).await,
        Command::Log(args) => log::run(&args, &mut desk, printer).await,
        Command::Mcp(args) => Box::pin(mcp::run(&args, &mut desk, printer)).await,
        Command::Demo(_)
        | Command::Observe(_)
        | Command::Trust(_)
        | Command::Doctor { .. }
        | Command::Profile(_)
        | Command::Bench { .. }
        | Command::Completions { .. } => Ok(()),
    };
    desk.close().await;
    result
}

/// Only what waits for others must keep up with them.
fn following(command: &Command) -> Following {
    #[expect(clippy::wildcard_enum_match_arm, reason = "most commands look once")]
    let waits = match command {
        Command::Events(args) => args.follow,
        Command::Task(TaskCommand::Claim { wait, .. } | TaskCommand::Delegate { wait, .. }) => {
            wait.is_some()
        }
        Command::Member(MemberCommand::Spawn { .. }) => true,
        Command::Team(TeamCommand::Mirror { once, .. }) => !once,
        Command::Run(_) | Command::Resume(_) | Command::Stop(_) => true,
        Command::Mcp(args) => args.command.is_none(),
        _ => false,
    };
    if waits { Following::Always } else { Following::WhenAsked }
}

/// Only what makes a team may make the store for it: any other command on a missing store has mistyped its name.
fn missing(command: &Command) -> Missing {
    let makes_a_team = matches!(
        command,
        Command::Run(_) | Command::Team(TeamCommand::Create { .. } | TeamCommand::Import { .. })
    );
    if makes_a_team { Missing::Make } else { Missing::Refuse }
}

/// A text as given, or standard input where it is `-`.
fn given(text: String) -> Result<String> {
    if text != "-" {
        return Ok(text);
    }
    let mut bytes = Vec::new();
    std::io::stdin().read_to_end(&mut bytes).context("standard input cannot be read")?;
    let Ok(text) = String::from_utf8(bytes) else {
        let hint = "convert it first, for example with `iconv -f latin1 -t utf-8`";
        return Err(Usage::new("standard input is not UTF-8 text", hint).into());
    };
    Ok(text.replace("\r\n", "\n").trim_end_matches('\n').to_owned())
}
