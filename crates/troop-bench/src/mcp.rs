//! The cost of a tool call over MCP, beside a bare server of the same library that only echoes, and beside the board itself.

use std::{
    io::{BufRead, BufReader, Write},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    time::Duration,
};

use anyhow::{Context as _, Result, ensure};
use futures_util::future::try_join_all;
use rmcp::{
    ErrorData, RoleServer, ServerHandler, ServiceExt as _,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ServerCapabilities,
        ServerConfig,
    },
    service::RequestContext,
};
use serde_json::{Value, json};
use tokio::time::Instant;
use troop_model::{Actor, Command as Asked, MemberName, TaskCommand, TaskNumber};
use troop_runtime::{Board, CommandRequest};

use crate::{
    ROUNDS,
    cli::BenchMcpArgs,
    outcome::{Comparison, Subject, Target, Throughput, Unit},
    output::BenchPrinter,
    team,
    workbench::Workbench,
};

/// How many tasks the board has.
const N_TASKS: usize = 10;
/// How many writes are in flight at once.
const AT_ONCE: [usize; 2] = [1, 8];
const BOARD: &str = "the same commands on a board, durable";

/// An MCP server that echoes its input.
#[derive(Clone, Copy, Debug)]
struct Echo;

impl ServerHandler for Echo {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let text = request.arguments.map_or(Value::Null, Value::Object).to_string();
        Ok(CallToolResult::success(vec![ContentBlock::text(text)]).into())
    }
}

/// Echoes until its client disconnects.
pub(crate) async fn echo() -> Result<()> {
    let running = Echo.serve(rmcp::transport::stdio_pipes()).await?;
    running.waiting().await?;
    Ok(())
}

pub(crate) async fn run(
    args: &BenchMcpArgs,
    bench: &Workbench,
    printer: &BenchPrinter,
) -> Result<()> {
    bench.warn_if_in_memory(printer);
    let url = format!("sqlite:{}", bench.join("mcp.db").display());
    let board = team::create(team::open_store(&url).await?, 1).await?;
    team::add_tasks(&board, N_TASKS, None).await?;
    board.close().await;
    // A separate board: a shared log would add the time to read the other's events, which is not measured.
    let own = format!("sqlite:{}", bench.join("board.db").display());
    let board = team::create(team::open_store(&own).await?, 1).await?;
    team::add_tasks(&board, N_TASKS, None).await?;
    let slice = Duration::from_secs(args.seconds) / ROUNDS;

    let mut bare = MeasuredServer::start(&mut bench.child_command(&["mcp-echo"]))?;
    let mut ours = bench.troop_command();
    ours.args(["mcp", "--as", "lead", "--store", &url]);
    let mut ours = MeasuredServer::start(&mut ours)?;
    // The echo is as long as the answer, so that both transfer the same.
    let read = json!({"action": "list"});
    let answer = ours.call("team_tasks", &read)?;
    // On one task after the other, since the number of comments on a task is limited.
    let mut tasks = (1..=N_TASKS).cycle();
    let mut write = || {
        let task = tasks.next().unwrap_or_default().to_string();
        json!({"action": "comment", "task_id": task, "text": "so far so good"})
    };
    let mut echoes = Throughput::default();
    let mut reads = Throughput::default();
    let mut writes = [Throughput::default(); 2];
    let mut commands = [Throughput::default(); 2];
    for _ in 0..ROUNDS {
        echoes += for_a_while(slice, 1, || bare.call("echo", &json!({"text": answer})).map(drop))?;
        reads += for_a_while(slice, 1, || ours.call("team_tasks", &read).map(drop))?;
        for ((writes, commands), n_calls) in writes.iter_mut().zip(&mut commands).zip(AT_ONCE) {
            *writes +=
                for_a_while(slice, n_calls, || ours.call_at_once(n_calls, "team_tasks", &write()))?;
            *commands += comment_for_a_while(slice, n_calls, &board).await?;
        }
    }
    board.close().await;
    let subject = |what, against| Subject { part: "mcp", what, against, unit: Unit::PerSecond };
    let outcomes = [
        Comparison::new(
            subject("tool call that reads, one after another", "a bare rmcp server that echoes"),
            reads.rate(),
            echoes.rate(),
            Target::AtLeast(0.5),
        ),
        Comparison::new(
            subject("tool call that writes, one after another", BOARD),
            writes[0].rate(),
            commands[0].rate(),
            Target::AtLeast(0.5),
        ),
        Comparison::new(
            subject("tool call that writes, eight at once", BOARD),
            writes[1].rate(),
            commands[1].rate(),
            Target::AtLeast(0.5),
        ),
    ];
    printer.outcomes(&outcomes, args.seconds)
}

