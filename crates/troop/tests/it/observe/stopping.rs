//! An observer stops when it is asked to, whatever it waits for.

use std::{
    fs,
    io::Write as _,
    process::{Child, Stdio},
    time::Duration,
};

use rustix::process::{Pid, Signal};
use tokio::net::TcpStream;
use troop_testkit::wait_for;

use super::{
    Printing, Troop,
    listening::{dial, listening},
    with_streams,
};

/// Much less than the timeout of a silent connection.
const SOON: Duration = Duration::from_secs(8);

fn signal(child: &Child, signal: Signal) {
    rustix::process::kill_process(Pid::from_child(child), signal).unwrap();
}

/// Waits for a program, which must end soon; returns its exit code.
async fn ended(mut child: Child) -> Option<i32> {
    let ended = tokio::task::spawn_blocking(move || child.wait().unwrap().code());
    tokio::time::timeout(SOON, ended).await.expect("it still runs").unwrap()
}

#[tokio::test]
async fn an_agent_that_does_not_read_does_not_block_a_stop() {
    let troop = Troop::new();
    let (mut child, address) = listening(&troop, &[]);
    let agent = dial(&address).await;
    let mut stdin = child.stdin.take().unwrap();
    let (tell, mut n_written) = tokio::sync::watch::channel(0);
    // More than all buffers between the two can hold.
    let line = format!("{}\n", "x".repeat(1 << 20));
    std::thread::spawn(move || {
        while stdin.write_all(line.as_bytes()).is_ok() {
            tell.send_modify(|n_written| *n_written += 1);
        }
    });
    // It is blocked when it takes nothing more.
    while tokio::time::timeout(Duration::from_secs(1), n_written.changed()).await.is_ok() {}
    signal(&child, Signal::INT);
    assert_eq!(ended(child).await, Some(0));
    drop(agent);
}

#[tokio::test]
async fn an_unfinished_handshake_does_not_block_a_stop() {
    let troop = Troop::new();
    let (child, address) = listening(&troop, &[]);
    let n_open = || fs::read_dir(format!("/proc/{}/fd", child.id())).unwrap().count();
    let n_before = n_open();
    let silent = TcpStream::connect(&address).await.unwrap();
    wait_for("the connection is accepted", async || (n_open() > n_before).then_some(())).await;
    signal(&child, Signal::TERM);
    assert_eq!(ended(child).await, Some(0));
    drop(silent);
}

#[tokio::test]
async fn a_reader_that_does_not_read_does_not_block_a_stop() {
    for second in [None, Some(Signal::TERM)] {
        let troop = Troop::new();
        let mut command = troop.command(&["observe", "--pass-through"]);
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let stdout = child.stdout.take().unwrap();
        std::thread::spawn(move || while stdin.write_all(&[b'\n'; 1 << 16]).is_ok() {});
        wait_for("the pipe is full", async || {
            (rustix::io::ioctl_fionread(&stdout).unwrap() >= 1 << 16).then_some(())
        })
        .await;
        signal(&child, Signal::INT);
        if let Some(second) = second {
            signal(&child, second);
        }
        let code = ended(child).await;
        assert!(matches!(code, Some(130 | 143)), "{code:?}");
        drop(stdout);
    }
}

#[test]
fn the_last_screen_stays_and_the_terminal_is_restored() {
    let troop = with_streams();
    // The shell gets Ctrl-C too, and must continue.
    let line = format!(
        "trap : INT; stty rows 24 cols 80; before=$(stty -g); {} observe 47.ndjson --follow --watch; \
         echo \"code $?\"; [ \"$before\" = \"$(stty -g)\" ] && echo as before",
        env!("CARGO_BIN_EXE_troop")
    );
    let mut terminal = troop.on_terminal(&line).spawn().unwrap();
    let mut keyboard = terminal.stdin.take().unwrap();
    let mut screen = Printing::new(terminal);
    screen.wait_for("Task B");
    keyboard.write_all(b"\x03").unwrap();
    screen.wait_for("as before");
    drop(keyboard);
    let run = screen.end();
    assert_eq!(run.code, 0, "{run:#?}");
    // After the last cursor movement upwards, which begins a redraw.
    let up = run
        .out
        .split("\u{1b}[")
        .filter(|part| part.split_once('A').is_some_and(|(n, _)| n.parse::<u32>().is_ok()));
    let from = up.last().expect("it was redrawn at the end");
    let (_, last_view) = run.out.split_at(run.out.rfind(from).unwrap());
    for text in ["alice", "Task A", "Task B", "code 0"] {
        assert!(last_view.contains(text), "`{text}` in {last_view:?}");
    }
    for mode in ["\u{1b}[?1049h", "\u{1b}[?25l"] {
        assert!(!run.out.contains(mode), "{mode:?}");
    }
}
