//! The team does not depend on the order of independent lines, on copies, or on cuts in the stream.

use proptest::{prelude::*, sample::Index};
use serde_json::{Value, json};
use troop_observe::{LineSplitter, ObservedSession, Observer};

use crate::stream::{Observation, at, mail, result, spawned, team_lines, used};

/// The steps of one task or one member, in order. Steps of others come in between.
#[derive(Clone, Debug)]
enum Track {
    Task { number: usize, steps: Vec<Step> },
    Member { number: usize, ends: bool },
    Noise(Vec<u8>),
}

#[derive(Clone, Debug)]
enum Step {
    Claim(usize),
    Complete,
    Rename(u8),
    Depend(usize),
    Fail,
    Delete,
}

/// Lines that belong together: a use and its result, or a line by itself.
type Group = Vec<String>;

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        (0..4usize).prop_map(Step::Claim),
        Just(Step::Complete),
        any::<u8>().prop_map(Step::Rename),
        (0..6usize).prop_map(Step::Depend),
        Just(Step::Fail),
        Just(Step::Delete),
    ];
    prop::collection::vec(step, 0..5)
}

fn tracks() -> impl Strategy<Value = Vec<Track>> {
    let tasks = prop::collection::vec(steps(), 0..6);
    let members = prop::collection::vec(any::<bool>(), 0..4);
    let noise = prop::collection::vec(any::<u8>(), 0..6);
    (tasks, members, noise).prop_map(|(tasks, members, noise)| {
        let tasks = tasks.into_iter().enumerate();
        let members = members.into_iter().enumerate();
        let tasks = tasks.map(|(number, steps)| Track::Task { number, steps });
        let members = members.map(|(number, ends)| Track::Member { number, ends });
        tasks.chain(members).chain([Track::Noise(noise)]).collect()
    })
}

fn pair(id: &str, tool: &str, input: Value, said: &str) -> Group {
    vec![used(id, tool, input), result(id, said)]
}

