//! Tools on real files.

use std::{fs, os::unix::fs::symlink, path::Path};

use serde_json::{Map, Value, json};
use tempfile::TempDir;

use super::{OwnTool, Rules, cut, in_background, schema};
use crate::files::{RulePath, WorkFolder};

fn folder(files: &[(&str, &str)]) -> (TempDir, WorkFolder) {
    let folder = TempDir::new().unwrap();
    for (path, text) in files {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let files = WorkFolder::open(folder.path()).unwrap();
    (folder, files)
}

fn object(value: &Value) -> Map<String, Value> {
    value.as_object().unwrap().clone()
}

/// Runs a tool that needs no turn.
async fn used(tool: OwnTool, input: Value, files: &WorkFolder) -> Result<String, String> {
    used_under(&[], tool, input, files).await
}

/// Runs a tool under rules that deny something.
async fn used_under(
    deny: &[&str],
    tool: OwnTool,
    input: Value,
    files: &WorkFolder,
) -> Result<String, String> {
    let deny = deny.iter().map(|rule| rule.parse().unwrap()).collect();
    let veil = Rules { deny, ..Rules::default() }.veil(tool.name());
    let (input, files) = (object(&input), files.clone());
    in_background(move |over| tool.on_files(&input, &files, &veil, over)).await
}

#[tokio::test]
async fn a_file_is_read_with_line_numbers() {
    let (_folder, files) =
        folder(&[("a.txt", "one\ntwo\r\nthree"), ("empty", ""), ("bin", "a\0b")]);
    let read = async |input| used(OwnTool::Read, input, &files).await;
    let whole = read(json!({"file_path": "a.txt"})).await;
    assert_eq!(whole, Ok("     1\tone\n     2\ttwo\n     3\tthree\n".to_owned()));
    let part = read(json!({"file_path": "./a.txt", "offset": 2, "limit": 1})).await;
    assert_eq!(part, Ok("     2\ttwo\n[there is more; continue with offset 3]\n".to_owned()));
    assert_eq!(read(json!({"file_path": "empty"})).await, Ok("[the file is empty]".to_owned()));
    for (input, wrong) in [
        (json!({"file_path": "bin"}), "`bin` is not a text file"),
        (json!({"file_path": "a.txt", "offset": 9}), "`a.txt` has only 3 lines"),
        (json!({"file_path": "b"}), "`b` does not exist; find files with LS or Glob"),
        (json!({"file_path": "."}), "`.` is a folder; list it with LS"),
        (
            json!({"path": "a.txt"}),
            "missing field `file_path`; the input of `Read` is an object with: file_path, offset, limit",
        ),
    ] {
        assert_eq!(read(input).await, Err(wrong.to_owned()));
    }
}

#[tokio::test]
async fn a_long_file_is_read_in_parts_and_long_lines_are_cut() {
    let lines: String = (1..=5_000).map(|number| format!("line {number}\n")).collect();
    let (_folder, files) = folder(&[("long", &lines), ("wide", &"x".repeat(1_000_000))]);
    let first = used(OwnTool::Read, json!({"file_path": "long"}), &files).await.unwrap();
    let next = first.trim_end().rsplit(' ').next().unwrap().trim_end_matches(']');
    let next: usize = next.parse().unwrap();
    assert!((1_000..=2_001).contains(&next), "{next}");
    let rest =
        used(OwnTool::Read, json!({"file_path": "long", "offset": next}), &files).await.unwrap();
    assert!(rest.contains(&format!("line {next}\n")), "nothing is left out");
    let wide = used(OwnTool::Read, json!({"file_path": "wide"}), &files).await.unwrap();
    assert!(wide.len() < 100_000, "{}", wide.len());
}

#[tokio::test]
async fn an_edit_needs_an_unambiguous_match() {
    let (folder, files) = folder(&[("a", "x = 1\ny = 1\n")]);
    let edit = async |old: &str, new: &str, all: bool| {
        let input =
            json!({"file_path": "a", "old_string": old, "new_string": new, "replace_all": all});
        used(OwnTool::Edit, input, &files).await
    };
    assert_eq!(edit("x = 1", "x = 2", false).await, Ok("changed 1 place in `a`".to_owned()));
    assert!(edit("z", "q", false).await.unwrap_err().contains("does not contain `old_string`"));
    assert!(edit(" = ", "=", false).await.unwrap_err().contains("contains `old_string` 2 times"));
    assert!(edit("", "q", false).await.unwrap_err().contains("is empty"));
    assert!(edit("x", "x", false).await.unwrap_err().contains("are the same"));
    assert_eq!(edit(" = ", "=", true).await, Ok("changed 2 places in `a`".to_owned()));
    assert_eq!(fs::read_to_string(folder.path().join("a")).unwrap(), "x=2\ny=1\n");
}

#[tokio::test]
async fn writing_a_file_creates_missing_folders() {
    let (folder, files) = folder(&[]);
    let write = async |content: &str| {
        used(OwnTool::Write, json!({"file_path": "d/e/f.txt", "content": content}), &files).await
    };
    assert_eq!(write("hi\nyou\n").await, Ok("created `d/e/f.txt`, 2 lines".to_owned()));
    assert_eq!(write("").await, Ok("replaced `d/e/f.txt`, 0 lines".to_owned()));
    assert_eq!(fs::read_to_string(folder.path().join("d/e/f.txt")).unwrap(), "");
}

#[tokio::test]
async fn no_path_and_no_link_leads_out() {
    let outside = TempDir::new().unwrap();
    fs::write(outside.path().join("secret"), "needle").unwrap();
    let (folder, files) = folder(&[("in/a", "x")]);
    symlink(outside.path(), folder.path().join("link")).unwrap();
    symlink(outside.path().join("secret"), folder.path().join("file")).unwrap();
    let absolute = outside.path().join("secret").display().to_string();
    for path in
        ["../x", "in/../../x", "link/secret", "file", absolute.as_str(), "/etc/passwd", "~/x", "~"]
    {
        for (tool, input) in [
            (OwnTool::Read, json!({"file_path": path})),
            (OwnTool::Write, json!({"file_path": path, "content": "y"})),
            (OwnTool::Edit, json!({"file_path": path, "old_string": "n", "new_string": "y"})),
            (OwnTool::List, json!({"path": path})),
            (OwnTool::Glob, json!({"path": path, "pattern": "**"})),
            (OwnTool::Grep, json!({"path": path, "pattern": "needle"})),
        ] {
            let used = used(tool, input, &files).await;
            let why = used.unwrap_err();
            assert!(why.contains("is outside your working folder"), "{tool:?} {path}: {why}");
        }
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3, "nothing was made");
    let found = used(OwnTool::Grep, json!({"pattern": "needle"}), &files).await;
    assert_eq!(found, Ok("no matches".to_owned()), "no link is followed");
    assert_eq!(fs::read_to_string(outside.path().join("secret")).unwrap(), "needle");
    let own = files.root().join("in/a").display().to_string();
    assert!(
        used(OwnTool::Read, json!({"file_path": own}), &files).await.is_ok(),
        "its own are its own"
    );
}

#[tokio::test]
async fn files_are_found_by_name_and_by_content() {
    let (_folder, files) = folder(&[
        ("src/a.rs", "fn one() {}\nfn two() {}\n"),
        ("src/deep/b.rs", "fn One() {}\n"),
        ("notes.md", "one"),
        (".gitignore", "target\n"),
        ("target/x.rs", "fn one() {}"),
        (".git/config", "one"),
        ("bin", "one\0"),
    ]);
    for (tool, input, expected) in [
        (OwnTool::Glob, json!({"pattern": "**/*.rs"}), "src/a.rs\nsrc/deep/b.rs"),
        (OwnTool::Glob, json!({"pattern": "*.rs", "path": "src"}), "a.rs"),
        (OwnTool::Glob, json!({"pattern": "*.py"}), "no file matches"),
        (OwnTool::Grep, json!({"pattern": "one"}), "notes.md\nsrc/a.rs"),
        (
            OwnTool::Grep,
            json!({"pattern": "ONE", "-i": true, "glob": "*.rs", "output_mode": "count"}),
            "src/a.rs:1\nsrc/deep/b.rs:1",
        ),
        (
            OwnTool::Grep,
            json!({"pattern": r"fn \w+", "path": "src/a.rs", "output_mode": "content"}),
            "src/a.rs:1:fn one() {}\nsrc/a.rs:2:fn two() {}",
        ),
        (OwnTool::List, json!({}), ".git/\n.gitignore\nbin\nnotes.md\nsrc/\ntarget/"),
    ] {
        assert_eq!(
            used(tool, input.clone(), &files).await.as_deref(),
            Ok(expected),
            "{tool:?} {input}"
        );
    }
    for (tool, input) in [
        (OwnTool::Glob, json!({"pattern": "["})),
        (OwnTool::Grep, json!({"pattern": "("})),
        (OwnTool::Grep, json!({"pattern": "x", "glob": "{"})),
        (OwnTool::Glob, json!({"pattern": "x", "path": "nowhere"})),
    ] {
        assert!(used(tool, input.clone(), &files).await.is_err(), "{tool:?} {input}");
    }
}

#[tokio::test]
async fn no_search_shows_files_that_a_rule_hides() {
    let (folder, files) = folder(&[
        (".env", "KEY=needle"),
        ("a/.env", "KEY=needle"),
        ("secrets/deep/x", "needle"),
        ("plain", "needle"),
    ]);
    symlink(".env", folder.path().join("link.txt")).unwrap();
    symlink("secrets", folder.path().join("folder")).unwrap();
    let deny = ["Read(.env)", "Read(secrets/**)"];
    let left_out = "\n[3 files were skipped: rules forbid reading them]";
    for (tool, input, expected) in [
        (
            OwnTool::Grep,
            json!({"pattern": ".", "output_mode": "content"}),
            format!("plain:1:needle{left_out}"),
        ),
        (OwnTool::Grep, json!({"pattern": "needle"}), format!("plain{left_out}")),
        (
            OwnTool::Grep,
            json!({"pattern": ".", "output_mode": "count"}),
            format!("plain:1{left_out}"),
        ),
        (
            OwnTool::Grep,
            json!({"pattern": ".", "path": "folder", "output_mode": "content"}),
            "no matches\n[1 file was skipped: a rule forbids reading it]".to_owned(),
        ),
        (
            OwnTool::Grep,
            json!({"pattern": ".", "glob": ".env", "output_mode": "content"}),
            "no matches\n[2 files were skipped: rules forbid reading them]".to_owned(),
        ),
        (OwnTool::Glob, json!({"pattern": "**"}), format!("plain{left_out}")),
    ] {
        let found = used_under(&deny, tool, input.clone(), &files).await;
        assert_eq!(found, Ok(expected), "{tool:?} {input}");
    }
}

#[test]
fn a_path_is_judged_by_the_target_of_its_links() {
    let (folder, files) = folder(&[(".env", "x"), ("in/a", "x"), (".git/config", "x")]);
    for (target, link) in [
        (".env", "one"),
        ("one", "two"),
        ("in", "folder"),
        ("../.env", "in/up"),
        (".git/hooks/new", "dangling"),
        ("loop", "loop"),
        ("/etc", "out"),
    ] {
        symlink(target, folder.path().join(link)).unwrap();
    }
    symlink(files.root().join(".env"), folder.path().join("whole")).unwrap();
    for (given, real) in [
        ("in/a", "in/a"),
        ("one", ".env"),
        ("two", ".env"),
        ("folder/up", ".env"),
        ("folder/new/file", "in/new/file"),
        ("whole", ".env"),
        ("dangling", ".git/hooks/new"),
        ("", "."),
        // These lead nowhere or out, which is noticed when they are used.
        ("loop", "loop"),
        ("out/passwd", "out/passwd"),
    ] {
        let RulePath { real: found, .. } = files.rule_path(given);
        assert_eq!(found, real, "{given}");
    }
}

#[tokio::test]
async fn a_pipe_blocks_no_file_tool() {
    let (folder, files) = folder(&[("big", "")]);
    let pipe = folder.path().join("pipe");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &pipe,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_raw_mode(0o600),
        0,
    )
    .unwrap();
    let no_file = "`pipe` is not a file, but a pipe, a socket or a device";
    for (tool, input) in [
        (OwnTool::Read, json!({"file_path": "pipe"})),
        (OwnTool::Edit, json!({"file_path": "pipe", "old_string": "a", "new_string": "b"})),
    ] {
        assert_eq!(used(tool, input, &files).await, Err(no_file.to_owned()));
    }
    // Without a reader it cannot even be opened; with one it is still not a file.
    let write = || used(OwnTool::Write, json!({"file_path": "pipe", "content": "x"}), &files);
    assert!(write().await.unwrap_err().starts_with("`pipe`: "));
    let mut reader = fs::OpenOptions::new();
    let reader = reader.read(true).write(true).open(&pipe).unwrap();
    assert_eq!(write().await, Err(no_file.to_owned()));
    drop(reader);
    let found = used(OwnTool::Grep, json!({"pattern": "x"}), &files).await;
    assert_eq!(found, Ok("no matches".to_owned()));
    fs::File::options()
        .write(true)
        .open(folder.path().join("big"))
        .unwrap()
        .set_len(1 << 32)
        .unwrap();
    let edit = json!({"file_path": "big", "old_string": "a", "new_string": "b"});
    assert!(used(OwnTool::Edit, edit, &files).await.unwrap_err().contains("is too large to edit"));
}

