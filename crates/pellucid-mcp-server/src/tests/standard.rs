//! All of the protocol.

use serde_json::Value;
use serde_json::json;

use super::Client;

const SAYS: &str = "[[reply]]\nsay = \"One.\"\n[[reply]]\nsay = \"Two.\"\n";

/// A script whose model wants to make a file, then says something.
fn touches(name: &str) -> String {
    format!(
        "[[reply]]\ncall = [{{ name = \"shell\", id = \"c\", args = {{ command = [\"touch\", \"{name}\"] }} }}]\n\
         [[reply]]\nsay = \"Done.\"\n"
    )
}

/// Settings under which commands are asked about and run without a sandbox: that needs the program itself.
fn asking(prompt: &str) -> Value {
    json!({ "prompt": prompt, "approval-policy": "untrusted", "sandbox": "danger-full-access", "config": { "pack": "codex" } })
}

#[tokio::test]
async fn a_session_goes_on_and_the_next_request_is_known_before_and_proved_afterwards() {
    let mut client = Client::greeted(SAYS, json!({})).await;
    let began = client.call("pellucid", json!({ "prompt": "Hi" })).await;
    assert_eq!((&began["content"], &began["approvals"]), (&json!("One."), &json!("never")));
    let session = began["threadId"].as_str().unwrap().to_owned();

    let next = client.call("context", json!({ "threadId": session, "prompt": "More" })).await;
    assert_eq!((&next["purpose"], next.get("rows")), (&json!("answer"), None));
    let with_rows = client.call("context", json!({ "threadId": session, "prompt": "More", "rows": true })).await;
    assert_eq!(with_rows["sha256"], next["sha256"]);
    assert!(!with_rows["rows"].as_array().unwrap().is_empty());

    let replied = client.call("reply", json!({ "threadId": session, "prompt": "More" })).await;
    assert_eq!(replied["content"], "Two.");
    let proof = client.call("replay", json!({ "threadId": session })).await;
    assert_eq!((&proof["status"], &proof["equal"]), (&json!("proved"), &json!(2)));

    let uri = format!("pellucid://session/{session}");
    let request = client.ask("resources/read", json!({ "uri": format!("{uri}/requests/2") })).await.unwrap();
    let body = request["contents"][0]["text"].as_str().unwrap();
    let spans: Value = serde_json::from_str(request["contents"][1]["text"].as_str().unwrap()).unwrap();
    assert_eq!(spans["bytes"], body.len());
    let digest: String =
        sha2::Digest::finalize(sha2::Digest::chain_update(<sha2::Sha256 as sha2::Digest>::new(), body))
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
    assert_eq!(next["sha256"], digest, "the request that `context` reported is the one that was sent");

    let stored = client.ask("resources/read", json!({ "uri": uri })).await.unwrap();
    let stored: Value = serde_json::from_str(stored["contents"][0]["text"].as_str().unwrap()).unwrap();
    assert_eq!((&stored["id"], &stored["requests"]), (&json!(session), &json!(2)));
    let listed = client.ask("resources/list", json!({})).await.unwrap();
    assert_eq!(listed["resources"][0]["uri"], uri);
    let typed = json!({ "name": "id", "value": &session[..8] });
    let template = json!({ "type": "ref/resource", "uri": "pellucid://session/{id}" });
    let completed = client.ask("completion/complete", json!({ "ref": template, "argument": typed })).await.unwrap();
    assert_eq!(completed["completion"]["values"], json!([session]));
    let template = json!({ "type": "ref/resource", "uri": "pellucid://session/{id}/requests/{n}" });
    let number = json!({
        "ref": template,
        "argument": { "name": "n", "value": "" },
        "context": { "arguments": { "id": session } },
    });
    let completed = client.ask("completion/complete", number).await.unwrap();
    assert_eq!(completed["completion"]["values"], json!(["1", "2"]));
    client.leave().await;
}

#[tokio::test]
async fn the_request_of_a_new_session_is_reported_without_leaving_anything() {
    let mut client = Client::greeted("", json!({})).await;
    let next = client.call("context", json!({ "prompt": "Hi", "model": "gpt-5.1" })).await;
    assert!(next["bytes"].as_u64().unwrap() > 0);
    assert_eq!(client.ask("resources/list", json!({})).await.unwrap()["resources"], json!([]));
    let home = client.leave().await;
    assert!(!home.path("sessions").exists());
}

