//! Launches the agents of members beside the lead's loop: that reads files and starts processes, and a disk may be slow.

use std::{io, path::PathBuf, sync::Arc};

use tokio::task::spawn_blocking;
use troop_model::MemberName;
use troop_process::Mark;
use troop_protocol::{Peer, PeerOptions};
use uuid::Uuid;

use super::{
    Crew, is_new,
    lifecycle::MemberExit,
    member::{LiveMember, MemberBody},
    process,
};
use crate::{
    fault::is_of_machine,
    lead::{
        Runner,
        input::{Due, LeadInput, WireEar},
        launch::{LaunchSpec, LaunchedAgent},
        places::Workplaces,
        post::Post,
        transcript::TranscriptLine,
    },
};

/// The launch of a member's agent.
#[derive(Debug)]
pub(in super::super) struct MemberLaunch {
    runner: Runner,
    mark: Mark,
    agent: io::Result<LaunchedAgent>,
}

impl Crew {
    /// Launches a member in a folder. From now on it counts as running.
    pub(super) fn launch_in(
        &mut self,
        post: &Post,
        places: &Workplaces,
        member: &MemberName,
        path: PathBuf,
    ) {
        let Some(found) = post.state.member(member) else { return };
        let is_new = is_new(found);
        self.n_runs += 1;
        let runner = Runner { member: member.clone(), run: self.n_runs };
        let mark = Mark { session: post.mandate.session, run: Some(Uuid::now_v7()) };
        let spec = LaunchSpec {
            team: post.team_name(),
            member: member.clone(),
            role: found.role,
            agent: found.agent.clone(),
            model: found.model.clone(),
            session: post.mandate.session,
            path,
            project: self.project.clone(),
            variables: places.variables_of(&post.state, member),
            mark,
        };
        self.members.insert(member.clone(), LiveMember::new(runner.clone(), is_new));
        let launch = Arc::clone(&self.launch);
        post.background.spawn_input(async move {
            let launched = spawn_blocking(move || launch.launch(&spec)).await;
            let agent = launched.unwrap_or_else(|panic| Err(panic.into()));
            Some(LeadInput::Launched(Box::new(MemberLaunch { runner, mark, agent })))
        });
    }

    /// The agent of a member is launched, or cannot be.
    pub(in super::super) async fn launched(
        &mut self,
        post: &mut Post,
        places: &mut Workplaces,
        launch: MemberLaunch,
    ) {
        let MemberLaunch { runner, mark, agent } = launch;
        match agent {
            Ok(agent) => self.embody(post, &runner, agent, mark),
            Err(error) => self.not_launched(post, places, &runner, error).await,
        }
    }

    /// The lead has ended: an agent that was still being launched is killed.
    pub(in super::super) fn end_launch(&mut self, post: &mut Post, launch: MemberLaunch) {
        let MemberLaunch { runner, mark, agent } = launch;
        match agent {
            Ok(agent) => self.embody(post, &runner, agent, mark),
            Err(_) => drop(self.members.remove(&runner.member)),
        }
    }

    /// A member's agent runs. If the member was told to stop meanwhile, it is killed.
    fn embody(&mut self, post: &mut Post, runner: &Runner, agent: LaunchedAgent, mark: Mark) {
        let Some(live) = self.in_run(runner) else { return };
        let LaunchedAgent { reader, writer, life } = agent;
        let ear = WireEar { runner: runner.clone(), inputs: post.background.inputs.clone() };
        let tracker = &post.background.tracker;
        let peer = Peer::spawn(reader, writer, PeerOptions::default(), ear, tracker);
        let host = process::attend(&post.background, runner, life, mark);
        live.body = Some(MemberBody { host, peer });
        let process = live.process().unwrap_or_default();
        let is_wanted = live.facts.life.is_starting();
        let what = format!("started in process {process}");
        post.note(&runner.member, TranscriptLine::note(&what));
        match is_wanted {
            true => post.timers.set(post.timing.ready, Due::Ready(runner.clone())),
            false => self.kill(post, runner),
        }
    }

    /// A member's agent cannot be launched. If the member was told to stop meanwhile, it has stopped.
    async fn not_launched(
        &mut self,
        post: &mut Post,
        places: &mut Workplaces,
        runner: &Runner,
        error: io::Error,
    ) {
        let Some(live) = self.in_run(runner) else { return };
        if !live.facts.life.is_starting() {
            live.facts.life.exit(MemberExit::NotStarted(error));
            if let Some(dead) = self.take_dead(post, runner) {
                self.bury(post, places, dead).await;
            }
            return;
        }
        let member = &runner.member;
        self.members.remove(member);
        let is_retried =
            is_of_machine(&error) && self.start_later(post, member, &error.to_string());
        if !is_retried {
            self.cannot_start(post, member, error).await;
        }
    }
}
