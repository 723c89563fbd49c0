//! The loop: tools, mail, interruptions, and models that behave badly.

use std::fs;

use serde_json::json;
use tempfile::TempDir;
use troop_agent::builtin::{Api, BuiltinOptions, Price, WorkLimits};
use troop_testkit::{
    mock::{Answer, Break, MockModel, MockPart, Reply, Way},
    wait_for, wait_until_gone,
};

use super::{KEY, ann, completed, does, ended, options};

#[tokio::test]
async fn a_task_is_done_with_tools_and_the_last_words_are_its_result() {
    for api in [Api::Anthropic, Api::OpenAi, Api::Gemini] {
        let folder = TempDir::new().unwrap();
        fs::write(folder.path().join("in.txt"), "forty-two").unwrap();
        let mock = MockModel::with([
            Answer::calls([
                ("Read", json!({"file_path": "in.txt"})),
                ("LS", json!({})),
                ("Write", json!({"file_path": "out.txt", "content": "a"})),
                ("Edit", json!({"file_path": "out.txt", "old_string": "a", "new_string": "b"})),
            ]),
            Answer::call("Bash", &json!({"command": "cat out.txt && echo $((40 + 2))"})),
            Answer::text("It is forty-two.\nAll is well."),
        ])
        .await;
        let mut lead = ann(options(api, &mock), folder.path()).await;
        let ended = does(&mut lead, "find the number").await;
        assert_eq!(ended, completed("It is forty-two.\nAll is well."), "{api}");
        assert_eq!(fs::read_to_string(folder.path().join("out.txt")).unwrap(), "b", "in order");
        let asked = mock.requests();
        assert!(asked[0].system().contains("You are `ann`"), "{}", asked[0].system());
        assert!(asked[0].last().contains("find the number"));
        let results = asked[1].last();
        assert!(results.contains("forty-two") && results.contains("in.txt"), "{results}");
        assert!(asked[2].last().contains("b42"), "{}", asked[2].last());
        assert_eq!(asked.len(), 3);
    }
}

#[tokio::test]
async fn a_model_learns_that_a_call_was_invalid_and_continues() {
    let folder = TempDir::new().unwrap();
    let broken = MockPart::Call { name: "Read".to_owned(), input: "{\"file_path\": ".to_owned() };
    let mock = MockModel::with([
        Answer::call("Fly", &json!({})),
        Answer::Reply(Reply { said: vec![broken], ..Reply::default() }),
        Answer::call("Read", &json!({"file": "x"})),
        Answer::text("I give up flying"),
    ])
    .await;
    let mut lead = ann(options(Api::Anthropic, &mock), folder.path()).await;
    assert_eq!(does(&mut lead, "fly").await, completed("I give up flying"));
    let told: Vec<_> = mock.requests().iter().map(troop_testkit::mock::MockRequest::last).collect();
    assert!(
        told[1].contains("there is no tool `Fly`; the tools are: Read, LS, Glob"),
        "{}",
        told[1]
    );
    assert!(told[2].contains("the input is not a JSON object"), "{}", told[2]);
    assert!(told[3].contains("missing field `file_path`"), "{}", told[3]);
}

#[tokio::test]
async fn a_model_that_goes_round_in_circles_is_stopped() {
    let folder = TempDir::new().unwrap();
    let mock = MockModel::start(|_| Answer::call("LS", &json!({}))).await;
    let limits = WorkLimits { rounds: 5, ..WorkLimits::default() };
    let mut lead =
        ann(BuiltinOptions { limits, ..options(Api::OpenAi, &mock) }, folder.path()).await;
    let (status, reason) = does(&mut lead, "circle").await;
    assert_eq!(
        (status.as_str(), reason.as_str()),
        ("failed", "it asked the model 5 times, which is the limit (`rounds`)")
    );
    assert_eq!(mock.requests().len(), 5);
}

#[tokio::test]
async fn work_that_costs_too_much_is_stopped() {
    let folder = TempDir::new().unwrap();
    let mock = MockModel::start(|_| Answer::call("LS", &json!({}))).await;
    let price = Some(Price { input: 1_000.0, cache_read: 0.0, cache_write: 0.0, output: 10_000.0 });
    let limits = WorkLimits { dollars: Some(0.1), ..WorkLimits::default() };
    let mut lead =
        ann(BuiltinOptions { limits, price, ..options(Api::Gemini, &mock) }, folder.path()).await;
    let (status, reason) = does(&mut lead, "spend").await;
    assert_eq!(status, "failed");
    assert_eq!(reason, "it spent $0.1200, and the limit is $0.1 (`dollars`)");
    assert_eq!(mock.requests().len(), 2);
}

