//! A long stream, as a lead's session writes it: mostly reading, running and talking; one exchange in eight is about the team.

use std::fmt::Write as _;

/// A team ends after this many exchanges; then another begins.
const LIFE: u64 = 4_000;

/// Generates one message after another.
#[derive(Debug, Default)]
pub(crate) struct Stream {
    /// An exchange is a tool use and its result.
    n_exchanges: u64,
    is_asked: bool,
    n_tasks: u64,
}

impl Stream {
    /// The first messages.
    pub(crate) fn take(mut self, n_messages: u64) -> Vec<u8> {
        let mut bytes = Vec::new();
        (0..n_messages).for_each(|_| self.add(&mut bytes));
        bytes
    }

    /// Adds the next message.
    pub(crate) fn add(&mut self, bytes: &mut Vec<u8>) {
        let n = self.n_exchanges;
        let (tool, input, result) = self.exchange();
        let mut line = String::with_capacity(2_048);
        let session = "\"session_id\":\"058bbee6-cb56-41b9-aed8-4f1824b862e4\"";
        // Writing into a text cannot fail.
        let written = if self.is_asked {
            self.n_exchanges += 1;
            write!(
                line,
                "{{\"type\":\"user\",\"message\":{{\"role\":\"user\",\"content\":[{{\"tool_use_id\":\"toolu_{n:012}\",\
                 \"type\":\"tool_result\",\"content\":{result:?}}}]}},\"parent_tool_use_id\":null,{session},\
                 \"uuid\":\"30e1abbd-a09e-4716-8fba-{n:012}\",\"timestamp\":\"2026-11-15T18:03:14.043Z\"}}"
            )
        } else {
            write!(
                line,
                "{{\"type\":\"assistant\",\"message\":{{\"id\":\"msg_{n:012}\",\"type\":\"message\",\"role\":\"assistant\",\
                 \"model\":\"claude-opus-4-8\",\"content\":[{{\"type\":\"text\",\"text\":\"Next I look at what step {n} needs, \
                 then I go on with the plan.\"}},{{\"type\":\"tool_use\",\"id\":\"toolu_{n:012}\",\"name\":\"{tool}\",\
                 \"input\":{input}}}],\"stop_reason\":null,\"stop_sequence\":null,\"usage\":{{\"input_tokens\":100,\
                 \"output_tokens\":20,\"cache_creation_input_tokens\":0,\"cache_read_input_tokens\":0}},\
                 \"context_management\":null}},\"parent_tool_use_id\":null,{session},\
                 \"uuid\":\"9e0a1039-656a-43dd-9a41-{n:012}\",\"request_id\":\"req_{n:012}\"}}"
            )
        };
        written.unwrap_or_default();
        self.is_asked = !self.is_asked;
        bytes.extend_from_slice(line.as_bytes());
        bytes.push(b'\n');
    }

    /// The tool, its input and its result.
    fn exchange(&mut self) -> (&'static str, String, String) {
        let at = self.n_exchanges % LIFE;
        match at {
            0 => {
                self.n_tasks = 0;
                return team("TeamCreate", "{\"team_name\":\"blue\"}", "{\"team_name\":\"blue\"}");
            }
            1..=4 => {
                let input = format!(
                    "{{\"team_name\":\"blue\",\"name\":\"ann-{at}\",\"prompt\":\"Please help.\"}}"
                );
                let result = format!(
                    "Spawned successfully.\nagent_id: ann-{at}@blue\nname: ann-{at}\nteam_name: blue\nIt runs."
                );
                return ("Agent", input, result);
            }
            _ if at == LIFE - 1 => return team("TeamDelete", "{}", "{\"success\":true}"),
            _ if at.is_multiple_of(8) => return self.work(at / 8),
            _ => {}
        }
        let source = "    let found = self.members.iter().find(|it| it.name == name);\n";
        if at.is_multiple_of(2) {
            let input = format!("{{\"file_path\":\"/home/dev/project/src/part{at}.rs\"}}");
            ("Read", input, source.repeat(24))
        } else {
            let input =
                format!("{{\"command\":\"cargo test part{at}\",\"description\":\"Runs tests\"}}");
            ("Bash", input, format!("running {at} tests\n{}", "test it::works ... ok\n".repeat(16)))
        }
    }

    /// A task is created, claimed and completed, and a member is told.
    fn work(&mut self, step: u64) -> (&'static str, String, String) {
        let task = self.n_tasks;
        let who = self.n_tasks % 4 + 1;
        let updated = format!("Updated task #{task} status");
        match step % 4 {
            0 => {
                // Once for the question, and again for the answer.
                let task = task + u64::from(!self.is_asked);
                self.n_tasks = task;
                let input =
                    format!("{{\"subject\":\"Part {task}\",\"description\":\"Do part {task}.\"}}");
                ("TaskCreate", input, format!("Task #{task} created successfully: Part {task}"))
            }
            1 => {
                let input = format!(
                    "{{\"taskId\":\"{task}\",\"status\":\"in_progress\",\"owner\":\"ann-{who}\"}}"
                );
                ("TaskUpdate", input, updated)
            }
            2 => (
                "TaskUpdate",
                format!("{{\"taskId\":\"{task}\",\"status\":\"completed\"}}"),
                updated,
            ),
            _ => {
                let input = format!(
                    "{{\"to\":\"ann-{who}\",\"summary\":\"next\",\"message\":\"Go on, please.\"}}"
                );
                ("SendMessage", input, "{\"success\":true}".to_owned())
            }
        }
    }
}

fn team(tool: &'static str, input: &str, result: &str) -> (&'static str, String, String) {
    (tool, input.to_owned(), result.to_owned())
}
