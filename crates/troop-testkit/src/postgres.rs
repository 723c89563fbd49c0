//! A throw-away PostgreSQL server, shared by all test processes of a run.
//!
//! Every user holds a shared lock on `users` for as long as its process lives. The first starts the server, and with it
//! a small shell script that waits until nobody holds that lock for a while, and then stops the server and removes all
//! it had. Starting and stopping both hold `start`, so neither can happen in the middle of the other.

mod bouncer;
mod keeper;
mod own;

use std::{
    env,
    ffi::OsStr,
    fs::{self, DirBuilder, File, Permissions},
    io,
    os::unix::{
        fs::{DirBuilderExt, FileExt, MetadataExt, PermissionsExt},
        net::UnixStream,
        process::CommandExt,
    },
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    sync::OnceLock,
};

use tokio_postgres::NoTls;
use uuid::Uuid;

pub use bouncer::{Bouncer, StartupSettings};
pub use own::{OwnServer, ServerEnd, ServerPair};

const SOCKET: &str = ".s.PGSQL.5432";

/// Waits until nobody uses the server and nobody new has come for half a minute, then stops it and removes its folder.
///
/// Between two tests there may be no user for a moment, and starting costs seconds.
const REAPER: &str = r#"
(cd / && while :; do
    flock --exclusive "$FOLDER/users" true
    sleep 10
    flock --exclusive "$FOLDER/start" sh -c '
        flock --exclusive --nonblock "$FOLDER/users" true || exit 1
        test $(($(date +%s) - $(stat --format=%Y "$FOLDER/users"))) -gt 30 || exit 1
        $AS "$BIN/pg_ctl" stop --pgdata="$FOLDER/data" --mode=immediate
        rm -rf "$FOLDER"
    ' && exit
    test -d "$FOLDER" || exit
done) >/dev/null 2>&1 &
"#;

/// A database for one test.
#[derive(Debug)]
pub struct Database {
    url: String,
}

impl Database {
    /// Its URL, for any process on this machine.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }
}

/// Makes an empty database on the shared server.
///
/// # Panics
///
/// If PostgreSQL is not installed; the message says how to install it.
pub async fn database() -> Database {
    let server = Server::shared();
    let name = format!("test_{}", Uuid::now_v7().simple());
    execute(&server.url("postgres"), &format!("CREATE DATABASE {name}")).await;
    Database { url: server.url(&name) }
}

/// Runs statements, as an administrator beside the store would.
///
/// # Panics
///
/// If the server refuses one of them.
pub async fn execute(url: &str, sql: &str) {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
    let statements = async move {
        let done = client.batch_execute(sql).await;
        drop(client);
        done
    };
    // The connection ends when the client is dropped.
    let (_, done) = tokio::join!(connection, statements);
    done.unwrap();
}

/// The server, while this process uses it.
struct Server {
    folder: PathBuf,
    /// Locked, shared with other users, until the process ends.
    _users: File,
}

impl Server {
    fn shared() -> &'static Self {
        static SERVER: OnceLock<Server> = OnceLock::new();
        SERVER.get_or_init(Self::join)
    }

    fn url(&self, database: &str) -> String {
        format!("postgresql:///{database}?user=postgres&host={}", self.folder.display())
    }

    fn join() -> Self {
        // Short, because the path of a socket is; one per user, because files have owners.
        let uid = rustix::process::getuid().as_raw();
        let folder = PathBuf::from("/tmp").join(format!("troop-postgres-{uid}"));
        let start = lock_start(&folder);
        let users = File::create(folder.join("users")).unwrap();
        // The time of this write tells when the last user came.
        users.write_all_at(b"\n", 0).unwrap();
        users.lock_shared().unwrap();
        if UnixStream::connect(folder.join(SOCKET)).is_err() {
            start_server(&folder);
        }
        drop(start);
        Self { folder, _users: users }
    }
}

/// Locks the file under which the server starts and stops; again if it was removed meanwhile.
fn lock_start(folder: &Path) -> File {
    let path = folder.join("start");
    loop {
        let made = DirBuilder::new().recursive(true).mode(0o700).create(folder);
        let file = match made.and_then(|()| File::create(&path)) {
            // The folder was removed while we looked at it, or just after.
            Err(error) if is_gone(&error) => continue,
            file => file.unwrap(),
        };
        file.lock().unwrap();
        let is_current = fs::metadata(&path).is_ok_and(|found| {
            file.metadata().is_ok_and(|held| (held.dev(), held.ino()) == (found.dev(), found.ino()))
        });
        if is_current {
            return file;
        }
    }
}

fn is_gone(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::AlreadyExists)
}

fn start_server(folder: &Path) {
    let bin = binaries();
    let data = folder.join("data");
    // The server has its socket and data here, and access to the socket makes one its administrator.
    if rustix::process::getuid().is_root() {
        run(Command::new("chown").arg("postgres:").arg(folder));
    }
    fs::set_permissions(folder, Permissions::from_mode(0o700)).unwrap();
    // A server that was killed leaves these behind.
    drop(fs::remove_dir_all(&data));
    let mut initdb = as_server_user(&bin.join("initdb"));
    initdb.args(["--no-sync", "--auth=trust", "--username=postgres", "--encoding=UTF8"]);
    run(initdb.arg("--locale=C").arg("--pgdata").arg(&data));
    // The data need not survive a crash, so nothing waits for the disk.
    let options = format!(
        "-c listen_addresses='' -c unix_socket_directories={} -c unix_socket_permissions=0700 \
         -c max_connections=300 -c shared_buffers=64MB -c max_wal_size=512MB -c autovacuum=off -c fsync=off",
        folder.display()
    );
    let mut start = as_server_user(&bin.join("pg_ctl"));
    start.args([
        "start",
        "--wait",
        "--timeout=240",
        "--silent",
        "--log=/dev/null",
        "--options",
        &options,
    ]);
    run(start.arg("--pgdata").arg(&data));
    let mut reaper = Command::new("sh");
    reaper
        .args(["-c", REAPER])
        .env("FOLDER", folder)
        .env("BIN", &bin)
        .env("AS", prefix().join(" "));
    // A separate process group: the test may end, or be killed, before it.
    run(reaper.process_group(0));
}

/// PostgreSQL refuses to run as root, so root runs it as the package's user.
fn prefix() -> &'static [&'static str] {
    if rustix::process::getuid().is_root() {
        &["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]
    } else {
        &[]
    }
}

fn as_server_user(program: &Path) -> Command {
    let mut words = prefix().iter().map(OsStr::new).chain([program.as_os_str()]);
    let mut command = Command::new(words.next().unwrap_or(program.as_os_str()));
    command.args(words).current_dir("/").env_remove("LC_ALL");
    command
}

fn run(command: &mut Command) {
    let Output { status, stderr, .. } =
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).output().unwrap();
    assert!(status.success(), "{command:?}: {}", String::from_utf8_lossy(&stderr));
}

fn binaries() -> PathBuf {
    let installed = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut places: Vec<_> = installed.map(|version| version.path().join("bin")).collect();
    places.sort();
    let path = env::var_os("PATH").unwrap_or_default();
    let found = env::split_paths(&path).chain(places.into_iter().rev());
    let found = found.filter_map(|place| fs::canonicalize(place.join("pg_ctl")).ok());
    let found = found.filter_map(|pg_ctl| pg_ctl.parent().map(Path::to_owned));
    found
        .into_iter()
        .find(|place| place.join("initdb").exists())
        .expect("PostgreSQL's programs are needed: `apt-get install postgresql`")
}
