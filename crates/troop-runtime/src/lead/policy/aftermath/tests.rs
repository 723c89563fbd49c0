//! The consequences of the end of a member's run.

use super::{Aftermath, is_over, of};
use crate::lead::{
    crew::lifecycle::{Account, Boot, Lifecycle, MemberExit},
    policy::table::{account, check, stop_order},
};

fn unready(is_new: bool) -> Account {
    Account { boot: Boot::Pending { is_new }, stop: None, is_let_go: false }
}

#[test]
fn the_aftermath_of_a_run_depends_on_its_boot_and_on_its_orders() {
    let let_go = |account: Account| Account { is_let_go: true, ..account };
    let told = |account: Account| Account { stop: Some(stop_order(false)), ..account };
    check(
        vec![
            ("it had no order to stop", (account(None), false), Aftermath::Crashed),
            (
                "a full disk is no excuse once it was ready",
                (account(None), true),
                Aftermath::Crashed,
            ),
            (
                "it was asked to stop",
                (account(Some(stop_order(false))), false),
                Aftermath::Stopped(stop_order(false)),
            ),
            (
                "it stopped with its team",
                (account(Some(stop_order(true))), false),
                Aftermath::Stopped(stop_order(true)),
            ),
            ("it was removed", (let_go(account(None)), false), Aftermath::Nothing),
            (
                "it was removed while it stopped",
                (let_go(account(Some(stop_order(false)))), false),
                Aftermath::Nothing,
            ),
            (
                "it was removed before it was ready",
                (let_go(unready(true)), true),
                Aftermath::Nothing,
            ),
            (
                "it was to stop before it was ready",
                (told(unready(true)), false),
                Aftermath::Stopped(stop_order(false)),
            ),
            (
                "a new member did not start",
                (unready(true), false),
                Aftermath::NotReady { is_new: true, may_retry: false },
            ),
            (
                "the machine kept a new member from starting",
                (unready(true), true),
                Aftermath::NotReady { is_new: true, may_retry: true },
            ),
            (
                "a member that has run before did not start again",
                (unready(false), false),
                Aftermath::NotReady { is_new: false, may_retry: false },
            ),
            (
                "the machine kept it from starting again",
                (unready(false), true),
                Aftermath::NotReady { is_new: false, may_retry: true },
            ),
        ],
        |(account, is_fault_of_machine)| of(account, is_fault_of_machine),
    );
}

fn exited(is_killed: bool) -> Lifecycle {
    Lifecycle::Exited { exit: MemberExit::Task, is_killed, account: account(None) }
}

#[test]
fn reports_made_before_an_exit_are_waited_for_unless_the_member_was_killed() {
    check(
        vec![
            ("it starts", (Lifecycle::Starting { is_new: true }, 0), false),
            ("it is ready", (Lifecycle::Ready, 0), false),
            ("it stops", (Lifecycle::Stopping(stop_order(true)), 0), false),
            ("it was killed and has not exited", (Lifecycle::Ending(account(None)), 0), false),
            ("it has exited", (exited(false), 0), true),
            ("one of its reports waits for hooks", (exited(false), 1), false),
            ("two of its reports wait for proof", (exited(false), 2), false),
            ("it was killed, and its report is not waited for", (exited(true), 1), true),
            ("it was killed, and has no report", (exited(true), 0), true),
        ],
        |(life, n_held)| is_over(&life, n_held),
    );
}
