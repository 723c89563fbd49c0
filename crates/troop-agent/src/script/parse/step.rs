//! Parses the steps of a handler.

use std::time::Duration;

use serde_json::{Map, Value};

use super::{ScriptProblem, is_word, sought, unquoted, words};
use crate::script::{
    lines::{ScriptBlock, ScriptLine},
    syntax::{Act, HandlerEnd, ScriptStep, Share},
};

const STEPS: &str = "log, message, broadcast, plan, approve, reject, wait for mail, wait until all tasks are done, write, \
                     append, replace, run, workspace, call, delegate, progress, sleep, complete, fail, give back, refuse shutdown, on attempt, \
                     only once, try";

pub(super) fn steps(block: ScriptBlock<'_>) -> Result<Vec<ScriptStep>, ScriptProblem> {
    let mut steps: Vec<ScriptStep> = Vec::new();
    for line in block.lines() {
        if line.text == "if rejected" {
            let inner = inner(&line)?;
            match steps.last_mut().map(|step| &mut step.act) {
                Some(Act::Plan { if_rejected: if_rejected @ None, .. }) => {
                    *if_rejected = Some(inner);
                }
                _ => return Err(line.problem("`if rejected` belongs right after a `plan`")),
            }
            continue;
        }
        let (text, is_tried) = match line.text.strip_prefix("try ") {
            Some(text) => (text.trim(), true),
            None => (line.text, false),
        };
        let act = act(&line, text)?;
        steps.push(ScriptStep { line: line.number, is_tried, act });
    }
    Ok(steps)
}

/// The steps below a line; there must be at least one.
fn inner(line: &ScriptLine<'_>) -> Result<Vec<ScriptStep>, ScriptProblem> {
    let steps = steps(line.block)?;
    if steps.is_empty() {
        return Err(line.problem(format!("`{}` does nothing; indent steps below it", line.text)));
    }
    Ok(steps)
}

fn act(line: &ScriptLine<'_>, text: &str) -> Result<Act, ScriptProblem> {
    let (word, rest) = words(text);
    let said = |what: &str| {
        let text = line.long_text(rest);
        if text.is_empty() { Err(line.problem(format!("`{word}` needs {what}"))) } else { Ok(text) }
    };
    Ok(match word {
        "log" => Act::Log(said("a text")?),
        "broadcast" => Act::Broadcast(said("a text")?),
        "message" => {
            let (to, rest) = words(rest);
            let text = line.long_text(rest);
            if to.is_empty() || text.is_empty() {
                return Err(line.problem("write `message NAME TEXT`"));
            }
            Act::Message { to: to.to_owned(), text }
        }
        "plan" => Act::Plan { text: said("a text: the plan")?, if_rejected: None },
        "approve" => Act::Approve(line.long_text(rest)),
        "reject" => Act::Reject(said("a text: what should be different")?),
        "complete" => Act::End(HandlerEnd::Complete(said("a text: the result")?)),
        "fail" => Act::End(HandlerEnd::Fail(said("a text: the reason")?)),
        "give" | "refuse" => ending(line, text)?,
        "write" | "append" => file(line, word, rest)?,
        "run" => Act::Run(said("a command")?),
        "workspace" => Act::Share(share(line, rest)?),
        "call" => call(line, rest)?,
        "on" | "only" => condition(line, text)?,
        _ => {
            line.alone()?;
            short(line, word, rest)?
        }
    })
}

/// Steps without a block.
fn short(line: &ScriptLine<'_>, word: &str, rest: &str) -> Result<Act, ScriptProblem> {
    let whole = format!("{word} {rest}");
    let whole = whole.trim();
    Ok(match word {
        "replace" => replace(line, rest)?,
        "delegate" => delegate(line, rest)?,
        "progress" => {
            let (percent, text) = words(rest);
            let percent = percent.trim_end_matches('%').parse().ok().filter(|it| *it <= 100);
            let percent = percent.ok_or_else(|| line.problem("write `progress 0…100 TEXT`"))?;
            Act::Progress { percent, text: text.to_owned() }
        }
        "sleep" => Act::Sleep(duration(rest).ok_or_else(|| {
            line.problem(format!("`{rest}` is not a duration; write `200ms`, `2s` or `1m`"))
        })?),
        "wait" => match rest.strip_prefix("for mail") {
            Some(rest) => Act::WaitForMail(sought(rest.trim())),
            None if rest == "until all tasks are done" => Act::WaitUntilDone,
            None => {
                let what =
                    "write `wait for mail PATTERN [from NAME]` or `wait until all tasks are done`";
                return Err(line.problem(what));
            }
        },
        _ => {
            return Err(line.problem(format!("there is no step `{whole}`; the steps are: {STEPS}")));
        }
    })
}

fn ending(line: &ScriptLine<'_>, text: &str) -> Result<Act, ScriptProblem> {
    let end = |rest: &str, make: fn(String) -> HandlerEnd| {
        let text = line.long_text(rest.trim());
        if text.is_empty() { None } else { Some(Act::End(make(text))) }
    };
    let found = match (text.strip_prefix("give back"), text.strip_prefix("refuse shutdown")) {
        (Some(rest), _) => end(rest, HandlerEnd::GiveBack),
        (None, Some(rest)) => end(rest, HandlerEnd::RefuseShutdown),
        (None, None) => None,
    };
    found.ok_or_else(|| line.problem("write `give back TEXT` or `refuse shutdown TEXT`"))
}

