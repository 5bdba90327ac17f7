//! Serves one reply on each wire, for decoders of other projects (`interop/check.py`).
//!
//! Prints its address and answers until standard input closes: the first request with a Chat Completions stream, the
//! second with a Messages stream, and so on in turn.

use std::io;
use std::io::Read;
use std::io::Write;

use pellucid_testkit::MockReply;
use pellucid_testkit::MockServer;
use serde_json::Value;
use serde_json::json;

/// How many requests are answered on each wire.
const N_ROUNDS: usize = 16;

fn main() -> io::Result<()> {
    let replies = (0..N_ROUNDS).flat_map(|_| [MockReply::chat(items()), MockReply::messages(items())]);
    let server = MockServer::start(replies);
    writeln!(io::stdout(), "{}", server.base_url())?;
    io::stdin().read_to_end(&mut Vec::new())?;
    Ok(())
}

/// Reasoning, an answer and two calls.
fn items() -> Vec<Value> {
    let call = |id: &str, arguments: &str| json!({ "type": "function_call", "call_id": id, "name": "shell", "arguments": arguments });
    vec![
        json!({
            "type": "reasoning", "summary": [{ "type": "summary_text", "text": "I think about it." }],
            "content": [{ "type": "reasoning_text", "text": "I think about it." }], "encrypted_content": "SIG",
        }),
        json!({ "type": "message", "content": [{ "type": "output_text", "text": "Grüße aus dem Norden 🙂" }] }),
        call("c1", "{\"command\": [\"echo\", \"é\"]}"),
        call("c2", "{}"),
    ]
}
