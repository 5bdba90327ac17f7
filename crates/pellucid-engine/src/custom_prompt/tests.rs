use expect_test::Expect;
use expect_test::expect;
use proptest::prelude::*;

use super::*;

fn prompt(content: &str) -> CustomPrompt {
    CustomPrompt::parse("x", "/h/prompts/x.md", content)
}

#[track_caller]
fn check_expansion(content: &str, arguments: &str, expected: &Expect) {
    let actual = match expand(&[prompt(content)], &format!("/prompts:x{arguments}"), &[]) {
        Ok(Some(expansion)) => expansion.text,
        Ok(None) => "(no prompt)".to_owned(),
        Err(error) => format!("error: {error}"),
    };
    expected.assert_eq(&actual);
}

#[track_caller]
fn check_head(text: &str, expected: &Expect) {
    let CustomPrompt { content, description, argument_hint, .. } = prompt(text);
    expected.assert_eq(&format!("{description:?} {argument_hint:?} {content:?}"));
}

#[test]
fn a_head_says_what_a_prompt_is_for() {
    check_head("Do it.", &expect![[r#"None None "Do it.""#]]);
    check_head(
        "---\nDescription: \"Do it\"\n\n# a comment: yes\nargument_hint: '[FILE]'\nunknown: 1\nnonsense\n---\r\n\nBody\n",
        &expect![[r#"Some("Do it") Some("[FILE]") "\nBody\n""#]],
    );
    check_head(" ---\nargument-hint: it's \"so\"\n---", &expect![[r#"None Some("it's \"so\"") """#]]);
    check_head("---\ndescription: x\nnever closed", &expect![[r#"None None "---\ndescription: x\nnever closed""#]]);
    check_head("---\ndescription: \"\n---\n", &expect![[r#"Some("\"") None """#]]);
    check_head("", &expect![[r#"None None """#]]);
}

#[test]
fn positions_are_filled_and_missing_ones_are_empty() {
    check_expansion("Pos $1 and $2 all $ARGUMENTS end $$1", " a \"b c\"", &expect!["Pos a and b c all a b c end $$1"]);
    check_expansion("$1|$9|$10|$0|$|$x|$$", " a", &expect!["a||a0|$0|$|$x|$$"]);
    check_expansion("[$ARGUMENTS]", "", &expect!["[]"]);
    check_expansion(
        "$ARGUMENTSX",
        " a b",
        &expect![
            "error: Could not parse /prompts:x: expected key=value but found 'a'. Wrap values in double quotes if they contain spaces."
        ],
    );
    check_expansion("[$ARGUMENTS] $1", " a 'b c", &expect!["[a] a"]);
    check_expansion("[$1] [$2]", "\n one\n two", &expect!["[one] [two]"]);
    check_expansion("No places.", " ignored", &expect!["No places."]);
}

#[test]
fn names_are_filled_with_the_last_value_and_others_are_ignored() {
    check_expansion(
        "Read $FILE as $USER_2, $FILE.",
        " FILE=\"a b.md\" USER_2=ada x=1",
        &expect!["Read a b.md as ada, a b.md."],
    );
    check_expansion("$A $$A $1 $ARGUMENTS", " A=1 A=2", &expect!["2 $$A $1 $ARGUMENTS"]);
    check_expansion("$A $ARGUMENTS", " A=1 ARGUMENTS=all", &expect!["1 all"]);
    check_expansion("$A", " A==b=", &expect!["=b="]);
    check_expansion("$A", " A=''", &expect![""]);
}

#[test]
fn names_without_values_are_errors() {
    check_expansion(
        "$A",
        " loose",
        &expect![
            "error: Could not parse /prompts:x: expected key=value but found 'loose'. Wrap values in double quotes if they contain spaces."
        ],
    );
    check_expansion("$A", " =x", &expect!["error: Could not parse /prompts:x: expected a name before '=' in '=x'."]);
    check_expansion(
        "$A $B $C",
        " B=1",
        &expect!["error: Missing required args for /prompts:x: A, C. Provide as key=value (quote values with spaces)."],
    );
    check_expansion(
        "$A",
        "",
        &expect!["error: Missing required args for /prompts:x: A. Provide as key=value (quote values with spaces)."],
    );
}

#[test]
fn only_a_known_prompt_is_expanded() {
    let prompts = [prompt("Body")];
    for text in ["/prompts:y", "/prompts:", "/x", "prompts:x", " /prompts:x", "/prompts:xx a"] {
        assert_eq!(expand(&prompts, text, &[]), Ok(None), "{text}");
    }
}

#[test]
fn spans_that_stand_for_something_survive() {
    let text = "/prompts:x FILE=[Image #1] NOTE=\"see [Pasted 'text'] now\"";
    let element = |part: &str| {
        let start = text.find(part).unwrap();
        TextElement { byte_range: ByteRange { start, end: start + part.len() }, placeholder: Some(part.to_owned()) }
    };
    let elements = [element("[Pasted 'text']"), element("[Image #1]")];
    let expansion = expand(&[prompt("Note: $NOTE; file: $FILE!")], text, &elements).unwrap().unwrap();
    assert_eq!(expansion.text, "Note: see [Pasted 'text'] now; file: [Image #1]!");
    for TextElement { byte_range, placeholder } in &expansion.elements {
        assert_eq!(expansion.text.get(byte_range.start..byte_range.end), placeholder.as_deref());
    }
    assert_eq!(expansion.elements.len(), 2);
    let error = expand(
        &[prompt("$A")],
        "/prompts:x [Image #1]",
        &[TextElement { byte_range: ByteRange { start: 11, end: 21 }, placeholder: None }],
    );
    expect!["Could not parse /prompts:x: expected key=value but found '[Image #1]'. Wrap values in double quotes if they contain spaces."].assert_eq(&error.unwrap_err().to_string());
}

#[test]
fn choosing_asks_for_arguments_only_where_there_are_places() {
    #[track_caller]
    fn check(content: &str, expected: &Expect) {
        let shown = match prompt(content).choose() {
            Chosen::Insert { text, cursor } => format!("insert {}|{}", &text[..cursor], &text[cursor..]),
            Chosen::Submit { text } => format!("submit {text}"),
        };
        expected.assert_eq(&shown);
    }
    check("$A $B $A", &expect![[r#"insert /prompts:x A="|" B="""#]]);
    check("$1", &expect!["insert /prompts:x |"]);
    check("All: $ARGUMENTS", &expect!["insert /prompts:x |"]);
    check("Plain $x.", &expect!["submit Plain $x."]);
}

proptest! {
    #[test]
    fn nothing_makes_it_panic_and_spans_are_in_range(
        content in "[$A-C1-3 é{}]{0,20}",
        text in "[ =A-C\"'é\u{f0000}\u{f0001}0]{0,20}",
        ranges in prop::collection::vec((0_usize..40, 0_usize..40), 0..4),
    ) {
        let text = format!("/prompts:x {text}");
        let elements: Vec<_> = ranges
            .into_iter()
            .map(|(start, end)| TextElement { byte_range: ByteRange { start, end }, placeholder: None })
            .collect();
        if let Ok(Some(expansion)) = expand(&[prompt(&content)], &text, &elements) {
            for TextElement { byte_range, .. } in &expansion.elements {
                prop_assert!(expansion.text.get(byte_range.start..byte_range.end).is_some());
            }
        }
    }
}
