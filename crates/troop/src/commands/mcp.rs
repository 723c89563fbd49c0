//! `troop mcp`: serves a team on standard input and output or over HTTP, and tells clients how to start it.

mod listen;

use std::path::PathBuf;

use anyhow::Result;
use clap::ValueEnum as _;
use rmcp::ServiceExt as _;
use tokio_util::task::TaskTracker;
use troop_app::team::{MemberCaller, MemberOptions, TeamDesk};
use troop_model::{ActorKind, Asker, MemberName, State};
use troop_protocol::Gate;

use crate::{
    cli::{InstallArgs, McpArgs, McpCommand},
    environment,
    mcp::{
        TeamService,
        install::{self, ServerCommand},
    },
    output::Printer,
    report::{Hint, HintCommand, Refused, Usage},
};

/// Serves until the client goes, or tells a client about the server.
pub(super) async fn run(args: &McpArgs, desk: &mut TeamDesk, printer: &Printer) -> Result<()> {
    match &args.command {
        Some(McpCommand::Install(args)) => install(args, desk, printer).await,
        None => Box::pin(serve(args, desk, printer)).await,
    }
}

async fn serve(args: &McpArgs, desk: &mut TeamDesk, printer: &Printer) -> Result<()> {
    let service = service(args, desk).await?;
    let tracker = service.tracker();
    let caller = service.caller();
    if let Some(address) = args.listen {
        let token = token_file(desk).await?;
        return listen::serve(service, address, &token, printer).await;
    }
    let transport = rmcp::transport::stdio_pipes();
    // A client that goes before it says hello wants nothing.
    if let Ok(running) = Box::pin(service.serve(transport)).await {
        tokio::select! {
            done = running.waiting() => drop(done?),
            never = caller.hold() => match never {},
        }
    }
    tracker.close();
    Ok(())
}

/// Where the token is that clients of the member show.
async fn token_file(desk: &mut TeamDesk) -> Result<PathBuf> {
    let member = member(desk, HintCommand::troop("mcp")).await?;
    let team = desk.team(None).await?.team().to_string();
    Ok(desk.surroundings.home.join("teams").join(team).join(format!("mcp-{member}.token")))
}

/// The member that is meant.
async fn member(desk: &mut TeamDesk, typed: HintCommand) -> Result<MemberName> {
    let board = desk.team(None).await?;
    let signature = desk.signature()?;
    if signature.asker.actor.kind != ActorKind::Agent {
        let names = board.look(|state: &State| {
            state.members().map(|it| it.name.to_string()).collect::<Vec<_>>()
        });
        let names = names.await?;
        let message = format!("name the member to act as; the members are: {}", names.join(", "));
        let first = names.first().map_or("NAME", String::as_str);
        let example = Hint::to("for example", typed.word("--as").word(first));
        return Err(Usage::new(message, example).into());
    }
    let asked = signature.asker.actor.name.clone();
    let found =
        board.look(move |state: &State| state.find_member(&asked).map(|it| it.name.clone()));
    Ok(found.await??)
}

/// The service for the member that is meant.
async fn service(args: &McpArgs, desk: &mut TeamDesk) -> Result<TeamService> {
    let member = member(desk, HintCommand::troop("mcp")).await?;
    let board = desk.team(None).await?;
    let gate = match &desk.surroundings.teams.off {
        Some(off) => Gate::Closed { by: off.by.clone() },
        None => Gate::Open,
    };
    let actor = troop_model::Actor::agent(&member);
    let session = Asker { actor, origin: desk.signature()?.asker.origin };
    let options = MemberOptions {
        member,
        dialect: args.dialect.into(),
        gate,
        session,
        store: std::sync::Arc::clone(&desk.store),
        clock: desk.clock.clone(),
        teams: desk.surroundings.home.join("teams"),
        max_teammates: desk.surroundings.teams.max_teammates,
    };
    let caller = MemberCaller::new(board, options);
    Ok(TeamService::new(caller, TaskTracker::new()))
}

async fn install(args: &InstallArgs, desk: &mut TeamDesk, printer: &Printer) -> Result<()> {
    let server = server(args, desk).await?;
    if args.print {
        return printer.text(&install::snippet(args.client, &server)?);
    }
    let environment = &desk.surroundings.environment;
    let codex_home = environment.variable("CODEX_HOME").map(PathBuf::from);
    let codex_home = codex_home.or_else(|| environment.below_home(".codex"));
    let path = install::place(args.client, &desk.surroundings.project, codex_home.as_deref())?;
    let change = install::plan(args.client, &path, &server)?;
    let path = change.path.display();
    if change.is_done() {
        return printer.text(&format!("`{path}` has it already\n"));
    }
    printer.text(&format!("{path}\n{}", change.shown()))?;
    if !args.yes {
        if !std::io::IsTerminal::is_terminal(&std::io::stdin()) {
            let hint = "use `--yes` to write it, or `--print` to only see it";
            return Err(Refused::new("there is no terminal to ask on", hint).into());
        }
        if !printer.confirm("write this?")? {
            return printer.text("nothing changed\n");
        }
    }
    match change.write()? {
        Some(backup) => printer.text(&format!("written; the old file is {}\n", backup.display())),
        None => printer.text("written\n"),
    }
}

/// How a client starts the server for the member and the team that are meant.
async fn server(args: &InstallArgs, desk: &mut TeamDesk) -> Result<ServerCommand> {
    let client = args.client.to_possible_value();
    let client = client.as_ref().map_or("CLIENT", |it| it.get_name());
    let member = member(desk, HintCommand::troop("mcp install").word(client)).await?;
    let board = desk.team(None).await?;
    let team = board.look(|state: &State| state.team().map(|team| team.name.to_string())).await?;
    let own = environment::program()?;
    // By its name where that means this program, so that a project's file works for others too.
    let found = desk.surroundings.environment.find_program("troop");
    let is_found = found.and_then(|found| found.canonicalize().ok()).is_some_and(|it| it == own);
    let program = if is_found { "troop".to_owned() } else { own.display().to_string() };
    let mut arguments = vec!["mcp".to_owned()];
    let mut add = |name: &str, value: Option<String>| {
        arguments.extend(value.into_iter().flat_map(|value| [name.to_owned(), value]));
    };
    add("--home", desk.other_home().map(|home| home.display().to_string()));
    add("--store", desk.other_store());
    add("--team", team);
    add("--as", Some(member.to_string()));
    let dialect = args.dialect.to_possible_value();
    add("--dialect", dialect.map(|it| it.get_name().to_owned()));
    Ok(ServerCommand { program, arguments })
}