#[tokio::test]
async fn a_model_that_says_nothing_is_asked_again_but_not_for_ever() {
    let folder = TempDir::new().unwrap();
    let nothing = || Answer::Reply(Reply::default());
    let mock = MockModel::with([
        nothing(),
        nothing(),
        Answer::text("sorry"),
        nothing(),
        nothing(),
        nothing(),
    ])
    .await;
    let mut lead = ann(options(Api::Anthropic, &mock), folder.path()).await;
    assert_eq!(does(&mut lead, "speak").await, completed("sorry"));
    let (status, reason) = does(&mut lead, "speak again").await;
    assert_eq!(
        (status.as_str(), reason.as_str()),
        ("failed", "the model said nothing, 3 times in a row")
    );
}

#[tokio::test]
async fn a_model_that_is_cut_off_may_go_on_and_one_that_refuses_fails() {
    let folder = TempDir::new().unwrap();
    let with = |text: &str, ending: &str| {
        Answer::Reply(Reply { ending: Some(ending.to_owned()), ..Reply::text(text) })
    };
    for (api, too_long) in
        [(Api::Anthropic, "max_tokens"), (Api::OpenAi, "length"), (Api::Gemini, "MAX_TOKENS")]
    {
        let mock = MockModel::with([
            with("the first, the sec", too_long),
            with("ond, ", too_long),
            Answer::text("and the third"),
            with("I look at", too_long),
            Answer::call("LS", &json!({})),
            Answer::text("It is empty."),
        ])
        .await;
        let mut lead = ann(options(api, &mock), folder.path()).await;
        let whole = completed("the first, the second, and the third");
        assert_eq!(does(&mut lead, "speak").await, whole, "{api}");
        assert!(mock.requests()[1].last().contains("was cut off"));
        assert_eq!(does(&mut lead, "look").await, completed("It is empty."), "{api}");
    }
    let mock = MockModel::with([with("I would rather not", "refusal")]).await;
    let mut lead = ann(options(Api::Anthropic, &mock), folder.path()).await;
    let (status, reason) = does(&mut lead, "do it").await;
    assert_eq!((status.as_str(), reason.as_str()), ("failed", "the model refuses to answer"));
}

#[tokio::test]
async fn a_cut_off_call_is_reported_and_not_repeated_for_ever() {
    let folder = TempDir::new().unwrap();
    for (api, too_long) in [(Api::Anthropic, "max_tokens"), (Api::OpenAi, "length")] {
        let mock = MockModel::start(move |_| {
            let input = "{\"file_path\": \"a\", \"content\": \"once upon".to_owned();
            let said = vec![MockPart::Call { name: "Write".to_owned(), input }];
            Answer::Reply(Reply { said, ending: Some(too_long.to_owned()), ..Reply::default() })
        })
        .await;
        let mut lead = ann(options(api, &mock), folder.path()).await;
        let (status, reason) = does(&mut lead, "write a long story").await;
        assert_eq!(status, "failed");
        assert_eq!(reason, "the model was cut off, 3 times in a row", "{api}");
        assert_eq!(mock.requests().len(), 3, "{api}");
        let told = mock.requests()[1].last();
        assert!(told.contains("was cut off after 16000 tokens"), "{told}");
        assert!(told.contains("in smaller pieces"), "{told}");
    }
}

