//! Disks that are full, and disks that may only be read.

use std::{
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt,
    path::Path,
    process::Command,
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

/// Stops another process from writing for ever.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Brim {
    /// A separate small disk.
    Disk,
    /// A limit on the size of its files, for machines that allow no mounts.
    Limit,
}

impl Brim {
    pub(crate) fn from_name(name: &str) -> Self {
        if name == "0" { Self::Disk } else { Self::Limit }
    }

    fn name(self) -> u32 {
        u32::from(self == Self::Limit)
    }

    /// Makes space again, for this process.
    fn widen(self, ballast: &Path) {
        fs::remove_file(ballast).unwrap();
        if self == Self::Limit {
            let pid = std::process::id().to_string();
            let mut prlimit = Command::new("prlimit");
            prlimit.args(["--fsize=unlimited:", "--pid", &pid]);
            assert!(prlimit.status().unwrap().success());
        }
    }
}

/// Runs in another process: fills the disk, and continues when there is space again.
pub(crate) async fn fill(store: &dyn Store, url: &str, brim: Brim) {
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
    brim.widen(&ballast);
    append_at(&*reopened, team, batch(after.0, &["0"])).await;
    append_at(store, team, batch(after.0 + 1, &["0"])).await;
    assert_eq!(bodies(store, team).await.len() as u64, after.0 + 2);
    say("there is space again");
}

/// Finds a command that gives a process a brim, and why the better ones do not work here.
fn find_brim(folder: &Path) -> (Brim, Vec<String>, String) {
    // A mount that only this process and its children see.
    let mount = format!("mount -t tmpfs -o size=2m troop {}", folder.display());
    let mut complaints = String::new();
    // In a container, root often may not mount, except as the root of a new namespace.
    for unshare in [&["unshare", "--mount"][..], &["unshare", "--mount", "--map-root-user"]] {
        let prefix = |script: &str| {
            [unshare, &["sh", "-c", script]]
                .concat()
                .into_iter()
                .map(str::to_owned)
                .collect::<Vec<_>>()
        };
        let words = prefix(&mount);
        match Command::new(&words[0]).args(&words[1..]).output() {
            Ok(tried) if tried.status.success() => {
                let script = format!("{mount} && exec \"$0\" \"$@\"");
                return (Brim::Disk, prefix(&script), complaints);
            }
            Ok(tried) => complaints += &String::from_utf8_lossy(&tried.stderr),
            Err(error) => complaints += &format!("unshare: {error}\n"),
        }
    }
    // In blocks of 512 bytes or of 1,024. Without the trap the first byte too many would kill.
    let limit = "trap '' XFSZ; ulimit -S -f 4096; exec \"$0\" \"$@\"";
    (Brim::Limit, ["sh", "-c", limit].map(str::to_owned).to_vec(), complaints)
}

async fn fill_a_disk(store: TestStore, wanted: &str) {
    let folder = store.folder().unwrap().join("disk");
    fs::create_dir(&folder).unwrap();
    let (scheme, _) = store.url().split_once(':').unwrap();
    let url = format!("{scheme}:{}", folder.join("troop").display());
    let (brim, prefix, complaints) = find_brim(&folder);
    let prefix: Vec<_> = prefix.iter().map(String::as_str).collect();
    let mut other = Other::start_under(&prefix, Role::Fill, brim.name(), &url, TeamId(Uuid::nil()));
    let told = other.hear().unwrap_or_else(|| {
        panic!("{prefix:?} did not work; it needs `apt-get install util-linux`\n{complaints}")
    });
    assert_eq!(other.hear().as_deref(), Some("there is space again"));
    other.finish();
    let told = in_folder(&store, told);
    match brim {
        Brim::Disk => assert_eq!(told, wanted),
        // SQLite does not report the limit as the cause.
        Brim::Limit => assert!(told.starts_with("unavailable: "), "{told}"),
    }
}

fn is_root() -> bool {
    fs::metadata("/proc/self")
        .is_ok_and(|process| std::os::unix::fs::MetadataExt::uid(&process) == 0)
}

#[tokio::test]
async fn a_full_disk_blocks_sqlite_and_breaks_nothing() {
    let wanted = "unavailable: the disk of `DIR/disk/troop` is full | hint: free some space on this disk: `df -h DIR/disk`";
    fill_a_disk(sqlite_store().await, wanted).await;
}

#[tokio::test]
async fn a_full_disk_blocks_files_and_breaks_nothing() {
    let wanted = "unavailable: `DIR/disk/troop/teams/crew/log.jsonl` cannot be written: the disk is full | hint: free some space on this disk: `df -h DIR/disk/troop/teams/crew`";
    fill_a_disk(files_store().await, wanted).await;
}

/// Runs in another process, as a user that may only read.
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