#[tokio::test]
async fn a_form_decides_about_a_command() {
    for (reply, is_made, said) in [
        (json!({ "action": "accept" }), true, "Done."),
        (json!({ "action": "accept", "content": { "decision": "approved_for_session" } }), true, "Done."),
        (json!({ "action": "accept", "content": { "decision": "denied" } }), false, "Done."),
        (json!({ "action": "decline" }), false, "Done."),
        (json!({ "action": "cancel" }), false, "the turn was interrupted"),
    ] {
        let mut client = Client::greeted(&touches("made"), json!({ "elicitation": {} })).await;
        let call = client.send("tools/call", json!({ "name": "pellucid", "arguments": asking("Make it") })).await;
        let question = client.until(|it| it["method"] == "elicitation/create").await;
        let message = question["params"]["message"].as_str().unwrap();
        assert!(message.starts_with("Allow `touch made` in `"), "{message}");
        client.write(&json!({ "jsonrpc": "2.0", "id": question["id"], "result": reply })).await;
        let result = client.answer(call).await.unwrap();
        assert_eq!(result["structuredContent"]["content"], said, "{reply}");
        assert_eq!(result["structuredContent"]["approvals"], "asked");
        let home = client.leave().await;
        assert_eq!(home.path("work/made").exists(), is_made, "{reply}");
    }
}

#[tokio::test]
async fn a_client_without_forms_is_asked_nothing_and_is_told_so() {
    let mut client = Client::greeted(&touches("made"), json!({})).await;
    let answered = client.call("pellucid", asking("Make it")).await;
    assert_eq!(answered["approvals"], "never");
    assert!(client.came.iter().all(|it| it["method"] != "elicitation/create"), "{:?}", client.came);
    client.leave().await;
}

#[tokio::test]
async fn progress_is_told_to_who_wants_it() {
    let mut client = Client::greeted(&touches("made"), json!({})).await;
    let arguments = json!({ "prompt": "Hi", "sandbox": "danger-full-access" });
    let params = json!({ "name": "pellucid", "arguments": arguments, "_meta": { "progressToken": "p" } });
    let result = client.ask("tools/call", params).await.unwrap();
    assert_eq!(result["content"][0]["text"], "Done.");
    let told = client.came.iter().filter(|it| it["method"] == "notifications/progress");
    let told: Vec<&Value> = told.map(|it| &it["params"]).collect();
    assert!(told.iter().all(|it| it["progressToken"] == "p"));
    let numbers: Vec<f64> = told.iter().map(|it| it["progress"].as_f64().unwrap()).collect();
    assert!(numbers.is_sorted_by(|one, other| one < other), "{numbers:?}");
    let texts: Vec<&str> = told.iter().map(|it| it["message"].as_str().unwrap()).collect();
    assert_eq!(texts, ["the turn began", "runs touch made", "ended with code 0: touch made", "Done."]);
    assert!(client.came.iter().all(|it| it["method"] != "codex/event"));
    client.leave().await;
}

