//! Checks of every record of a play: each request has a reply with times and attempts, and each call that the model
//! got an answer to has a line with times and grounds.

use std::collections::BTreeSet;
use std::fs;

use serde_json::Value;

use super::check::files_below;
use super::stage::Stage;

/// Checks all records; what is wrong is noted on the stage.
pub fn check(stage: &Stage) {
    let mut called = BTreeSet::new();
    for path in files_below(&stage.world.files.path("home/requests")) {
        if path.extension().is_some_and(|it| it == "jsonl") {
            let text = fs::read_to_string(&path).unwrap();
            let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
            check_replies(stage, &lines);
            called.extend(check_calls(stage, &lines));
        }
    }
    for path in files_below(&stage.world.files.path("home/sessions")) {
        let text = fs::read_to_string(&path).unwrap();
        for line in text.lines().filter(|line| line.contains("_call_output\"")) {
            let line: Value = serde_json::from_str(line).unwrap();
            let (kind, call) = (&line["payload"]["type"], &line["payload"]["call_id"]);
            let is_answer = ["function_call_output", "custom_tool_call_output"].iter().any(|it| kind == it);
            if is_answer && !called.contains(call.as_str().unwrap()) {
                stage.fault(format!("calls: {call} has an answer and no line in a record"));
            }
        }
    }
}

fn is_sorted(times: &[&Value]) -> bool {
    times.iter().all(|time| time.is_string()) && times.is_sorted_by_key(|time| time.as_str().unwrap_or_default())
}

fn check_replies(stage: &Stage, lines: &[Value]) {
    for request in lines.iter().filter(|line| line["kind"] == "request") {
        let purpose = &request["purpose"];
        let Some(reply) = lines.iter().find(|line| line["kind"] == "reply" && line["request"] == request["n"]) else {
            stage.fault(format!("times: a request ({purpose}) has no reply"));
            continue;
        };
        let times = [&request["sent_at"], &reply["first_event_at"], &reply["done_at"]];
        if reply["failure"].is_null() && !is_sorted(&times) {
            stage.fault(format!("times: {times:?} of a request ({purpose})"));
        }
        if reply["attempts"].as_array().is_none_or(Vec::is_empty) {
            stage.fault(format!("times: a request ({purpose}) has no attempts"));
        }
    }
}

/// Checks the lines of calls, and gives their ids.
fn check_calls(stage: &Stage, lines: &[Value]) -> Vec<String> {
    let mut described = BTreeSet::new();
    let mut ids = Vec::new();
    for line in lines {
        match line["kind"].as_str() {
            Some("opened") => described.clear(),
            Some("call") => {
                let (id, grounds) = (line["call"].as_str().unwrap_or_default(), &line["grounds"]);
                if !is_sorted(&[&line["began_at"], &line["ended_at"]]) {
                    stage.fault(format!("calls: the times of {id}"));
                }
                if grounds["is"].is_object() {
                    described.insert(grounds["id"].as_u64());
                }
                if !described.contains(&grounds["id"].as_u64()) {
                    stage.fault(format!("calls: the grounds of {id} are not described"));
                }
                ids.push(id.to_owned());
            }
            _ => {}
        }
    }
    ids
}