fn file(line: &ScriptLine<'_>, word: &str, rest: &str) -> Result<Act, ScriptProblem> {
    if rest.is_empty() {
        let what = format!("write `{word} FILE`, with its content indented below");
        return Err(line.problem(what));
    }
    let content = line.block.text().map(|text| format!("{text}\n")).unwrap_or_default();
    let file = unquoted(rest).to_owned();
    Ok(if word == "write" { Act::Write { file, content } } else { Act::Append { file, content } })
}

fn share(line: &ScriptLine<'_>, rest: &str) -> Result<Share, ScriptProblem> {
    let (verb, file) = words(rest);
    let name = unquoted(file).to_owned();
    if verb == "write" && !file.is_empty() {
        let content = line.block.text().map(|text| format!("{text}\n")).unwrap_or_default();
        return Ok(Share::Write { file: name, content });
    }
    line.alone()?;
    match verb {
        "read" if !file.is_empty() => Ok(Share::Read(name)),
        "delete" if !file.is_empty() => Ok(Share::Delete(name)),
        "list" if file.is_empty() => Ok(Share::List),
        _ => Err(line.problem(
            "write `workspace write FILE`, with its content indented below, `workspace read FILE`, \
             `workspace list` or `workspace delete FILE`",
        )),
    }
}

fn replace(line: &ScriptLine<'_>, rest: &str) -> Result<Act, ScriptProblem> {
    let read = || {
        let (old, rest) = quoted(rest)?;
        let (new, rest) = quoted(rest.strip_prefix("with")?.trim())?;
        let file = rest.strip_prefix("in ")?.trim();
        let file = (!file.is_empty() && !old.is_empty()).then(|| unquoted(file).to_owned())?;
        Some(Act::Replace { old, new, file })
    };
    read().ok_or_else(|| line.problem("write `replace \"OLD\" with \"NEW\" in FILE`"))
}

/// A JSON string at the beginning of a text, and the rest.
fn quoted(text: &str) -> Option<(String, &str)> {
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<String>();
    let first = values.next()?.ok()?;
    Some((first, text.get(values.byte_offset()..)?.trim()))
}

fn delegate(line: &ScriptLine<'_>, rest: &str) -> Result<Act, ScriptProblem> {
    let (rest, name) = named(rest);
    match rest.split_once(" to ").map(|(task, to)| (task.trim(), to.trim())) {
        Some((task, to)) if !task.is_empty() && !to.is_empty() && !to.contains(' ') => {
            Ok(Act::Delegate { task: task.to_owned(), to: to.to_owned(), name })
        }
        _ => Err(line.problem("write `delegate TASK to NAME [as NAME]`")),
    }
}

/// The text before `as NAME`, and the name.
fn named(rest: &str) -> (&str, Option<String>) {
    match rest.rsplit_once("as ") {
        Some((before, name)) if is_word(name) && before.ends_with(' ') => {
            (before.trim(), Some(name.trim().to_owned()))
        }
        _ => (rest, None),
    }
}

fn call(line: &ScriptLine<'_>, rest: &str) -> Result<Act, ScriptProblem> {
    let (rest, name) = named(rest);
    let (method, rest) = words(rest);
    let params = line.long_text(rest);
    if !method.contains('/') {
        return Err(
            line.problem("write `call RESOURCE/VERB {…} [as NAME]`, as in docs/protocol.md")
        );
    }
    let params = match params.as_str() {
        "" => Value::Object(Map::new()),
        text => serde_json::from_str(text).map_err(|error| {
            line.problem(format!("the parameters of `{method}` are not valid JSON: {error}"))
        })?,
    };
    if !params.is_object() {
        return Err(line.problem(format!("the parameters of `{method}` are not an object `{{…}}`")));
    }
    Ok(Act::Call { method: method.to_owned(), params, name })
}

fn condition(line: &ScriptLine<'_>, text: &str) -> Result<Act, ScriptProblem> {
    if text == "only once" {
        return Ok(Act::OnlyOnce(inner(line)?));
    }
    let attempt = text.strip_prefix("on attempt ").and_then(|number| number.trim().parse().ok());
    match attempt {
        Some(attempt) => Ok(Act::OnAttempt { attempt, steps: inner(line)? }),
        None => Err(line.problem("write `on attempt N` or `only once`")),
    }
}

/// Parses `200ms`, `2s`, `1m`.
fn duration(text: &str) -> Option<Duration> {
    let n_digits = text.find(|c: char| !c.is_ascii_digit())?;
    let (number, unit) = text.split_at_checked(n_digits)?;
    let number: u64 = number.parse().ok()?;
    match unit.trim() {
        "ms" => Some(Duration::from_millis(number)),
        "s" => Some(Duration::from_secs(number)),
        "m" => number.checked_mul(60).map(Duration::from_secs),
        _ => None,
    }
}
