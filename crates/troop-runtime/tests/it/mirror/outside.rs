//! Ids that are paths: nothing outside the folders of a team's files is read, written, moved or deleted.

use std::fs;

use serde_json::{Value, json};
use troop_model::{Actor, Command, Metadata, NewTask, Origin, TaskCommand};
use troop_runtime::{CommandRequest, Layout};

use super::stage::Stage;
use crate::support::{cancel, delete, name, say};

/// Files beside the team's, and their contents.
struct Victims {
    files: Vec<(std::path::PathBuf, Vec<u8>)>,
}

impl Victims {
    fn new(stage: &Stage) -> Self {
        let folder = stage.path("victim");
        fs::create_dir(&folder).unwrap();
        let task = json!({"subject": "secret", "status": "pending"}).to_string();
        let files = [("settings", task.as_str()), ("creds", "{}"), ("notes", "no json")]
            .map(|(id, text)| (folder.join(format!("{id}.json")), text.as_bytes().to_vec()));
        for (path, text) in &files {
            fs::write(path, text).unwrap();
        }
        Self { files: files.into() }
    }

    /// Ways to name them, and a file that is not there.
    fn ids(&self) -> Vec<String> {
        let names = self.files.iter().map(|(path, _)| path.with_extension(""));
        let absolute = names.map(|it| it.display().to_string());
        let relative = ["settings", "creds", "notes", "new"].map(|it| format!("../../victim/{it}"));
        absolute.chain(relative).chain(["..", ".", "a/b", ""].map(str::to_owned)).collect()
    }

    fn check(&self) {
        for (path, text) in &self.files {
            assert_eq!(fs::read(path).ok().as_ref(), Some(text), "{}", path.display());
        }
        let folder = self.files[0].0.parent().unwrap();
        assert_eq!(fs::read_dir(folder).unwrap().count(), self.files.len());
    }
}

async fn n_secrets(stage: &Stage) -> usize {
    let look = |state: &troop_model::State| {
        state.tasks().iter().filter(|it| it.subject == "secret").count()
    };
    stage.board.look(look).await.unwrap()
}

#[tokio::test]
async fn metadata_and_origin_cannot_escape_the_folder() {
    for layout in [Layout::Seeds, Layout::Claude] {
        let stage = Stage::new(layout).await;
        let victims = Victims::new(&stage);
        let ids = victims.ids();
        for id in &ids {
            let metadata = json!({"file": id}).as_object().unwrap().clone();
            let task = NewTask {
                subject: "x".to_owned(),
                metadata: Metadata(metadata),
                ..NewTask::default()
            };
            let create = Command::Task(TaskCommand::Create(task));
            let mut request = CommandRequest::new(Actor::agent(&name("ann")), create);
            let kind = Some("file".into());
            let key = Some(id.into());
            request.asker.origin = Origin { peer_kind: kind, local_key: key, ..Origin::default() };
            stage.board.submit(request).await.unwrap();
        }
        let mut mirror = stage.mirror().await;
        let mut notices = mirror.notices();
        mirror.pass().await.unwrap();
        victims.check();
        // Each has its own file with its metadata.
        let files = stage.files("tasks/crew");
        assert_eq!(files.len(), ids.len(), "{layout}");
        let mut told: Vec<_> = files.iter().map(|it| it["metadata"]["file"].clone()).collect();
        let mut given: Vec<_> = ids.iter().cloned().map(Value::from).collect();
        for list in [&mut told, &mut given] {
            list.sort_by_key(ToString::to_string);
        }
        assert_eq!(told, given, "{layout}");
        for number in 1..=ids.len() as u32 {
            stage.submit("ann", cancel(number)).await;
            stage.submit("ann", delete(number)).await;
        }
        mirror.pass().await.unwrap();
        victims.check();
        assert!(stage.files("tasks/crew").is_empty());
        assert!(notices.try_recv().is_err(), "nothing was refused");
    }
}

#[tokio::test]
async fn a_dependency_never_leads_out_of_its_folder() {
    for (layout, key) in [(Layout::Seeds, "dependsOn"), (Layout::Claude, "blockedBy")] {
        let stage = Stage::new(layout).await;
        let victims = Victims::new(&stage);
        let mut mirror = stage.mirror().await;
        mirror.pass().await.unwrap();
        let file = json!({"id": "n", "subject": "n", key: victims.ids()});
        stage.write("tasks/crew/n.json", &file);
        mirror.pass().await.unwrap();
        mirror.pass().await.unwrap();
        victims.check();
        assert_eq!(n_secrets(&stage).await, 0, "{layout}");
        assert!(stage.path("tasks/crew/n.json.refused").exists(), "the board knows none of these");
    }
}

#[tokio::test]
async fn no_message_and_no_member_leads_out_of_its_folder() {
    for layout in [Layout::Seeds, Layout::Claude] {
        let stage = Stage::new(layout).await;
        let victims = Victims::new(&stage);
        let mut mirror = stage.mirror().await;
        mirror.pass().await.unwrap();
        for id in victims.ids() {
            let letter = json!({"id": id, "msg_id": id, "from": id, "to": id, "text": "x",
                "content": "x", "read": false, "stored": true});
            stage.put_letter("pat", letter);
        }
        let mut config = stage.read("teams/crew/config.json");
        let members = victims.ids().into_iter().map(|id| json!({"name": id, "agentId": id}));
        config["members"].as_array_mut().unwrap().extend(members);
        stage.write("teams/crew/config.json", &config);
        mirror.pass().await.unwrap();
        mirror.pass().await.unwrap();
        victims.check();
        assert_eq!(stage.roster().await.len(), 4, "{layout}");
    }
}

#[tokio::test]
async fn an_inbox_that_is_a_symlink_is_not_followed() {
    let stage = Stage::new(Layout::Seeds).await;
    let victims = Victims::new(&stage);
    let mut mirror = stage.mirror().await;
    mirror.pass().await.unwrap();
    let inbox = stage.path("teams/crew/inbox/pat");
    fs::remove_dir(&inbox).unwrap();
    std::os::unix::fs::symlink(stage.path("victim"), &inbox).unwrap();
    stage.submit("ann", say("pat", "hello")).await;
    mirror.pass().await.unwrap();
    victims.check();
    assert_eq!(stage.inbox("pat").len(), 1, "it has an inbox again");
}