fn groups(track: &Track) -> Vec<Group> {
    match track {
        Track::Task { number, steps } => task_groups(*number, steps),
        Track::Member { number, ends } => {
            let name = format!("cy-{number}");
            let input = json!({"team_name": "blue", "name": name});
            let mut groups = vec![pair(&name, "Agent", input, &spawned(&name, "blue"))];
            if *ends {
                groups.push(vec![mail(&name, r#"{"type":"shutdown_approved","requestId":"r"}"#)]);
            }
            groups
        }
        Track::Noise(bytes) => bytes.iter().map(|byte| noise(*byte)).collect(),
    }
}

fn task_groups(number: usize, steps: &[Step]) -> Vec<Group> {
    let (id, said) =
        (format!("create {number}"), format!("Task #{number} created successfully: x"));
    let mut groups = vec![pair(&id, "TaskCreate", json!({"subject": "x"}), &said)];
    for (nth, step) in steps.iter().enumerate() {
        let id = format!("update {number} {nth}");
        let input = match step {
            Step::Claim(who) => json!({"status": "in_progress", "owner": format!("nobody-{who}")}),
            Step::Complete => json!({"status": "completed"}),
            Step::Rename(name) => json!({"subject": name.to_string()}),
            Step::Depend(on) => json!({"addBlockedBy": [on]}),
            Step::Fail => json!({"status": "pending", "subject": "never"}),
            Step::Delete => json!({"status": "deleted"}),
        };
        let mut input = input;
        input["taskId"] = number.to_string().into();
        let said = if matches!(step, Step::Fail) { "Task not found" } else { "Updated task #1 x" };
        groups.push(pair(&id, "TaskUpdate", input, said));
    }
    groups
}

fn noise(byte: u8) -> Group {
    let id = format!("noise {byte}");
    match byte % 6 {
        0 => pair(
            &id,
            "Read",
            json!({"file_path": "/TeamCreate"}),
            "<teammate-message teammate_id=\"x\">",
        ),
        1 => vec!["{\"type\":\"assistant\",\"TaskCreate".to_owned()],
        2 => vec![String::new()],
        3 => pair(&id, "TaskList", json!({}), "#1 [completed] y\n#77 [pending] z"),
        4 => pair(&id, "TeamWhat", json!({}), "ok"),
        _ => vec![r#"{"type":"result","subtype":"success"}"#.to_owned()],
    }
}

/// Merges the tracks into one stream; the steps of each track stay in order.
fn interleave(tracks: &[Track], choices: &[Index]) -> Vec<Group> {
    let mut queues: Vec<_> =
        tracks.iter().map(|track| groups(track).into_iter().peekable()).collect();
    let mut stream = Vec::new();
    for nth in 0.. {
        let open: Vec<_> = (0..queues.len()).filter(|at| queues[*at].peek().is_some()).collect();
        if open.is_empty() {
            break;
        }
        let at = choices.get(nth).map_or(open[0], |choice| *choice.get(&open));
        stream.extend(queues[at].next());
    }
    stream
}

/// A team whose members and dependencies are in an order that does not depend on the stream.
fn settled(session: ObservedSession) -> Value {
    let mut it = serde_json::to_value(session).unwrap();
    if let Some(agents) = it["agents"].as_array_mut() {
        agents.sort_by_key(ToString::to_string);
    }
    if let Some(members) = it.pointer_mut("/team/members").and_then(Value::as_array_mut) {
        members.sort_by_key(ToString::to_string);
    }
    it
}

fn lines(groups: &[Group]) -> Vec<String> {
    team_lines().into_iter().chain(groups.iter().flatten().cloned()).collect()
}

fn sorted(mut story: Vec<String>) -> Vec<String> {
    story.sort();
    story
}

/// Dependencies of deleted tasks depend on the order, so other tests cover them.
fn is_independent(tracks: &[Track]) -> bool {
    let has = |wanted: fn(&Step) -> bool| {
        tracks.iter().any(|it| matches!(it, Track::Task { steps, .. } if steps.iter().any(wanted)))
    };
    !(has(|it| matches!(it, Step::Delete)) && has(|it| matches!(it, Step::Depend(_))))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_order_of_independent_steps_does_not_matter(
        tracks in tracks().prop_filter("independent", |it| is_independent(it)),
        choices in prop::collection::vec(any::<Index>(), 64),
        swaps in prop::collection::vec(any::<bool>(), 64),
    ) {
        let plain = Observation::of(lines(&interleave(&tracks, &[])));
        let mut groups = interleave(&tracks, &choices);
        let mixed = Observation::of(lines(&groups));
        prop_assert_eq!(settled(mixed.session()), settled(plain.session()));
        // Results before their uses.
        for (group, swap) in groups.iter_mut().zip(swaps) {
            if swap {
                group.reverse();
            }
        }
        let swapped = Observation::of(lines(&groups));
        prop_assert_eq!(settled(swapped.session()), settled(plain.session()));
        prop_assert_eq!(sorted(swapped.story()), sorted(mixed.story()));
    }

    #[test]
    fn replays_and_copies_change_nothing_and_yield_no_events(
        tracks in tracks(),
        choices in prop::collection::vec(any::<Index>(), 64),
        copies in prop::collection::vec((any::<Index>(), any::<Index>()), 0..20),
        replays in prop::collection::vec((any::<Index>(), any::<Index>()), 0..4),
    ) {
        let original = lines(&interleave(&tracks, &choices));
        let once = Observation::of(&original);
        let mut stream = original.clone();
        // Insert copies of lines at later places.
        for (from, to) in copies {
            let from = from.index(stream.len());
            let to = from + to.index(stream.len() - from) + 1;
            let line = stream[from].clone();
            // These lines have no id, so a copy counts as another line.
            if !line.contains("\"result\",\"subtype\"") && !line.contains("TeamWhat") {
                stream.insert(to.min(stream.len()), line);
            }
        }
        // The connection is lost, and the stream is replayed from an earlier point.
        for (end, from) in replays {
            let end = end.index(stream.len()) + 1;
            let from = from.index(end);
            let again: Vec<_> = stream[from..end].to_vec();
            stream.splice(end..end, again);
        }
        let often = Observation::of(&stream);
        prop_assert_eq!(often.observer.team(), once.observer.team());
        prop_assert_eq!(often.story(), once.story());
        prop_assert_eq!(often.supplements.len(), once.supplements.len());
    }

    #[test]
    fn pieces_and_restarts_do_not_change_a_stream(
        tracks in tracks(),
        choices in prop::collection::vec(any::<Index>(), 64),
        cuts in prop::collection::vec((any::<Index>(), any::<bool>()), 0..30),
    ) {
        let stream = lines(&interleave(&tracks, &choices));
        let whole = Observation::of(&stream);
        let bytes = stream.join("\n") + "\n";
        let bytes = bytes.as_bytes();
        let mut cuts: Vec<_> = cuts.iter().map(|(at, save)| (at.index(bytes.len()), *save)).collect();
        cuts.sort_unstable();
        cuts.push((bytes.len(), false));
        let (mut seen, mut splitter, mut start) = (Observation::default(), LineSplitter::default(), 0);
        for (end, save) in cuts {
            let mut piece = &bytes[start..end];
            while !piece.is_empty() {
                let (n_taken, line) = splitter.next(piece);
                if let Some(line) = line {
                    seen.line(std::str::from_utf8(line).unwrap());
                }
                piece = &piece[n_taken..];
            }
            if save {
                seen.observer = Observer::restore(&seen.observer.save()).unwrap();
            }
            start = end;
        }
        prop_assert_eq!(&seen.events, &whole.events);
        prop_assert_eq!(seen.session(), whole.session());
    }

    #[test]
    fn the_invariants_hold_for_a_stream_with_holes(
        tracks in tracks(),
        choices in prop::collection::vec(any::<Index>(), 64),
        holes in prop::collection::vec(any::<bool>(), 200),
        order in prop::collection::vec(any::<Index>(), 0..40),
    ) {
        let mut stream = lines(&interleave(&tracks, &choices));
        for at in order {
            let (from, to) = (at.index(stream.len()), stream.len() / 2);
            stream.swap(from, to);
        }
        let left = stream.iter().zip(holes.iter().cycle()).filter(|(_, hole)| !**hole);
        let mut observer = Observer::default();
        let mut n_members = 0;
        for (line, _) in left {
            observer.line(line.as_bytes(), at(0));
            let session = observer.session();
            let names: Vec<_> = session.team.iter().flat_map(troop_observe::ObservedTeam::members).map(|it| it.name.clone()).collect();
            prop_assert_eq!(&session.agents, &names);
            let mut unique = names.clone();
            unique.sort();
            unique.dedup();
            prop_assert_eq!(unique.len(), names.len());
            let n_confirmed = observer.team().map_or(0, |it| it.members().len());
            prop_assert!(n_confirmed >= n_members, "members only grow");
            n_members = n_confirmed;
        }
    }
}
