//! Servers of one test alone, which may be restarted, killed and promoted.

use std::{
    fs::{self, OpenOptions, Permissions},
    io::Write as _,
    net::Ipv4Addr,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use tempfile::TempDir;
use tokio::{
    task::spawn_blocking,
    time::{Instant, sleep},
};
use tokio_postgres::{NoTls, SimpleQueryMessage};

use super::{as_server_user, binaries, execute, keeper::Keeper, run};

const DATABASE: &str = "troop";
/// How long a server may take to start. Long, because the machine may be busy.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);
pub(super) const LOOK: Duration = Duration::from_millis(20);

/// How a server ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ServerEnd {
    /// It ends all sessions and writes all that it has.
    Fast,
    /// It ends at once, and repairs its files when it starts again.
    Immediate,
    /// The system ends it: `kill -9`.
    Killed,
}

impl ServerEnd {
    fn signal(self) -> &'static str {
        match self {
            Self::Fast => "INT",
            Self::Immediate => "QUIT",
            Self::Killed => "KILL",
        }
    }
}

/// A server of one test alone, with the database `troop`.
#[derive(Debug)]
pub struct OwnServer {
    /// Its socket is here, and below it its data. Short, because the path of a socket is.
    folder: PathBuf,
    /// Ends before the folder goes.
    process: Option<Keeper>,
    /// Where it takes connections beside its socket.
    addresses: Vec<Ipv4Addr>,
    _place: TempDir,
}

impl OwnServer {
    /// Makes and starts a server, which takes connections at its socket and at these addresses of this machine.
    pub async fn start(addresses: &[Ipv4Addr]) -> Self {
        let mut server = Self { addresses: addresses.to_vec(), ..Self::place() };
        let mut initdb = as_server_user(&binaries().join("initdb"));
        initdb.args(["--no-sync", "--auth=trust", "--username=postgres", "--encoding=UTF8"]);
        initdb.arg("--locale=C").arg("--pgdata").arg(server.data());
        run_aside(initdb).await;
        if !addresses.is_empty() {
            let rules = server.data().join("pg_hba.conf");
            let mut file = OpenOptions::new().append(true).open(rules).unwrap();
            writeln!(file, "host all all samenet trust").unwrap();
        }
        server.start_again().await;
        execute(&server.url_of("postgres"), &format!("CREATE DATABASE {DATABASE}")).await;
        server
    }

    /// A folder for a server, which is the server's.
    fn place() -> Self {
        let place = tempfile::Builder::new().prefix("troop-pg-").tempdir_in("/tmp").unwrap();
        let folder = place.path().to_owned();
        give_to_server(&folder);
        Self { folder, process: None, addresses: Vec::new(), _place: place }
    }

    /// The folder of its socket.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    fn data(&self) -> PathBuf {
        self.folder.join("data")
    }

    /// The database's URL, for any process on this machine.
    #[must_use]
    pub fn url(&self) -> String {
        self.url_of(DATABASE)
    }

    /// The URL of a server's database for machines that reach it at an address.
    #[must_use]
    pub fn url_at(address: Ipv4Addr) -> String {
        format!("postgresql://postgres@{address}/{DATABASE}")
    }

    fn url_of(&self, database: &str) -> String {
        format!("postgresql:///{database}?user=postgres&host={}", self.folder.display())
    }

    /// Starts it, and waits until it answers.
    pub async fn start_again(&mut self) {
        let url = self.url_of("postgres");
        let deadline = Instant::now() + PATIENCE;
        loop {
            // Sessions of a server that was killed may still be on their way out, and then the new one does not start.
            if self.process.as_mut().is_none_or(Keeper::check_ended) {
                self.process = Some(Keeper::start(&self.command(), ServerEnd::Immediate.signal()));
            }
            if tokio_postgres::connect(&url, NoTls).await.is_ok() {
                return;
            }
            assert!(
                Instant::now() < deadline,
                "waited {PATIENCE:?} in vain for: the server answers"
            );
            sleep(LOOK).await;
        }
    }

    /// The data need not survive a crash of the machine, so nothing waits for the disk.
    fn command(&self) -> Command {
        let mut command = as_server_user(&binaries().join("postgres"));
        command.arg("-D").arg(self.data());
        let socket = format!("unix_socket_directories={}", self.folder.display());
        let addresses: Vec<_> = self.addresses.iter().map(Ipv4Addr::to_string).collect();
        let listen = format!("listen_addresses={}", addresses.join(","));
        for setting in [&listen, &socket, "max_connections=60", "fsync=off"] {
            command.args(["-c", setting]);
        }
        command
    }

    /// Ends it, and waits until it is gone.
    pub async fn end(&mut self, how: ServerEnd) {
        if let Some(mut process) = self.process.take() {
            process.end(how.signal()).await;
        }
    }
}

/// Runs a program while other tasks of this thread go on.
async fn run_aside(mut command: Command) {
    spawn_blocking(move || run(&mut command)).await.unwrap();
}

/// Whether the server waits for a standby that is there.
async fn has_standby(url: &str) -> bool {
    let Ok((client, connection)) = tokio_postgres::connect(url, NoTls).await else { return false };
    let asked = async move {
        let state = "SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync'";
        client.simple_query(state).await.unwrap_or_default()
    };
    let (_, said) = tokio::join!(connection, asked);
    said.iter().any(|it| matches!(it, SimpleQueryMessage::Row(_)))
}

/// A primary server and its synchronous standby.
#[derive(Debug)]
pub struct ServerPair {
    /// The primary, until a failover.
    pub first: OwnServer,
    /// Its standby, and the primary after a failover.
    pub second: OwnServer,
}

impl ServerPair {
    /// Makes and starts both. From now on, what is acknowledged is on both.
    pub async fn start() -> Self {
        let first = OwnServer::start(&[]).await;
        let mut second = OwnServer::place();
        let mut copy = as_server_user(&binaries().join("pg_basebackup"));
        copy.args([
            "--no-sync",
            "--checkpoint=fast",
            "--write-recovery-conf",
            "--username=postgres",
        ]);
        copy.arg("--host").arg(first.folder()).arg("--pgdata").arg(second.data());
        run_aside(copy).await;
        second.start_again().await;
        let url = first.url_of("postgres");
        execute(&url, "ALTER SYSTEM SET synchronous_standby_names = '*'").await;
        execute(&url, "SELECT pg_reload_conf()").await;
        let deadline = Instant::now() + PATIENCE;
        while !has_standby(&url).await {
            assert!(Instant::now() < deadline, "waited {PATIENCE:?} in vain for: the standby");
            sleep(LOOK).await;
        }
        Self { first, second }
    }

    /// The URL that names both.
    #[must_use]
    pub fn url(&self) -> String {
        let [first, second] = [&self.first, &self.second]
            .map(|it| it.folder.display().to_string().replace('/', "%2F"));
        format!(
            "postgresql://{first},{second}/{DATABASE}?user=postgres&target_session_attrs=read-write"
        )
    }

    /// Makes the standby the primary. The old one must be down: nobody else ends it.
    pub async fn promote(&self) {
        execute(&self.second.url_of("postgres"), "SELECT pg_promote()").await;
    }
}

pub(super) fn give_to_server(folder: &Path) {
    if rustix::process::getuid().is_root() {
        run(Command::new("chown").arg("postgres:").arg(folder));
    }
    fs::set_permissions(folder, Permissions::from_mode(0o700)).unwrap();
}