#[tokio::test]
async fn a_cancelled_call_interrupts_its_turn() {
    let slow = "[[reply]]\ncall = [{ name = \"shell\", id = \"c\", args = { command = [\"sleep\", \"60\"] } }]\n";
    let mut client = Client::greeted(slow, json!({})).await;
    let arguments = json!({ "prompt": "Hi", "sandbox": "danger-full-access" });
    let params = json!({ "name": "pellucid", "arguments": arguments, "_meta": { "progressToken": 1 } });
    let call = client.send("tools/call", params).await;
    client.until(|it| it["params"]["message"].as_str().is_some_and(|text| text.starts_with("runs sleep"))).await;
    let cancelled = json!({ "requestId": call });
    client.write(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": cancelled })).await;
    // The session takes the next prompt only when the turn is over.
    let listed = client.ask("resources/list", json!({})).await.unwrap();
    let uri = listed["resources"][0]["uri"].as_str().unwrap();
    let session = uri.rsplit('/').next().unwrap().to_owned();
    let result =
        client.ask("tools/call", json!({ "name": "reply", "arguments": { "threadId": session, "prompt": "On" } }));
    assert_eq!(result.await.unwrap()["isError"], true, "the script has no further reply");
    client.leave().await;
}

#[tokio::test]
async fn every_method_is_answered() {
    let mut client = Client::greeted("", json!({})).await;
    for method in ["tools/list", "resources/list", "resources/templates/list", "prompts/list", "ping"] {
        assert!(client.ask(method, json!({})).await.is_ok(), "{method}");
    }
    for method in ["logging/setLevel", "resources/subscribe", "tasks/list", "more/please"] {
        let params = json!({ "level": "debug", "uri": "pellucid://session/x" });
        assert_eq!(client.ask(method, params).await.unwrap_err()["code"], -32601, "{method}");
    }
    let prompt = json!({ "ref": { "type": "ref/prompt", "name": "x" }, "argument": { "name": "a", "value": "" } });
    assert_eq!(client.ask("completion/complete", prompt).await.unwrap()["completion"]["values"], json!([]));
    assert_eq!(client.ask("resources/read", json!({ "uri": "file:///etc/passwd" })).await.unwrap_err()["code"], -32002);
    let wrong = [
        ("other", json!({}), None),
        ("reply", json!({ "threadId": "x", "prompt": "Hi" }), Some("threadId: `x` is not a UUID")),
        ("pellucid", json!({}), Some("pellucid: missing field `prompt`")),
        ("pellucid", json!({ "prompt": "Hi", "profile": "absent" }), Some("the configuration cannot be used: ")),
        ("replay", json!({ "threadId": "0199a213-81c0-7800-8aa1-bbab2a035a53" }), Some("no session with the id ")),
    ];
    for (tool, arguments, said) in wrong {
        let result = client.ask("tools/call", json!({ "name": tool, "arguments": arguments })).await;
        match said {
            None => assert_eq!(result.unwrap_err()["code"], -32602),
            Some(said) => {
                let result = result.unwrap();
                let text = result["content"][0]["text"].as_str().unwrap();
                assert!(result["isError"] == true && text.starts_with(said), "{result}");
            }
        }
    }
    client.leave().await;
}

#[tokio::test]
async fn the_newest_revision_needs_no_greeting() {
    let mut client = Client::connect(&touches("made"));
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "probe", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": { "elicitation": { "form": {} } },
    });
    let found = client.ask("server/discover", json!({ "_meta": meta })).await.unwrap();
    let revisions = found["supportedVersions"].as_array().unwrap();
    assert!(revisions.contains(&json!("2026-07-28")) && revisions.contains(&json!("2024-11-05")), "{found}");
    let listed = client.ask("tools/list", json!({ "_meta": meta })).await.unwrap();
    assert_eq!(listed["tools"].as_array().unwrap().len(), 4);
    assert!(listed["ttlMs"].is_u64(), "{listed}");
    // Servers of this revision send no requests, so no client is asked.
    let params = json!({ "name": "pellucid", "arguments": asking("Make it"), "_meta": meta });
    let result = client.ask("tools/call", params).await.unwrap();
    assert_eq!(result["structuredContent"]["approvals"], "never");
    client.leave().await;
}

#[tokio::test]
async fn custom_prompts_and_skills_are_prompts() {
    let mut client = Client::greeted("", json!({})).await;
    client.home.write("prompts/greet.md", "---\ndescription: Greets.\n---\nGreet $NAME twice.\n");
    client.home.write("prompts/say.md", "Say $ARGUMENTS.\n");
    client.home.write("skills/tidy/SKILL.md", "---\nname: tidy\ndescription: Tidies up.\n---\nTidy.\n");
    let listed = client.ask("prompts/list", json!({})).await.unwrap();
    let names: Vec<&str> =
        listed["prompts"].as_array().unwrap().iter().map(|it| it["name"].as_str().unwrap()).collect();
    assert!(["prompts:greet", "prompts:say", "skills:tidy"].iter().all(|name| names.contains(name)), "{names:?}");
    let mut got = Vec::new();
    for (name, arguments) in [
        ("prompts:greet", json!({ "NAME": "Ada 'L' $1" })),
        ("prompts:say", json!({ "arguments": "hello there" })),
        ("skills:tidy", json!({})),
    ] {
        let prompt = client.ask("prompts/get", json!({ "name": name, "arguments": arguments })).await.unwrap();
        got.push(prompt["messages"][0]["content"]["text"].as_str().unwrap().trim().to_owned());
    }
    assert_eq!(got[..2], ["Greet Ada 'L' $1 twice.", "Say hello there."]);
    assert!(got[2].ends_with("Tidy."), "{}", got[2]);
    for (name, arguments) in [("prompts:greet", json!({})), ("prompts:absent", json!({})), ("tidy", json!({}))] {
        let params = json!({ "name": name, "arguments": arguments });
        assert_eq!(client.ask("prompts/get", params).await.unwrap_err()["code"], -32602, "{name}");
    }
    client.leave().await;
}
