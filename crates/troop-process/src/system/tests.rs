//! The system's information about processes, on Linux and elsewhere.

use super::*;
use crate::command;

fn stat(state: &str) -> String {
    let rest = (1..=15).map(|nth| format!(" {nth}")).collect::<String>();
    format!("42 (a) b (c) {state} 7 8 9{rest} 4711 more")
}

#[test]
fn a_process_is_read_past_any_program_name() {
    let dead = ProcessStat::parse(&stat("Z")).unwrap();
    assert_eq!((dead.above, dead.group, dead.session, dead.started), (7, 8, 9, 4711));
    assert_eq!((dead.is_dead(), dead.is_stopped()), (true, false));
    for (state, is_stopped) in [("S", false), ("R", false), ("T", true), ("t", true)] {
        let it = ProcessStat::parse(&stat(state)).unwrap();
        assert_eq!((it.is_dead(), it.is_stopped()), (false, is_stopped), "{state}");
    }
    for torn in ["", "42 (a", "42 (a)", "42 (a) S 7 8", "42 (a) S x 8 9"] {
        assert_eq!(ProcessStat::parse(torn), None, "{torn}");
    }
}

/// Whether an environment has this variable.
fn has(environment: &[u8], variable: &[u8]) -> bool {
    environment.split(|byte| *byte == 0).any(|it| it == variable)
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn linux_tells_about_other_processes() {
    let mut shell = command("sh");
    shell.args(["-c", "read end"]).env("TROOP_TEST", "a b").stdin(std::process::Stdio::piped());
    let mut child = shell.spawn().unwrap();
    let id = child.id().unwrap();
    let own = std::process::id();
    assert!(children(own).contains(&id));
    assert_eq!(ProcessStat::read(id).map(|it| (it.above, it.is_dead())), Some((own, false)));
    // The new program comes with exec, which follows the start, and its environment comes last.
    let is_marked = || environment_of(id).is_some_and(|it| has(&it, b"TROOP_TEST=a b"));
    troop_testkit::wait_for("the shell to run", async || is_marked().then_some(())).await;
    assert_eq!(name_of(id), "sh");
    assert_eq!(arguments_of(id), ["sh", "-c", "read end"]);
    assert!(program_of(id).is_some_and(|it| it != program_of(own).unwrap()));
    assert_eq!(folder_of(id), std::env::current_dir().ok());
    assert!(processes().unwrap().contains(&id));
    let held = ProcessHandle::open(id).unwrap();
    held.signal(Signal::KILL).unwrap();
    child.wait().await.unwrap();
    assert!(held.signal(Signal::KILL).is_err() && ProcessStat::read(id).is_none());
}

#[tokio::test]
async fn elsewhere_a_program_knows_itself_and_can_signal_its_children() {
    let own = std::process::id();
    let path = [b"PATH=", std::env::var_os("PATH").unwrap().as_encoded_bytes()].concat();
    assert!(has(&portable::environment_of(own).unwrap(), &path));
    assert_eq!(portable::program_of(own), std::env::current_exe().ok());
    let mut child = command("sleep").arg("600").spawn().unwrap();
    let id = child.id().unwrap();
    assert_eq!((portable::environment_of(id), portable::program_of(id)), (None, None));
    let pid = Pid::from_raw(i32::try_from(id).unwrap()).unwrap();
    let held = portable::hold(pid).unwrap();
    portable::signal(&held, Signal::KILL).unwrap();
    assert!(!child.wait().await.unwrap().success());
    assert!(portable::hold(pid).is_err(), "it is gone");
}