#[tokio::test]
async fn mail_of_teammates_is_answered_up_to_the_limit_and_then_waits() {
    let folder = TempDir::new().unwrap();
    let mock = MockModel::start(|_| Answer::text("thank you, too")).await;
    let limits = WorkLimits { rounds: 3, ..WorkLimits::default() };
    let mut lead =
        ann(BuiltinOptions { limits, ..options(Api::OpenAi, &mock) }, folder.path()).await;
    let mut errors = Vec::new();
    for n in 1..=6 {
        let message = json!({"from": "bob", "content": format!("thank you {n}")});
        lead.say("team.message", message).await;
        loop {
            match lead.hear().await {
                (method, params) if method == "team.log" && params["level"] == "error" => {
                    errors.push(params["text"].as_str().unwrap().to_owned());
                }
                (method, _) if method == "turn/end" => break,
                _ => {}
            }
        }
    }
    assert_eq!(mock.requests().len(), 3, "the limit holds however many messages come");
    assert_eq!(errors.len(), 1, "it is reported once: {errors:?}");
    assert!(errors[0].starts_with("it asked the model 3 times, which is the limit (`rounds`)"));
    assert!(errors[0].contains("mail from teammates waits until"), "{errors:?}");
    lead.mail("what did bob say?").await;
    lead.waits_for("turn/end").await;
    let asked = mock.requests();
    assert_eq!(asked.len(), 4, "the lead gives new work");
    let told = asked[3].last();
    assert!(told.contains("thank you 6") && told.contains("what did bob say?"), "{told}");
    assert_eq!(does(&mut lead, "work").await, completed("thank you, too"));
}

#[tokio::test]
async fn commands_run_in_bash() {
    let folder = TempDir::new().unwrap();
    let command = "set -o pipefail; [[ abc == a* ]] && echo n{1..3} $#; false | true";
    let mock =
        MockModel::with([Answer::call("Bash", &json!({"command": command})), Answer::text("fine")])
            .await;
    let mut lead = ann(options(Api::Anthropic, &mock), folder.path()).await;
    assert_eq!(does(&mut lead, "count").await, completed("fine"));
    let told = mock.requests()[1].last();
    assert!(told.contains("exit code 1\nn1 n2 n3 0"), "{told}");
}

#[tokio::test]
async fn nothing_runs_after_a_task_failed_or_was_given_back() {
    let folder = TempDir::new().unwrap();
    let mock = MockModel::with([
        Answer::calls([
            ("FailTask", json!({"reason": "there is no such thing"})),
            ("Write", json!({"file_path": "late", "content": "x"})),
        ]),
        Answer::call("GiveBackTask", &json!({"reason": "bob knows that"})),
        Answer::text("third"),
    ])
    .await;
    let mut lead = ann(options(Api::Anthropic, &mock), folder.path()).await;
    let (status, reason) = does(&mut lead, "find it").await;
    assert_eq!((status.as_str(), reason.as_str()), ("failed", "there is no such thing"));
    assert!(!folder.path().join("late").exists());
    let (status, reason) = does(&mut lead, "find it").await;
    assert_eq!((status.as_str(), reason.as_str()), ("pending", "bob knows that"));
    assert_eq!(does(&mut lead, "the next").await, completed("third"), "the history is still valid");
}

#[tokio::test]
async fn mail_reaches_the_model_between_two_rounds() {
    let folder = TempDir::new().unwrap();
    let mock = MockModel::with([
        Answer::call("Bash", &json!({"command": "until [ -e go ]; do sleep 0.01; done"})),
        Answer::text("blue it is"),
    ])
    .await;
    let mut lead = ann(options(Api::Anthropic, &mock), folder.path()).await;
    lead.assign("task-1", "paint it").await;
    mock.is_asked(1).await;
    lead.mails_and_knows("make it blue").await;
    fs::write(folder.path().join("go"), "").unwrap();
    assert_eq!(ended(&mut lead).await, completed("blue it is"));
    let told = mock.requests()[1].last();
    let message = "<message from=\"lead\" kind=\"message\">\nmake it blue\n</message>";
    assert!(told.contains(message), "{told}");
}

#[tokio::test]
async fn an_interruption_while_the_model_thinks_leaves_a_valid_history() {
    let folder = TempDir::new().unwrap();
    let mock =
        MockModel::with([Answer::call("LS", &json!({})), Answer::Hang, Answer::text("after all")])
            .await;
    let mut lead = ann(options(Api::Anthropic, &mock), folder.path()).await;
    lead.assign("task-1", "think").await;
    mock.is_asked(2).await;
    lead.say("turn/interrupt", json!({})).await;
    lead.mail("go on, but quickly").await;
    lead.waits_for("team.taskUpdate").await;
    assert_eq!(ended(&mut lead).await, completed("after all"));
    let last = mock.requests().pop().unwrap();
    assert!(last.last().contains("go on, but quickly"), "{}", last.last());
    let roles: Vec<_> =
        last.messages().iter().map(|it| it["role"].as_str().unwrap().to_owned()).collect();
    assert_eq!(roles, ["user", "assistant", "user"]);
}

