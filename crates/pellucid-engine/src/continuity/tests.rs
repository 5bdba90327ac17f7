//! Two requests compared: what is kept, where they differ, and what is named.

use expect_test::Expect;
use expect_test::expect;
use pellucid_protocol::item::Item;
use pellucid_protocol::provider::WireApi;
use pellucid_protocol::settings::TruncationMode;
use pellucid_protocol::settings::TruncationPolicy;

use super::*;
use crate::digest::Digest;
use crate::encode::Encoder;
use crate::fragment::Fragment;
use crate::transcript::ItemIds;
use crate::transcript::Transcript;
use crate::transcript::View;

/// What surrounds the items of a request on the Responses wire.
#[derive(Clone, Copy)]
struct Around<'a> {
    model: &'a str,
    instructions: &'a str,
    tools: &'a [&'a str],
    settings: &'a str,
}

const USUAL: Around<'static> =
    Around { model: "m", instructions: "Be brief.", tools: &["shell", "view"], settings: "false" };

fn frame(around: Around<'_>) -> Frame {
    let mut head = Encoder::new(&"model".into());
    head.wire("{\"model\":");
    head.value(&around.model, &Origin::fact("model"));
    head.set_part(&"base".into());
    head.wire(",\"instructions\":");
    head.string(&[Fragment::provided("config", around.instructions)]);
    head.wire(",\"input\":[");
    let mut tail = Encoder::new(&"tools".into());
    tail.wire("],\"tools\":[");
    for (n, tool) in around.tools.iter().enumerate() {
        let comma = if n > 0 { "," } else { "" };
        tail.wire(&format!("{comma}{{\"name\":"));
        tail.value(tool, &Origin::Provided { place: format!("mcp_servers.{tool}").into() });
        tail.wire("}");
    }
    tail.wire(&format!("],\"store\":{}}}", around.settings));
    Frame::recorded(View::default(), head.finish(), tail.finish())
}

fn transcript(texts: &[&str]) -> Transcript {
    let policy = TruncationPolicy { mode: TruncationMode::Bytes, limit: i64::MAX };
    let mut transcript = Transcript::new(ItemIds::Hidden, policy);
    for text in texts {
        transcript.record(&Item::text("user", *text), &Origin::User);
    }
    transcript
}

/// What is said of a second request after a first.
fn compared(first: (Around<'_>, &[&str]), second: (Around<'_>, &[&str]), cause: Option<Cause>) -> Continuity {
    let (before, mut shown) = (frame(first.0), transcript(first.1));
    before.request(&mut shown);
    let sent = SentRequest::new(&before, shown.shown_len(), shown.rendered().len());
    let (after, mut now) = (frame(second.0), transcript(second.1));
    let request = after.request(&mut now);
    let (old, new) = (shown.view(View::default()).concat(), now.view(View::default()).concat());
    let kept = common(&old, &new);
    let divergence = (kept < old.len()).then_some(Divergence { kept, of: old.len() });
    let order = WireApi::Responses.reading_order();
    let next =
        NextRequest { frame: &after, request: &request, items: now.rendered(), order, left: None, cause, moved: None };
    let continuity = sent.continued_by(&next, divergence).unwrap();
    // What a record kept of the first request leads to the same.
    let marks = marks(&before, &mut shown);
    let recorded = Recorded { frame: before, marks }.continued_by(&next).unwrap();
    assert_eq!((recorded.kept_bytes, recorded.previous_bytes), (continuity.kept_bytes, continuity.previous_bytes));
    assert_eq!(recorded.broken.as_ref().map(|it| it.cause), continuity.broken.as_ref().map(|it| it.cause));
    continuity
}

/// A digest of the beginning of a request behind each of its items.
fn marks(frame: &Frame, transcript: &mut Transcript) -> Vec<(usize, usize, String)> {
    let body = frame.request(transcript).body();
    let mut end = frame.head_bytes().len();
    let rows = transcript.rendered().iter().enumerate();
    rows.map(|(n, row)| {
        end += row.len();
        (n + 1, end, Digest::of([&body[..end]]).short())
    })
    .collect()
}

#[track_caller]
fn check(first: (Around<'_>, &[&str]), second: (Around<'_>, &[&str]), expected: &Expect) {
    let Continuity { kept_bytes, previous_bytes, is_shortened, broken, changes, .. } = compared(first, second, None);
    let mut lines = format!("kept {kept_bytes} of {previous_bytes}{}\n", if is_shortened { ", shortened" } else { "" });
    if let Some(it) = broken {
        lines += &format!(
            "broken by {} at byte {}: {} +{} from {:?}, {} tokens again\n",
            it.cause.as_str(),
            it.first_byte,
            it.part,
            it.part_bytes,
            it.source,
            it.tokens_rebilled
        );
    }
    for it in changes {
        let read = if it.is_read { "" } else { ", not read" };
        lines += &format!("{} {} from {:?}{read}\n", it.how.as_str(), it.part, it.source);
    }
    expected.assert_eq(&lines);
}

