//! Disks that are full, and disks that may only be read.

use std::{
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt,
    path::Path,
};

use troop_model::{TeamId, Version};
use troop_store::{Batch, Missing, Store, StoreUrl, open};
use troop_testkit::{TestStore, files_store, sqlite_store, wait_for};
use uuid::Uuid;

use crate::{
    processes::{Other, Role, say},
    support::{append_at, batch, bodies, create, in_folder, operation, told},
};

/// Holds some space, to be freed when the disk is full.
const BALLAST: &str = "ballast";

/// In another process, on a disk of its own: fills it, and goes on when there is space again.
pub(crate) async fn fill(store: &dyn Store, url: &str) {
    let (_, path) = url.split_once(':').unwrap();
    let ballast = Path::new(path).parent().unwrap().join(BALLAST);
    fs::write(&ballast, vec![1; 500_000]).unwrap();
    let team = create(store, "crew").await;
    let body = format!("\"{}\"", "x".repeat(20_000));
    let mut after = Version(1);
    let full = loop {
        let bodies = vec![body.clone(); 3];
        match store.append(team, Batch { operation: operation(), after, bodies }).await {
            Ok(_) => after = after.plus(3),
            full => break full,
        }
    };
    assert!(after > Version(10), "something fits");
    say(&told(full).replace('\n', " | "));
    assert_eq!(bodies(store, team).await.len() as u64, after.0);
    let reopened = open(&StoreUrl::parse(url).unwrap(), Missing::Refuse).await.unwrap();
    assert_eq!(bodies(&*reopened, team).await.len() as u64, after.0);
    fs::remove_file(&ballast).unwrap();
    append_at(&*reopened, team, batch(after.0, &["0"])).await;
    append_at(store, team, batch(after.0 + 1, &["0"])).await;
    assert_eq!(bodies(store, team).await.len() as u64, after.0 + 2);
    say("there is space again");
}

async fn fill_a_disk(store: TestStore) -> String {
    let folder = store.folder().unwrap().join("disk");
    fs::create_dir(&folder).unwrap();
    let (scheme, _) = store.url().split_once(':').unwrap();
    let url = format!("{scheme}:{}", folder.join("troop").display());
    // A mount that only this process and its children see.
    let mount =
        format!("mount -t tmpfs -o size=2m troop {} && exec \"$0\" \"$@\"", folder.display());
    let mut prefix = vec!["unshare", "--mount"];
    if !is_root() {
        prefix.push("--map-root-user");
    }
    prefix.extend(["sh", "-c", &mount]);
    let mut other = Other::start_under(&prefix, Role::Fill, 0, &url, TeamId(Uuid::nil()));
    let told = other.hear().expect("it needs `unshare` and `mount`: `apt-get install util-linux`");
    assert_eq!(other.hear().as_deref(), Some("there is space again"));
    other.finish();
    in_folder(&store, told)
}

fn is_root() -> bool {
    fs::metadata("/proc/self")
        .is_ok_and(|process| std::os::unix::fs::MetadataExt::uid(&process) == 0)
}

#[tokio::test]
async fn a_full_disk_holds_up_sqlite_and_breaks_nothing() {
    insta::assert_snapshot!(fill_a_disk(sqlite_store().await).await, @"unavailable: the disk of `DIR/disk/troop` is full | hint: free some space on this disk: `df -h DIR/disk`");
}

#[tokio::test]
async fn a_full_disk_holds_up_files_and_breaks_nothing() {
    insta::assert_snapshot!(fill_a_disk(files_store().await).await, @"unavailable: `DIR/disk/troop/teams/crew/log.jsonl` cannot be written: the disk is full | hint: free some space on this disk: `df -h DIR/disk/troop/teams/crew`");
}

/// In another process, as a user who may only read.
pub(crate) async fn visit(store: &dyn Store, team: TeamId) {
    say(&format!("{} events", bodies(store, team).await.len()));
    say(&told(store.append(team, batch(2, &["3"])).await).replace('\n', " | "));
    say(&told(store.create(crate::support::new_team("other"), batch(0, &["1"])).await)
        .replace('\n', " | "));
    say(&format!("{} events", bodies(store, team).await.len()));
}

fn set_mode(path: &Path, (of_folders, of_files): (u32, u32)) {
    let is_folder = path.is_dir();
    if is_folder {
        fs::set_permissions(path, Permissions::from_mode(0o755)).unwrap();
        fs::read_dir(path).unwrap().for_each(|entry| {
            set_mode(&entry.unwrap().path(), (of_folders, of_files));
        });
    }
    let mode = if is_folder { of_folders } else { of_files };
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

async fn visit_as_reader(store: TestStore) -> String {
    let team = create(&*store, "crew").await;
    append_at(&*store, team, batch(1, &["2"])).await;
    let (url, folder) = (store.url().to_owned(), store.into_folder().unwrap());
    let wal = folder.path().join("troop.db-wal");
    wait_for("the store is closed", async || (!wal.exists()).then_some(())).await;
    set_mode(folder.path(), (0o555, 0o444));
    let nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"];
    let prefix = if is_root() { &nobody[..] } else { &[] };
    let mut other = Other::start_under(prefix, Role::Visit, 0, &url, team);
    let mut told = String::new();
    while let Some(line) = other.hear() {
        told += &line.replace(folder.path().to_str().unwrap(), "DIR");
        told.push('\n');
    }
    other.finish();
    set_mode(folder.path(), (0o755, 0o644));
    told
}

#[tokio::test]
async fn a_read_only_database_can_be_read() {
    insta::assert_snapshot!(visit_as_reader(sqlite_store().await).await, @r"
    2 events
    refused: `DIR/troop.db` cannot be written: it or its folder is read-only | hint: see `ls -ld DIR/troop.db*`, or choose another place with `--store`
    refused: `DIR/troop.db` cannot be written: it or its folder is read-only | hint: see `ls -ld DIR/troop.db*`, or choose another place with `--store`
    2 events
    ");
}

#[tokio::test]
async fn a_read_only_folder_of_files_can_be_read() {
    insta::assert_snapshot!(visit_as_reader(files_store().await).await, @r"
    2 events
    refused: `DIR/troop/teams/crew/log.jsonl` cannot be opened: permission denied | hint: see `ls -ld DIR/troop/teams/crew/log.jsonl`
    refused: `DIR/troop/format.json` cannot be written: permission denied | hint: see `ls -ld DIR/troop/format.json`
    2 events
    ");
}
