//! The baseline of PostgreSQL: `SKIP LOCKED` claims and completions, driven by `pgbench`.

use std::{
    io::ErrorKind,
    path::PathBuf,
    process::{Command, Stdio},
    time::Duration,
};

use anyhow::{Context as _, Result, ensure};

use crate::{report::WrongUse, server::ServerSession, team, workbench::Workbench};

/// How many clients are tried; the best counts.
const CLIENTS: [usize; 4] = [4, 8, 16, 32];
/// More tasks than any server claims in a second.
const N_TASKS: u64 = 50_000;

const TABLES: &str = "
CREATE TABLE task (id bigserial PRIMARY KEY, status text NOT NULL, owner int, result text);
CREATE INDEX pending ON task (id) WHERE status = 'pending';
CREATE TABLE event (version bigserial PRIMARY KEY, body text NOT NULL);
";
/// Each statement is one transaction, with one commit and one round trip.
const SCRIPT: &str = "
WITH next AS (SELECT id FROM task WHERE status = 'pending' ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED), \
claimed AS (UPDATE task SET status = 'in_progress', owner = :client_id FROM next WHERE task.id = next.id RETURNING task.id), \
logged AS (INSERT INTO event (body) SELECT 'LINE' FROM claimed) SELECT id FROM claimed \\gset
WITH done AS (UPDATE task SET status = 'completed', result = 'done' WHERE id = :id AND status = 'in_progress' RETURNING id), \
logged AS (INSERT INTO event (body) SELECT 'LINE' FROM done) SELECT id FROM done;
";

/// Tables to claim from, and a script that does it.
#[derive(Debug)]
pub(crate) struct Pgbench {
    url: String,
    session: ServerSession,
    script: PathBuf,
    n_clients: usize,
}

impl Pgbench {
    /// Finds the number of clients with the highest throughput.
    pub(crate) async fn new(url: &str, bench: &Workbench, span: Duration) -> Result<Self> {
        let session = ServerSession::open(url, |_| ()).await?;
        session.execute(TABLES).await?;
        let script = bench.join("pgbench.sql");
        std::fs::write(&script, SCRIPT.trim_start().replace("LINE", &team::sample_line()?))?;
        let mut raw = Self { url: url.to_owned(), session, script, n_clients: 1 };
        let mut best = (0.0, 1);
        for n_clients in CLIENTS {
            raw.n_clients = n_clients;
            let rate = raw.run(span).await?;
            if rate > best.0 {
                best = (rate, n_clients);
            }
        }
        raw.n_clients = best.1;
        Ok(raw)
    }

    /// Claims and completes for a while; returns the operations per second.
    pub(crate) async fn run(&self, span: Duration) -> Result<f64> {
        self.top_up(1_000 + N_TASKS * span.as_secs()).await?;
        let clients = self.n_clients.to_string();
        let mut pgbench = Command::new("pgbench");
        pgbench.args(["--no-vacuum", "--protocol=prepared", "--jobs=2", "--client", &clients]);
        match span.as_secs() {
            0 => pgbench.arg("--transactions=1"),
            seconds => pgbench.arg(format!("--time={seconds}")),
        };
        pgbench.arg("--file").arg(&self.script).arg(&self.url).stdin(Stdio::null());
        let output = pgbench.output().map_err(|error| {
            if error.kind() != ErrorKind::NotFound {
                return anyhow::Error::from(error);
            }
            let hint = "install it: `apt-get install postgresql-contrib`";
            WrongUse::new("there is no `pgbench` to measure PostgreSQL with", hint).into()
        })?;
        let complaints = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "`pgbench` ended badly: {}", complaints.trim());
        let report = String::from_utf8_lossy(&output.stdout);
        let rate = report.lines().find_map(|line| line.strip_prefix("tps = "));
        let rate = rate.and_then(|rest| rest.split_whitespace().next());
        let pairs: f64 = rate.context("`pgbench` did not tell a rate")?.parse()?;
        Ok(2.0 * pairs)
    }

    /// Refills and vacuums the table, so that every run starts alike.
    async fn top_up(&self, n_tasks: u64) -> Result<()> {
        let pending = "(SELECT count(*) FROM task WHERE status = 'pending')";
        let insert = "INSERT INTO task (status) SELECT 'pending' FROM generate_series";
        self.session.execute(&format!("{insert}(1, {n_tasks} - {pending})")).await?;
        self.session.execute("VACUUM ANALYZE task").await?;
        self.session.execute("CHECKPOINT").await
    }
}
