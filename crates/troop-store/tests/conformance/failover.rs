//! Two servers, of which the standby takes over, and a pooler between us and a server.

use std::time::Duration;

use troop_model::Version;
use troop_store::{GrowthNotice, Missing, StoreUrl, open};
use troop_testkit::{
    bouncer_store,
    postgres::{Bouncer, OwnServer, ServerEnd, ServerPair, StartupSettings},
    postgres_store, wait_for,
};

use crate::support::{append, bodies, create, told};

#[tokio::test]
async fn acknowledged_events_survive_a_failover_and_an_old_primary_is_not_asked() {
    let mut pair = ServerPair::start().await;
    let url = StoreUrl::parse(&pair.url()).unwrap();
    let store = open(&url, Missing::Make).await.unwrap();
    let team = create(&*store, "crew").await;
    let mut seen = Version(1);
    append(&*store, team, &mut seen, vec!["2".to_owned()]).await.unwrap();
    pair.first.end(ServerEnd::Killed).await;
    let answer = told(append(&*store, team, &mut seen.clone(), vec!["0".to_owned()]).await);
    assert!(answer.starts_with("unavailable: "), "{answer}");
    let answer = told(open(&url, Missing::Refuse).await);
    let second = pair.second.folder().display().to_string();
    assert!(answer.contains(&format!("`{second}` is a standby")), "{answer}");
    assert!(
        answer
            .ends_with("hint: start the primary server, or promote the standby: `pg_ctl promote`")
    );
    pair.promote().await;
    wait_for("the store works again", async || {
        append(&*store, team, &mut seen, vec!["3".to_owned()]).await.ok()
    })
    .await;
    // The old primary does not know that it was replaced. It is named first, and is not asked.
    pair.first.start_again().await;
    let anew = open(&url, Missing::Refuse).await.unwrap();
    append(&*anew, team, &mut seen, vec!["4".to_owned()]).await.unwrap();
    let expected = [r#"{"begin":1}"#, "2", "3", "4"];
    assert_eq!(bodies(&*store, team).await, expected);
    assert_eq!(bodies(&*anew, team).await, expected);
    // Once the new primary is known, the old one alone is not enough.
    pair.second.end(ServerEnd::Immediate).await;
    wait_for("the old primary is not taken for the new one", async || {
        told(anew.read(team, Version::ZERO, 9).await).contains("is an old primary").then_some(())
    })
    .await;
}

#[tokio::test]
async fn a_restart_of_the_server_is_survived() {
    let mut server = OwnServer::start(&[]).await;
    let store = open(&StoreUrl::parse(&server.url()).unwrap(), Missing::Make).await.unwrap();
    let team = create(&*store, "crew").await;
    let mut seen = Version(1);
    for how in [ServerEnd::Fast, ServerEnd::Immediate, ServerEnd::Killed] {
        server.end(how).await;
        server.start_again().await;
        wait_for("the store works again", async || {
            append(&*store, team, &mut seen, vec![format!("\"{how:?}\"")]).await.ok()
        })
        .await;
    }
    assert_eq!(bodies(&*store, team).await.len(), 4);
}

#[tokio::test]
async fn a_pooler_is_recognised() {
    let own = postgres_store().await;
    assert_eq!(own.notice(), GrowthNotice::Sent);
    let polled = GrowthNotice::Polled(Duration::from_millis(100));
    assert_eq!(bouncer_store().await.notice(), polled);
    let bouncer = Bouncer::start(StartupSettings::Ignored).await;
    let url = StoreUrl::parse(&bouncer.database().await).unwrap();
    assert_eq!(open(&url, Missing::Make).await.unwrap().notice(), polled);
}
