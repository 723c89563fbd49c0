//! The facts about a member stay consistent.

use std::time::Duration;

use tokio::time::Instant;
use troop_model::{Origin, TaskNumber, Version};
use uuid::Uuid;

use super::{IdleAfter, Lifecycle, MAX_REFUSED, MemberFacts, may_turn};

fn ready() -> MemberFacts {
    let mut facts = MemberFacts::new(false, Instant::now());
    facts.life.become_ready();
    facts.wire.tells_end = true;
    facts
}

fn chat(user: &str) -> Origin {
    Origin {
        user_id: Some(user.into()),
        channel: Some("web".into()),
        chat_id: Some(user.into()),
        ..Origin::default()
    }
}

#[test]
fn a_member_is_open_while_it_is_ready_and_its_wire_is_up() {
    let mut facts = MemberFacts::new(true, Instant::now());
    assert!(!facts.is_open(), "it starts");
    facts.life.become_ready();
    assert!(facts.is_open());
    facts.wire.is_silent = true;
    assert!(!facts.is_open(), "its wire has ended");
    facts.wire.is_silent = false;
    facts.life.kill();
    assert!(!facts.is_open(), "it was killed");
}

#[test]
fn a_member_is_free_when_its_offers_are_settled_and_in_the_log() {
    let mut facts = ready();
    assert!(facts.is_free(Version(5)));
    facts.work.offers.begin();
    facts.work.offers.begin();
    facts.work.offers.settle(Some(Version(7)));
    assert!(!facts.is_free(Version(9)), "one offer is open");
    facts.work.offers.settle(None);
    assert!(!facts.is_free(Version(6)), "the effect of one is not followed yet");
    assert!(facts.is_free(Version(7)));
    facts.work.is_in_turn = true;
    assert!(!facts.is_free(Version(7)), "its turn is not over");
    facts.rest();
    assert!(facts.is_free(Version(7)));
    facts.work.breaks_off = Some(TaskNumber(1));
    assert!(!facts.is_free(Version(7)), "it breaks something off");
}

#[test]
fn only_members_that_announce_the_end_of_a_turn_have_turns() {
    let mut plain = ready();
    plain.wire.tells_end = false;
    plain.stir();
    plain.engage(TaskNumber(1), Some(2));
    assert!(plain.work.is_at_rest && !plain.work.is_in_turn);
    assert!(plain.work.is_engaged_in(TaskNumber(1)));
    assert!(!plain.work.is_engaged_in(TaskNumber(2)));
    let mut polite = ready();
    polite.stir();
    polite.engage(TaskNumber(1), None);
    assert!(!polite.work.is_at_rest && polite.work.is_in_turn);
    polite.mail.answers = Some(chat("eve"));
    polite.rest();
    assert!(polite.work.is_at_rest && !polite.work.is_in_turn);
    assert_eq!(polite.mail.answers, None, "its next message answers no mail");
}

#[test]
fn conversations_are_handled_one_at_a_time() {
    let mut facts = ready();
    let now = Instant::now();
    let may_turn_to = |facts: &MemberFacts, user: &str| {
        let handled = facts.mail.conversation.as_ref();
        may_turn(handled, facts.has_no_conversation(), &chat(user))
    };
    assert!(may_turn_to(&facts, "eve"));
    facts.turn_to(&chat("eve"));
    facts.hand(Uuid::from_u128(1), now);
    assert!(may_turn_to(&facts, "eve"), "the same conversation goes on");
    assert!(!may_turn_to(&facts, "pat"), "another waits");
    facts.stir();
    facts.mail.handed.clear();
    assert!(!may_turn_to(&facts, "pat"), "it has read, but not dealt with it");
    facts.rest();
    assert!(may_turn_to(&facts, "pat"));
    assert!(may_turn_to(&facts, "eve"), "nothing was handed over, so it may turn again");
}

#[test]
fn mail_for_a_member_at_rest_restarts_its_clock() {
    let start = Instant::now();
    let mut facts = MemberFacts::new(false, start);
    let later = start + Duration::from_secs(9);
    facts.hand(Uuid::from_u128(1), later);
    assert_eq!(facts.signs.roused_at, later);
    facts.hand(Uuid::from_u128(2), later + Duration::from_secs(9));
    assert_eq!(facts.signs.roused_at, later, "it had something to deal with");
}

#[test]
fn at_most_eight_refusals_are_sent_before_new_work_or_mail() {
    let mut facts = ready();
    let told = |facts: &mut MemberFacts| (0..20).filter(|_| facts.wire.count_refusal()).count();
    assert_eq!(told(&mut facts), MAX_REFUSED as usize);
    assert_eq!(told(&mut facts), 0);
    facts.give(TaskNumber(1), 1);
    assert_eq!(told(&mut facts), MAX_REFUSED as usize, "work gives it something to say again");
    facts.hand(Uuid::from_u128(1), Instant::now());
    assert_eq!(told(&mut facts), MAX_REFUSED as usize, "and so does mail");
}

#[test]
fn idleness_settles_after_pending_reports_and_the_log() {
    let mut facts = ready();
    assert!(facts.take_settled_idle(9).is_none(), "it did not say that it is idle");
    facts.idle.after = Some(IdleAfter { last_task: None, until: 5 });
    facts.work.n_held = 1;
    assert!(facts.take_settled_idle(9).is_none(), "a report waits for hooks");
    facts.work.n_held = 0;
    assert!(facts.take_settled_idle(4).is_none(), "the log is not followed so far");
    assert!(facts.take_settled_idle(5).is_some());
    assert!(facts.take_settled_idle(5).is_none(), "only once");
}

#[test]
fn a_new_member_starts_without_anything_to_do() {
    let facts = MemberFacts::new(true, Instant::now());
    assert!(matches!(facts.life, Lifecycle::Starting { is_new: true }));
    assert!(facts.has_no_conversation());
    assert!(facts.work.told.is_empty() && facts.work.engagement.is_none());
    assert_eq!((facts.work.n_held, facts.briefing.team), (0, 0));
}
