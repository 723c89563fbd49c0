//! Board calls: requests that members make on their wires.

use troop_protocol::{Failure, FailureKind, Notification, Request as Asked, Responder};

use super::{Runner, dispatcher::Dispatcher};
use crate::Request;

impl Dispatcher {
    pub(super) async fn answer(&mut self, _runner: &Runner, asked: Asked) {
        let failure = Failure::new(FailureKind::UnknownMethod, &asked.asked.method);
        drop(asked.responder.refuse(failure).await);
    }

    pub(super) async fn call_unanswered(&mut self, runner: &Runner, said: &Notification) {
        self.refused(runner, format!("there is no method `{}`", said.method));
    }

    pub(super) async fn call(&mut self, request: Request, _responder: Responder) {
        drop(request);
    }
}
