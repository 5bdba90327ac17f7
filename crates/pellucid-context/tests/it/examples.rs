//! The examples run, and show what their comments say.

use std::error::Error;

use expect_test::Expect;
use expect_test::expect;

#[path = "../../examples/application.rs"]
#[allow(dead_code, reason = "`main` prints what `run` gives")]
mod application;
#[path = "../../examples/codex_agents.rs"]
#[allow(dead_code, reason = "`main` prints what `run` gives")]
mod codex_agents;
#[path = "../../examples/own_pack.rs"]
#[allow(dead_code, reason = "`main` prints what `run` gives")]
mod own_pack;
#[path = "../../examples/report.rs"]
#[allow(dead_code, reason = "`main` prints what `run` gives")]
mod report;
#[path = "../../examples/standing.rs"]
#[allow(dead_code, reason = "`main` prints what `run` gives")]
mod standing;

#[track_caller]
fn check_example(run: fn() -> Result<String, Box<dyn Error>>, expected: &Expect) {
    expected.assert_eq(&run().unwrap());
}

#[test]
fn the_agents_message_of_codex() {
    check_example(
        codex_agents::run,
        &expect![[r##"
        wire     : "{\"type\":\"message\",\"role\":\"user\",\"content\":[{\"type\":\"input_text\",\"text\":\""
        pack     user_instructions.md: "# AGENTS.md instructions for "
        fact     cwd: "/home/ada/shop/web"
        pack     user_instructions.md: "\n\n<INSTRUCTIONS>\n"
        file     /home/ada/shop/AGENTS.md 0..31: "Prices are integers, in cents.\n"
        layout   : "\n\n"
        file     /home/ada/shop/web/AGENTS.md 0..14: "Pages work wit"
        pack     user_instructions.md: "\n</INSTRUCTIONS>"
        wire     : "\"}]}"
        left out of /home/ada/shop/web/AGENTS.md: Cut { kept: 14, of: 31 }
    "##]],
    );
}

#[test]
fn an_application_with_a_store() {
    check_example(
        application::run,
        &expect![[r#"
        "system": "You answer questions about orders.\n\nAnswer in two sentences."
        "user": "Order 17: two lamps, not sent yet."
        "user": "Where is my order?"
    "#]],
    );
}

#[test]
fn a_loop_with_standing_texts() {
    check_example(
        standing::run,
        &expect![[r#"
            add a basket: initial; places with the rules in the request: 1; it extends the one before
            and a button: nothing is said again; places with the rules in the request: 1; it extends the one before
            now the price: rules-updated; places with the rules in the request: 2; it extends the one before
            and taxes: context-25; places with the rules in the request: 3; it extends the one before
        "#]],
    );
}

#[test]
fn a_pack_of_ones_own() {
    check_example(
        own_pack::run,
        &expect![[r#"
            in /shop:
              base from pack: 15 words, "Write the notes of a release: one line for each change that a user notices."
              changes from provided: 11 words, "lamps can be dimmed\nthe page of an order loads faste"
              left out of changes: Cut { kept: 52, of: 59 }
            in /quiet:
              base from pack: 15 words, "Write the notes of a release: one line for each change that a user notices."
        "#]],
    );
}

#[test]
fn the_report_of_a_request() {
    check_example(
        report::run,
        &expect![[r#"
        sources: fact, file, layout, pack, user, wire
        every byte has a source: true
        added input: ,
        added model: {"type":"message","role":"assistant","content":[{"type":"output_text","text":"A shop."}]}
        added input: ,
        added environment: {"type":"message","role":"user","content":[{"type":"input_text","text":"
        added environment: <environment_context>
        added environment: /home/ada/shop/web
        added environment: </cwd>
        added environment: bash
        added environment: </shell>
        added environment: "}]}
        added input: ,
        added user: {"type":"message","role":"user","content":[{"type":"input_text","text":"
        added user: and here?
        added user: "}]}
        2 of 2 requests are the same when they are made again
    "#]],
    );
}