#[tokio::test]
async fn an_interruption_while_tools_run_gives_every_call_a_result_and_kills_commands() {
    let folder = TempDir::new().unwrap();
    let mock = MockModel::with([
        Answer::calls([
            ("Bash", json!({"command": "echo begun; echo $$ > pid; sleep 600"})),
            ("Write", json!({"file_path": "late", "content": "x"})),
        ]),
        Answer::text("stopped"),
    ])
    .await;
    let mut lead = ann(options(Api::Anthropic, &mock), folder.path()).await;
    lead.assign("task-1", "sleep").await;
    let file = folder.path().join("pid");
    let pid = wait_for("the command's number", async || {
        fs::read_to_string(&file).ok().filter(|text| text.ends_with('\n'))
    })
    .await;
    lead.say("turn/interrupt", json!({})).await;
    wait_until_gone(&pid).await;
    lead.mail("never mind").await;
    lead.waits_for("team.taskUpdate").await;
    assert_eq!(ended(&mut lead).await, completed("stopped"));
    let told = mock.requests().pop().unwrap().last();
    assert!(told.contains("interrupted\nbegun"), "{told}");
    assert!(told.contains("you were interrupted before this ran"), "{told}");
    assert!(!folder.path().join("late").exists());
}

#[tokio::test]
async fn an_expired_key_is_renewed_and_shown_to_nobody() {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("key"), "sk-old-key").unwrap();
    let mock = MockModel::start(|seen| match seen.headers["x-api-key"].as_str() {
        "sk-old-key" => Answer::status(401, "too old"),
        _ if seen.last().contains("show the key") => {
            Answer::call("Bash", &json!({"command": "cat key"}))
        }
        _ => Answer::text("fine"),
    })
    .await;
    let mut options = options(Api::Anthropic, &mock);
    options.endpoint.key = None;
    options.key.command = Some("cat key; echo sk-new-key > key".to_owned());
    let mut lead = ann(options, folder.path()).await;
    assert_eq!(does(&mut lead, "show the key").await, completed("fine"));
    let asked = mock.requests();
    assert_eq!(asked.len(), 3, "once with the old key");
    assert_eq!(asked[2].last(), "[key]");
    // A key that is refused again must not be renewed for ever.
    fs::write(folder.path().join("key"), "sk-old-key").unwrap();
    let mock = MockModel::start(|_| Answer::status(401, "never")).await;
    let mut options = super::options(Api::Anthropic, &mock);
    options.endpoint.key = None;
    options.key.command = Some("cat key; echo x >> key".to_owned());
    let mut lead = ann(options, folder.path()).await;
    let (status, why) = does(&mut lead, "look").await;
    assert_eq!(status, "failed");
    assert!(why.contains("let `cat key; echo x >> key` print a key"), "{why}");
    assert_eq!(mock.requests().len(), 2);
}

#[tokio::test]
async fn a_command_gets_a_time_limit_and_no_key() {
    let folder = TempDir::new().unwrap();
    let mock = MockModel::with([
        Answer::calls([
            ("Bash", json!({"command": "echo before; sleep 600", "timeout": 100})),
            ("Bash", json!({"command": "yes", "timeout": 100})),
            ("Bash", json!({"command": "env; exit 3"})),
            ("Bash", json!({"command": format!("echo the key is {KEY}")})),
        ]),
        Answer::text(&format!("the key is {KEY}")),
    ])
    .await;
    let mut options = options(Api::Anthropic, &mock);
    // Tests cannot change their environment, so `PATH` stands for the key.
    options.key.hidden = vec!["PATH".to_owned()];
    let mut lead = ann(options, folder.path()).await;
    assert_eq!(does(&mut lead, "run").await, completed("the key is [key]"));
    let told = mock.requests().pop().unwrap().last();
    assert!(told.contains("killed after 0.1 seconds\nbefore"), "{told}");
    assert_eq!(
        told.matches("killed after 0.1 seconds").count(),
        2,
        "endless output is stopped, too"
    );
    assert!(told.contains("exit code 3") && !told.contains("\nPATH="), "{told}");
    assert!(told.contains("the key is [key]"), "{told}");
}