#[test]
fn a_request_that_only_adds_is_extended() {
    check(
        (USUAL, &["one"]),
        (USUAL, &["one", "two"]),
        &expect![[r#"
        kept 119 of 119
    "#]],
    );
    check(
        (USUAL, &["one"]),
        (USUAL, &["one"]),
        &expect![[r#"
        kept 119 of 119
    "#]],
    );
    check(
        (USUAL, &[]),
        (USUAL, &["one"]),
        &expect![[r#"
        kept 40 of 40
    "#]],
    );
}

#[test]
fn an_item_that_is_not_what_it_was_breaks_the_request_there() {
    check(
        (USUAL, &["one", "two", "three"]),
        (USUAL, &["one", "other", "three"]),
        &expect![[r#"
        kept 119 of 281
        broken by items at byte 129: user +81 from "user", 41 tokens again
        changed input/1 from "user"
    "#]],
    );
    check(
        (USUAL, &["one", "two"]),
        (USUAL, &["one"]),
        &expect![[r#"
        kept 119 of 199
        broken by items at byte 128: input +0 from "", 20 tokens again
        removed input/1 from ""
    "#]],
    );
    check(
        (USUAL, &["one"]),
        (USUAL, &[]),
        &expect![[r#"
        kept 40 of 119
        broken by items at byte 49: input +0 from "", 20 tokens again
        removed input/0 from ""
    "#]],
    );
}

#[test]
fn what_surrounds_the_items_breaks_the_request_where_it_is_read() {
    let items: &[&str] = &["one"];
    check(
        (USUAL, items),
        (Around { model: "n", ..USUAL }, items),
        &expect![[r#"
        kept 0 of 119
        broken by model at byte 9: model +3 from "fact model", 30 tokens again
        changed model from "fact model"
    "#]],
    );
    check(
        (USUAL, items),
        (Around { instructions: "Be long.", ..USUAL }, items),
        &expect![[r#"
        kept 29 of 119
        broken by instructions at byte 28: base +10 from "provided config", 23 tokens again
        changed base from "provided config"
    "#]],
    );
    check(
        (USUAL, items),
        (Around { tools: &["shell"], ..USUAL }, items),
        &expect![[r#"
        kept 15 of 119
        broken by tools at byte 154: tools/view +0 from "provided mcp_servers.view", 26 tokens again
        removed tools/view from "provided mcp_servers.view"
    "#]],
    );
    check(
        (USUAL, items),
        (Around { tools: &["new", "shell", "view"], ..USUAL }, items),
        &expect![[r#"
        kept 0 of 119
        broken by tools at byte 139: tools/new +13 from "provided mcp_servers.new", 30 tokens again
        added tools/new from "provided mcp_servers.new"
    "#]],
    );
    check(
        (USUAL, items),
        (Around { tools: &["view", "shell"], ..USUAL }, items),
        &expect![[r#"
        kept 0 of 119
        broken by tools at byte 139: tools/view +14 from "provided mcp_servers.view", 30 tokens again
        moved tools/view from "provided mcp_servers.view"
    "#]],
    );
    check(
        (USUAL, items),
        (Around { settings: "true", ..USUAL }, items),
        &expect![[r#"
        kept 119 of 119
        changed settings/store from "", not read
    "#]],
    );
}

#[test]
fn what_became_of_the_history_is_the_cause_where_it_is_known() {
    for cause in [Cause::Compaction, Cause::RollBack, Cause::Memory] {
        let continuity = compared((USUAL, &["one", "two"]), (USUAL, &["summary"]), Some(cause));
        assert_eq!(continuity.broken.map(|it| it.cause), Some(cause));
    }
    let other = compared((USUAL, &["one"]), (Around { model: "n", ..USUAL }, &["x"]), Some(Cause::Compaction));
    assert_eq!(other.broken.map(|it| it.cause), Some(Cause::Model), "what is read first counts");
}

#[test]
fn a_frame_that_is_no_request_cannot_be_compared() {
    let part = |text: &str| {
        let mut encoder = Encoder::new(&"wire".into());
        encoder.wire(text);
        encoder.finish()
    };
    let odd = Frame::recorded(View::default(), part("{\"input\":["), part(""));
    let (after, mut now) = (frame(USUAL), transcript(&["one"]));
    let request = after.request(&mut now);
    let order = WireApi::Responses.reading_order();
    let next = NextRequest {
        frame: &after,
        request: &request,
        items: now.rendered(),
        order,
        left: None,
        cause: None,
        moved: None,
    };
    assert_eq!(SentRequest::new(&odd, 0, 0).continued_by(&next, None), None);
    assert_eq!(Recorded { frame: odd, marks: Vec::new() }.continued_by(&next), None);
}

#[test]
fn every_cause_has_its_word() {
    let all = [
        Cause::Compaction,
        Cause::RollBack,
        Cause::Memory,
        Cause::PlacedText,
        Cause::Model,
        Cause::Instructions,
        Cause::Tools,
        Cause::Schema,
        Cause::Settings,
        Cause::Items,
    ];
    let words = all.map(Cause::as_str);
    assert_eq!(
        words,
        [
            "compaction",
            "roll_back",
            "memory",
            "placed_text",
            "model",
            "instructions",
            "tools",
            "schema",
            "settings",
            "items"
        ]
    );
    for section in ReadSection::ALL {
        assert!(words[4..].contains(&Cause::of(*section).as_str()));
    }
}