#[tokio::test]
async fn a_long_search_result_is_cut() {
    let (_folder, files) = folder(&[("many", &"needle\n".repeat(10_000))]);
    let input = json!({"pattern": "needle", "output_mode": "content"});
    let found = used(OwnTool::Grep, input, &files).await.unwrap();
    assert!(found.ends_with("[there is more; use a narrower pattern, path or glob]"));
    assert!(found.lines().count() < 400);
}

#[test]
fn a_long_result_keeps_its_beginning_and_its_end() {
    let long = format!("begin{}end", "ä".repeat(50_000));
    let cut = cut(long);
    assert!(cut.starts_with("begin") && cut.ends_with("end") && cut.len() < 31_000);
    assert!(cut.contains("bytes are not shown here"));
}

#[test]
fn a_list_of_steps_is_reported_with_its_progress() {
    let list = |todos: Value| {
        let input = json!({ "todos": todos });
        super::parse(OwnTool::Todo, input.as_object().unwrap())
            .and_then(|it| super::todo::told(&it))
    };
    let steps = json!([
        {"content": "read", "status": "completed", "activeForm": "Reading"},
        {"content": "write", "status": "in_progress"},
        {"content": "check"},
    ]);
    assert_eq!(list(steps).unwrap(), "1 of 3 steps are done\n[x] read\n[>] write\n[ ] check");
    assert!(list(json!([{"content": "x", "status": "soon"}])).unwrap_err().contains("soon"));
    assert!(list(vec![json!({"content": "x"}); 101].into()).is_err());
}

#[test]
fn every_tool_is_found_by_its_name_and_describes_its_input() {
    for tool in OwnTool::shown(true) {
        assert_eq!(OwnTool::find(tool.name()), Some(tool));
        let spec = tool.spec();
        assert!(spec.description.len() > 40, "{}", spec.name);
        assert_eq!(spec.input["type"], "object");
        assert!(!spec.input["properties"].as_object().unwrap().is_empty());
    }
    assert_eq!(OwnTool::shown(false).count(), 10, "without a task there is none to fail");
    assert_eq!(schema(&[], &[])["required"], json!([]));
    assert!(Path::new("/").is_absolute());
}
