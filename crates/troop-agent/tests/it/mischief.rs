//! What no good member does, as far as it can be seen without a process of its own.

use serde_json::json;
use tokio::time::timeout;
use troop_agent::{ALIVE, Exit};

use crate::script::{folder, lead};

#[tokio::test(start_paused = true)]
async fn a_crash_ends_it_without_another_word() {
    let mut lead = lead(&folder("when task *\n  on attempt 1\n    crash 9\n  complete x")).await;
    lead.assign("task-1", "").await;
    lead.hears("team.taskUpdate").await;
    assert_eq!(lead.end().await, (Vec::new(), Exit::Stopped(9)));
}

#[tokio::test(start_paused = true)]
async fn mail_can_crash_it_too() {
    let mut lead = lead(&folder("when mail *\n  crash 3")).await;
    lead.mail("boo").await;
    assert_eq!(lead.end().await, (Vec::new(), Exit::Stopped(3)));
}

#[tokio::test(start_paused = true)]
async fn who_hangs_gives_no_sign_of_life_and_hears_nothing_but_the_end_of_its_lead() {
    let mut lead = lead(&folder("when task *\n  hang")).await;
    lead.assign("task-1", "").await;
    lead.hears("team.taskUpdate").await;
    lead.say("team.shutdown", json!({})).await;
    lead.say("turn/interrupt", json!({})).await;
    lead.terminated.cancel();
    assert!(timeout(5 * ALIVE, lead.hear()).await.is_err(), "it says nothing");
    assert_eq!(lead.leave().await, Exit::LeadGone);
}

#[tokio::test(start_paused = true)]
async fn floods_are_as_long_as_they_say() {
    let mut lead =
        lead(&folder("when task *\n  flood 300 logs\n  flood 200 messages to bob\n  complete x"))
            .await;
    lead.assign("task-1", "").await;
    lead.hears("team.taskUpdate").await;
    for _ in 0..300 {
        lead.hears("team.log").await;
    }
    for nth in 1..=200 {
        let message = json!({"to": "bob", "content": format!("message {nth} of 200")});
        assert_eq!(lead.hears("team.message").await, message);
    }
    lead.hears("team.taskUpdate").await;
}
