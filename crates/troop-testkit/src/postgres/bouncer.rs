//! `PgBouncer` in transaction mode before the shared server.

use std::{
    env,
    fs::{self, Permissions},
    os::unix::{fs::PermissionsExt as _, net::UnixStream},
    path::{Path, PathBuf},
};

use tempfile::TempDir;
use tokio::time::{Instant, sleep};

use super::{
    Server, as_server_user, database,
    keeper::Keeper,
    own::{LOOK, PATIENCE, give_to_server},
};

/// Its socket; the number is that of its port.
const SOCKET: &str = ".s.PGSQL.6432";

/// A pooler of one test alone.
#[derive(Debug)]
pub struct Bouncer {
    /// Ends before the folder goes.
    _process: Keeper,
    folder: TempDir,
}

/// How a pooler treats the settings that a client begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StartupSettings {
    /// The client is refused.
    Refused,
    /// They are dropped without a word.
    Ignored,
}

impl Bouncer {
    /// Starts a pooler before the shared server.
    ///
    /// # Panics
    ///
    /// If `PgBouncer` is not installed; the message says how to install it.
    pub async fn start(settings: StartupSettings) -> Self {
        Self::before(&Server::shared().folder, settings).await
    }

    /// Starts a pooler before the server whose socket is in this folder.
    pub async fn before(server: &Path, settings: StartupSettings) -> Self {
        let folder = tempfile::Builder::new().prefix("troop-pb-").tempdir_in("/tmp").unwrap();
        let shown = folder.path().display();
        let ignored = match settings {
            StartupSettings::Refused => "",
            StartupSettings::Ignored => "ignore_startup_parameters = options",
        };
        // Few sessions, so that they are really shared.
        let text = format!(
            "[databases]\n* = host={} user=postgres\n[pgbouncer]\nunix_socket_dir = {shown}\n\
             listen_port = 6432\nauth_type = any\npool_mode = transaction\ndefault_pool_size = 6\n\
             max_client_conn = 300\nserver_login_retry = 1\n{ignored}\n",
            server.display()
        );
        let file = folder.path().join("pgbouncer.ini");
        fs::write(&file, text).unwrap();
        give_to_server(folder.path());
        fs::set_permissions(&file, Permissions::from_mode(0o644)).unwrap();
        let mut command = as_server_user(&program());
        command.arg("-q").arg(&file);
        let process = Keeper::start(&command, "TERM");
        let socket = folder.path().join(SOCKET);
        let deadline = Instant::now() + PATIENCE;
        while UnixStream::connect(&socket).is_err() {
            assert!(Instant::now() < deadline, "waited {PATIENCE:?} in vain for: the pooler");
            sleep(LOOK).await;
        }
        Self { _process: process, folder }
    }

    /// The URL of a database behind it.
    #[must_use]
    pub fn url(&self, database: &str) -> String {
        format!(
            "postgresql:///{database}?user=postgres&port=6432&host={}",
            self.folder.path().display()
        )
    }

    /// The URL of a new database behind it.
    pub async fn database(&self) -> String {
        let url = database().await.url().to_owned();
        let name = url.trim_start_matches("postgresql:///").split('?').next().unwrap().to_owned();
        self.url(&name)
    }
}

/// Debian keeps it where only root looks for programs.
fn program() -> PathBuf {
    let path = env::var_os("PATH").unwrap_or_default();
    let mut places = env::split_paths(&path).chain(["/usr/sbin".into()]);
    places
        .find_map(|place| fs::canonicalize(place.join("pgbouncer")).ok())
        .expect("PgBouncer is needed: `apt-get install pgbouncer`")
}
