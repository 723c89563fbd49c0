//! Stops members: first a request, then SIGTERM, then SIGKILL.

use troop_model::{
    Command, Member, MemberName, MemberState, Message, MessageKind, Party, StateCause,
};
use troop_process::Signal;
use troop_protocol::FromLead;

use super::{
    Crew,
    lifecycle::{StopOrder, StopRequest, StopStep},
    member::LiveMember,
};
use crate::lead::{
    LeadEnd, Runner,
    input::Due,
    places::Workplaces,
    post::{Course, MemberMove, Post},
};

impl Crew {
    /// Stops a member that got a request to stop. An external member reads the request itself.
    pub(in super::super) async fn stop_as_asked(&mut self, post: &mut Post, member: &MemberName) {
        if post.state.member(member).is_some_and(Member::is_external) {
            return;
        }
        let Some(message) = stop_request(post, member) else { return };
        let request = StopRequest { id: message.id, from: message.from };
        let reason = match message.content.as_str() {
            "" => format!("{} asked it to", request.from),
            content => content.to_owned(),
        };
        if !self.has(member) && self.starts.forget(member) {
            let stopped = MemberMove::to(MemberState::Stopped).because(&reason);
            post.set_state(member, stopped.caused_by(StateCause::Asked)).await;
        }
        let messages = Some(vec![request.id]);
        let order = StopOrder { reason, request: Some(request), is_forced: false };
        self.order_stop(post, member, order);
        // The order counts as reading the request, also if the member does not run.
        post.give(Command::MarkRead { reader: Some(member.clone()), messages }).await;
    }

    fn order_stop(&mut self, post: &mut Post, member: &MemberName, order: StopOrder) {
        let Some(live) = self.members.get_mut(member) else { return };
        let runner = live.runner.clone();
        // A member that does not read gets a signal after the grace period.
        drop(live.tell(&FromLead::Shutdown { reason: order.reason.clone() }));
        match live.facts.life.take_stop(order) {
            StopStep::Kill => self.kill(post, &runner),
            StopStep::Grace => post.timers.set(post.timing.grace, Due::Grace(runner)),
            StopStep::Nothing => {}
        }
    }

    /// A member's grace period is over.
    pub(in super::super) fn grace_is_over(&mut self, post: &mut Post, runner: &Runner) {
        if self.facts_of(runner).is_some_and(|facts| facts.life.stop().is_some()) {
            self.signal(runner, Signal::TERM);
            post.timers.set(post.timing.term, Due::Term(runner.clone()));
        }
    }

    /// A member's time to exit after SIGTERM, or after it closed its wire, is over.
    pub(in super::super) fn term_is_over(&mut self, post: &mut Post, runner: &Runner) {
        let has_ended = self
            .facts_of(runner)
            .is_some_and(|facts| facts.life.has_exited() && facts.life.stop().is_none());
        // A member that has exited by itself and only waits for its reports is left alone.
        if !has_ended {
            self.kill(post, runner);
        }
    }

    /// Stops all members, and then the lead.
    pub(in super::super) async fn stop_all(
        &mut self,
        post: &mut Post,
        places: &mut Workplaces,
        how: LeadEnd,
        reason: &str,
    ) {
        if post.is_ending() {
            return;
        }
        post.course = Course::Stopping(how);
        post.agenda.is_due = true;
        // Members that wait for their start are recorded as stopped.
        for member in self.starts.take() {
            self.start(post, places, &member).await;
        }
        for member in self.names() {
            let order = StopOrder { reason: reason.to_owned(), request: None, is_forced: true };
            self.order_stop(post, &member, order);
            let pid = self.get(&member).and_then(LiveMember::process);
            let stopping = MemberMove::to(MemberState::Stopping).in_process(pid);
            post.set_state(&member, stopping).await;
        }
    }

    /// Kills all members that have not stopped yet.
    pub(in super::super) fn kill_all(&mut self, post: &mut Post) {
        for runner in self.runners() {
            self.kill(post, &runner);
        }
    }
}

/// The newest request to stop that waits for a member.
fn stop_request(post: &Post, member: &MemberName) -> Option<Message> {
    let reader = Party::member(member);
    let unread = post.state.mailbox().unread_of(&reader);
    unread.filter(|it| it.kind == MessageKind::ShutdownRequest).last().cloned()
}