#[tokio::test]
async fn the_reason_of_a_task_end_contains_no_key() {
    let folder = TempDir::new().unwrap();
    for (tool, status) in [("FailTask", "failed"), ("GiveBackTask", "pending")] {
        let reason = json!({"reason": format!("the key is {KEY}")});
        let mock = MockModel::with([Answer::call(tool, &reason)]).await;
        let mut lead = ann(options(Api::Anthropic, &mock), folder.path()).await;
        let told = (status.to_owned(), "the key is [key]".to_owned());
        assert_eq!(does(&mut lead, "look").await, told);
    }
}

#[tokio::test]
async fn model_errors_say_what_to_do() {
    let folder = TempDir::new().unwrap();
    let mock = MockModel::with([
        Answer::status(401, "invalid x-api-key"),
        Answer::status(404, "no such model"),
        Answer::status(529, "overloaded"),
        Answer::status(529, "overloaded"),
        Answer::status(529, "overloaded"),
        Answer::text("fine"),
    ])
    .await;
    let mut lead = ann(options(Api::Anthropic, &mock), folder.path()).await;
    let (_, reason) = does(&mut lead, "x").await;
    assert_eq!(
        reason,
        "the model's API rejects the key (401): invalid x-api-key; set `ANTHROPIC_API_KEY` to a key that may use `test-model`"
    );
    let (_, reason) = does(&mut lead, "x").await;
    assert!(reason.contains("is `test-model` a model of `http://127.0.0.1:"), "{reason}");
    let (_, reason) = does(&mut lead, "x").await;
    assert_eq!(
        reason,
        "the model's API cannot answer now (529): overloaded (it was asked 3 times)"
    );
    assert_eq!(does(&mut lead, "x").await, completed("fine"));
}

#[tokio::test]
async fn mail_without_a_task_is_answered_and_remembered() {
    let folder = TempDir::new().unwrap();
    let mock = MockModel::with([Answer::text("I am well"), Answer::text("done")]).await;
    let mut lead = ann(options(Api::OpenAi, &mock), folder.path()).await;
    lead.mail("how are you?").await;
    let log = lead.waits_for("team.log").await;
    assert_eq!(log["text"], "I am well");
    lead.waits_for("turn/end").await;
    assert_eq!(does(&mut lead, "work").await, completed("done"));
    let asked = mock.requests();
    assert!(!asked[0].tools().contains(&"FailTask".to_owned()), "there is no task to fail");
    assert!(asked[1].tools().contains(&"FailTask".to_owned()));
    let text = serde_json::to_string(&asked[1].body).unwrap();
    assert!(text.contains("how are you?") && text.contains("I am well"), "{text}");
}

#[tokio::test]
async fn the_model_gets_the_team_only_when_it_changed() {
    let folder = TempDir::new().unwrap();
    let mock = MockModel::start(|_| Answer::text("fine")).await;
    let mut lead = ann(options(Api::Anthropic, &mock), folder.path()).await;
    let team = |text: &str| format!("<system_context name=\"TEAM.md\">\n{text}\n</system_context>");
    for (team_md, is_told) in [("ann and bob", true), ("ann and bob", false), ("ann alone", true)] {
        let context = json!({"tasks": [], "mode": "bypass", "teamMd": team(team_md)});
        lead.say("team.updateContext", context).await;
        does(&mut lead, "look").await;
        let asked = mock.requests().pop().unwrap();
        let told = asked.last();
        assert_eq!(told.contains(&team(team_md)), is_told, "{told}");
        assert!(told.contains("look"), "in the same message as the work: {told}");
    }
}

#[tokio::test]
async fn the_first_piece_of_a_reply_is_shown_at_once() {
    let folder = TempDir::new().unwrap();
    let word = format!("H{}", "o".repeat(300));
    // The word comes, and then nothing more: neither white space, nor the end of the reply.
    let length = 900;
    let hangs = Way { broken: Some((length, Break::Hang)), ..Way::default() };
    let mock = MockModel::with([Answer::text(&word).by(hangs)]).await;
    let mut lead = ann(options(Api::Anthropic, &mock), folder.path()).await;
    lead.assign("task-1", "look").await;
    assert_eq!(lead.waits_for("team.log").await["text"], word);
}