/// Repeats a step of `n_each` operations until time is up.
fn for_a_while(
    slice: Duration,
    n_each: usize,
    mut step: impl FnMut() -> Result<()>,
) -> Result<Throughput> {
    let begin = Instant::now();
    let mut n_operations = 0;
    while n_operations == 0 || begin.elapsed() < slice {
        step()?;
        n_operations += n_each as u64;
    }
    Ok(Throughput { n_operations, elapsed: begin.elapsed() })
}

/// Adds comments on a board, several at once, until time is up.
async fn comment_for_a_while(slice: Duration, n_each: usize, board: &Board) -> Result<Throughput> {
    let mut tasks = (1..=N_TASKS as u32).cycle();
    let mut comment = || {
        let task = TaskNumber(tasks.next().unwrap_or_default()).into();
        let comment = TaskCommand::Comment { task, text: "so far so good".to_owned() };
        board.submit(CommandRequest::new(Actor::agent(&MemberName::lead()), Asked::Task(comment)))
    };
    let begin = Instant::now();
    let mut n_operations = 0;
    while n_operations == 0 || begin.elapsed() < slice {
        try_join_all((0..n_each).map(|_| comment())).await?;
        n_operations += n_each as u64;
    }
    Ok(Throughput { n_operations, elapsed: begin.elapsed() })
}

/// An MCP server in a separate process, and a minimal client, the same for both contestants.
struct MeasuredServer {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    n_calls: u64,
}

impl MeasuredServer {
    fn start(command: &mut Command) -> Result<Self> {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().context("a child has an output")?);
        let mut server = Self { child, input, output, n_calls: 0 };
        let hello = json!({
            "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "0"},
        });
        server.ask("initialize", &hello)?;
        server.write(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))?;
        Ok(server)
    }

    fn call(&mut self, tool: &str, arguments: &Value) -> Result<String> {
        let result = self.ask("tools/call", &json!({"name": tool, "arguments": arguments}))?;
        ensure!(result.get("isError") != Some(&json!(true)), "a tool call failed: {result}");
        let text = result.pointer("/content/0/text").and_then(Value::as_str);
        Ok(text.context("a result has a text")?.to_owned())
    }

    /// Calls a tool several times at once.
    fn call_at_once(&mut self, n_calls: usize, tool: &str, arguments: &Value) -> Result<()> {
        for _ in 0..n_calls {
            self.send("tools/call", &json!({"name": tool, "arguments": arguments}))?;
        }
        for _ in 0..n_calls {
            let result = self.next_result()?;
            ensure!(result.get("isError") != Some(&json!(true)), "a tool call failed: {result}");
        }
        Ok(())
    }

    fn ask(&mut self, method: &str, params: &Value) -> Result<Value> {
        self.send(method, params)?;
        self.next_result()
    }

    fn send(&mut self, method: &str, params: &Value) -> Result<()> {
        self.n_calls += 1;
        let id = self.n_calls;
        self.write(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
    }

    /// The next result, of whichever call finished first.
    fn next_result(&mut self) -> Result<Value> {
        loop {
            let mut line = String::new();
            ensure!(self.output.read_line(&mut line)? > 0, "a server of the benchmark ended early");
            let mut said: Value = serde_json::from_str(&line)?;
            if said.get("id").is_some() {
                ensure!(said.get("error").is_none(), "a call failed: {line}");
                return Ok(said.get_mut("result").map(Value::take).unwrap_or_default());
            }
        }
    }

    fn write(&mut self, message: &Value) -> Result<()> {
        let mut line = message.to_string();
        line.push('\n');
        Ok(self.input.as_mut().context("a child has an input")?.write_all(line.as_bytes())?)
    }
}

impl Drop for MeasuredServer {
    fn drop(&mut self) {
        drop(self.input.take());
        drop(self.child.wait());
    }
}
