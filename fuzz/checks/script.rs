//! Any text is a script or is refused, and one that is not refused can be played to its end.

use pellucid_model::Ask;
use pellucid_model::Model;
use pellucid_model::Script;

/// What a script is called says how it is written.
const NAMES: [&str; 3] = ["any", "any.toml", "any.jsonl"];

pub fn check(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    for name in NAMES {
        match Script::parse(name, text) {
            Ok(script) => play(script),
            Err(error) => assert!(error.to_string().starts_with(name), "{error}"),
        }
    }
}

/// Plays every reply, and one request more. Time stands still, so a delay costs none.
fn play(script: Script) {
    let n_replies = script.n_replies();
    let model = Model::scripted(script);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    runtime.expect("a runtime without a network").block_on(async {
        for _ in 0..=n_replies {
            if let Ok(mut reply) = model.ask(Ask::default()).await {
                while reply.next().await.is_some() {}
            }
        }
    });
}
