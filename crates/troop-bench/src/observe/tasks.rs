//! A stream that creates one task after another.

use std::io::Write;

use anyhow::Result;

/// How many tasks are written at once.
const PIECE: u64 = 1_000;

/// Writes the creation of a team and of its tasks.
pub(crate) fn write(n_tasks: u64, to: &mut impl Write) -> Result<()> {
    let mut piece = Vec::new();
    add(&mut piece, 0, "TeamCreate", r#"{"team_name":"blue"}"#, r#"{"team_name":"blue"}"#)?;
    for number in 1..=n_tasks {
        let input = format!(r#"{{"subject":"task {number}"}}"#);
        let result = format!("Task #{number} created successfully: task {number}");
        add(&mut piece, number, "TaskCreate", &input, &result)?;
        if number.is_multiple_of(PIECE) {
            to.write_all(&piece)?;
            piece.clear();
        }
    }
    to.write_all(&piece)?;
    Ok(())
}

/// A tool use and its result.
fn add(piece: &mut Vec<u8>, nth: u64, tool: &str, input: &str, result: &str) -> Result<()> {
    writeln!(
        piece,
        "{{\"type\":\"assistant\",\"message\":{{\"role\":\"assistant\",\"content\":[{{\"type\":\"tool_use\",\
         \"id\":\"toolu_{nth:012}\",\"name\":\"{tool}\",\"input\":{input}}}]}}}}"
    )?;
    writeln!(
        piece,
        "{{\"type\":\"user\",\"message\":{{\"role\":\"user\",\"content\":[{{\"tool_use_id\":\"toolu_{nth:012}\",\
         \"type\":\"tool_result\",\"content\":{result:?}}}]}}}}"
    )?;
    Ok(())
}
