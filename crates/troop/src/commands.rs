//! The commands, one file for each noun.

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
pub(crate) mod observe;
mod profile;
mod proof;
mod resume;
mod run;
mod stop;
mod task;
mod team;
mod trust;
mod workspace;

use std::io::Read as _;

use anyhow::{Context as _, Result};
use troop_app::{checkup::Care, surroundings::Surroundings, team::WhenOff};
use troop_runtime::Following;
use troop_store::Missing;

use crate::{
    cli::{Cli, CliCommand, MemberCommand, TaskSubcommand, TeamCommand},
    desk,
    output::Printer,
    report::Error,
};

/// Carries out a command.
pub(crate) async fn run(cli: Cli, surroundings: Surroundings, printer: &Printer) -> Result<()> {
    if let CliCommand::Doctor { rescue } = &cli.command {
        let care = if *rescue { Care::Rescue } else { Care::Look };
        return doctor::run(&surroundings, care, printer).await;
    }
    if let CliCommand::Profile(args) = &cli.command {
        return Box::pin(profile::run(args, surroundings, printer)).await;
    }
    if let CliCommand::Trust(args) = &cli.command {
        return trust::run(args, &surroundings, printer);
    }
    if let CliCommand::Demo(args) = &cli.command {
        return Box::pin(demo::run(args, surroundings, printer)).await;
    }
    let following = following(&cli.command);
    let missing = missing(&cli.command, &surroundings);
    // MCP clients are served anyway, but get no tools.
    let is_served = matches!(cli.command, CliCommand::Mcp(_));
    let when_off = if is_served { WhenOff::Open } else { WhenOff::Refuse };
    let mut desk = desk::open(surroundings, following, missing, when_off, printer).await?;
    let result = match cli.command {
        CliCommand::Team(command) => team::run(command, &mut desk, printer).await,
        CliCommand::Member(command) => member::run(command, &mut desk, printer).await,
        CliCommand::Task(command) => Box::pin(task::run(command, &mut desk, printer)).await,
        CliCommand::Message(command) => message::run(command, &mut desk, printer).await,
        CliCommand::Workspace(command) => workspace::run(command, &mut desk, printer).await,
        CliCommand::Events(args) => events::run(&args, &mut desk, printer).await,
        CliCommand::Run(args) => Box::pin(run::run(args, &mut desk, printer)).await,
        CliCommand::Resume(args) => Box::pin(resume::run(args, &mut desk, printer)).await,
        CliCommand::Stop(args) => stop::run(args, &mut desk, printer).await,
        CliCommand::Log(args) => log::run(&args, &mut desk, printer).await,
        CliCommand::Mcp(args) => Box::pin(mcp::run(&args, &mut desk, printer)).await,
        CliCommand::Demo(_)
        | CliCommand::Observe(_)
        | CliCommand::Trust(_)
        | CliCommand::Doctor { .. }
        | CliCommand::Profile(_)
        | CliCommand::Bench { .. }
        | CliCommand::Completions { .. } => Ok(()),
    };
    desk.close().await;
    result
}

/// Only commands that wait for others must follow what those write.
fn following(command: &CliCommand) -> Following {
    #[expect(clippy::wildcard_enum_match_arm, reason = "most commands look once")]
    let waits = match command {
        CliCommand::Events(args) => args.follow,
        CliCommand::Task(
            TaskSubcommand::Claim { wait, .. } | TaskSubcommand::Delegate { wait, .. },
        ) => wait.is_some(),
        CliCommand::Member(MemberCommand::Spawn { .. }) => true,
        CliCommand::Team(TeamCommand::Mirror { once, .. }) => !once,
        CliCommand::Run(_) | CliCommand::Resume(_) | CliCommand::Stop(_) => true,
        CliCommand::Mcp(args) => args.command.is_none(),
        _ => false,
    };
    if waits { Following::Always } else { Following::WhenAsked }
}

/// Only commands that make a team may make its store. For any other command, a missing store is a mistyped name.
fn missing(command: &CliCommand, surroundings: &Surroundings) -> Missing {
    #[expect(clippy::wildcard_enum_match_arm, reason = "few commands make a team")]
    let makes_a_team = match command {
        CliCommand::Run(_)
        | CliCommand::Team(TeamCommand::Create { .. } | TeamCommand::Import { .. }) => true,
        CliCommand::Mcp(args) => args.command.is_none() && surroundings.may_lack_team(),
        _ => false,
    };
    if makes_a_team { Missing::Make } else { Missing::Refuse }
}

/// A text from the command line, or standard input if it is `-`.
fn given(text: String) -> Result<String> {
    if text != "-" {
        return Ok(text);
    }
    let mut bytes = Vec::new();
    std::io::stdin().read_to_end(&mut bytes).context("standard input cannot be read")?;
    let Ok(text) = String::from_utf8(bytes) else {
        let hint = "convert it first, for example with `iconv -f latin1 -t utf-8`";
        return Err(Error::misuse("standard input is not UTF-8 text", hint).into());
    };
    Ok(text.replace("\r\n", "\n").trim_end_matches('\n').to_owned())
}
