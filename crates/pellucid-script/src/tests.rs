//! What templates write, whose bytes they are, and what is refused.

use std::collections::BTreeMap;
use std::ops::Range;

use expect_test::Expect;
use expect_test::expect;
use proptest::prelude::*;
use serde_json::json;

use super::*;

/// An origin of these tests: a name, and the range of a file.
#[derive(Debug, Clone, PartialEq)]
enum From {
    Own(&'static str),
    Fact(String),
    File(Range<usize>),
    Rewritten,
}

impl Provenance for From {
    fn narrowed(&self, whole: &str, range: Range<usize>) -> Self {
        match self {
            Self::File(all) if all.len() == whole.len() => Self::File(all.start + range.start..all.start + range.end),
            origin => origin.clone(),
        }
    }

    fn rewritten(&self) -> Self {
        match self {
            Self::File(_) => Self::Rewritten,
            origin => origin.clone(),
        }
    }

    fn joins(&self) -> bool {
        !matches!(self, Self::File(_))
    }
}

const FILE: &str = "First line\nSecond <line>\r\nthird Zeile: Übung\n";

/// Facts by name, a file, and templates that can be included.
struct World {
    facts: serde_json::Value,
    templates: BTreeMap<&'static str, Program>,
}

impl World {
    fn new() -> Self {
        let facts = json!({
            "name": "Ada",
            "turns": 3,
            "share": 0.25,
            "is_new": true,
            "unknown": null,
            "none_of_them": [],
            "tools": [
                { "name": "read", "about": "reads a file" },
                { "name": "Exec", "about": null },
                { "name": "exec", "about": "again" },
            ],
            "words": [" b ", "A", "", "c"],
            "by_name": { "x": 1, "y": "two" },
        });
        let included = Program::template("part.jinja", "<{{ name }}>\n").unwrap();
        let with_macro =
            "{% set mark = \"*\" %}{% macro marked(it) %}{{ mark }}{{ it }}{% endmacro %}{{ marked(name) }}";
        let with_macro = Program::template("macro.jinja", with_macro).unwrap();
        let endless = Program::template("endless.jinja", "{% include \"endless.jinja\" %}").unwrap();
        Self {
            facts,
            templates: BTreeMap::from([
                ("part.jinja", included),
                ("endless.jinja", endless),
                ("macro.jinja", with_macro),
            ]),
        }
    }

    fn names(&self) -> Vec<&str> {
        self.facts.as_object().unwrap().keys().map(String::as_str).chain(["file"]).collect()
    }
}

impl Roots<From> for World {
    fn value(&self, name: &str) -> Option<Value<From>> {
        if name == "file" {
            return Some(Value::text(From::File(0..FILE.len()), FILE));
        }
        self.facts.get(name).map(|value| Value::json(&From::Fact(name.to_owned()), value))
    }

    fn template(&self, name: &str) -> Option<(&Program, From)> {
        self.templates.get(name).map(|program| (program, From::Own("part")))
    }
}

fn rendered(source: &str, limits: Limits) -> Result<Rendered<From>, ScriptError> {
    let world = World::new();
    let program = Program::template("t.jinja", source)?;
    program.check(&world.names(), |name| world.templates.contains_key(name))?;
    render(&program, &From::Own("t"), &world, limits)
}

/// Renders a template and shows the origin of every piece before it.
fn shown(source: &str) -> String {
    let rendered = match rendered(source, Limits::default()) {
        Ok(rendered) => rendered,
        Err(error) => return format!("error: {error}"),
    };
    let mut shown = String::new();
    for (origin, text) in rendered.text.into_pieces() {
        shown += &match origin {
            From::Own(name) => format!("[{name}]"),
            From::Fact(name) => format!("[fact {name}]"),
            From::File(range) => {
                assert_eq!(text, FILE[range.clone()], "a row of a file has the bytes of the file");
                format!("[file {}-{}]", range.start, range.end)
            }
            From::Rewritten => "[rewritten]".to_owned(),
        };
        shown += &text;
    }
    for left_out in rendered.left_out {
        shown += &format!("\nleft out: {}: {}", left_out.what, left_out.why);
    }
    shown
}

#[track_caller]
fn check_template(source: &str, expected: &Expect) {
    expected.assert_eq(&shown(source));
}

#[test]
fn the_bytes_of_facts_and_of_the_template_are_told_apart() {
    check_template(
        "Hello {{ name }}, {{ turns }} turns\n",
        &expect!["[t]Hello [fact name]Ada[t], [fact turns]3[t] turns"],
    );
}

#[test]
fn origins_stay_in_loops_conditions_macros_blocks_and_included_templates() {
    check_template(
        "{% for tool in tools if tool.about %}{{ loop.index }}. {{ tool.name }}: {{ tool.about }};{% endfor %}",
        &expect![
            "[t]1. [fact tools]read[t]: [fact tools]reads a file[t];2. [fact tools]exec[t]: [fact tools]again[t];"
        ],
    );
    check_template(
        "{% macro line(label, value=name) %}{{ label }}={{ value }}\n{% endmacro %}\n{{ line(\"a\") }}{{ line(\"b\", turns) }}",
        &expect![[r#"
            [t]a=[fact name]Ada[t]
            b=[fact turns]3"#]],
    );
    check_template(
        "{% set both %}{{ name }}!{% endset %}{{ both }}{% filter upper %}x{{ both }}{% endfilter %}{% include \"part.jinja\" %}",
        &expect!["[fact name]Ada[t]!X[fact name]ADA[t]![part]<[fact name]Ada[part]>"],
    );
    check_template(
        "{% with a = name, b = turns + 1 %}{{ a ~ \"/\" ~ b }}{% endwith %}",
        &expect!["[fact name]Ada[t]/[fact turns]4"],
    );
}

#[test]
fn a_macro_sees_what_its_own_template_sets() {
    check_template(
        "{% for word in words[:1] %}{% include \"macro.jinja\" %}{% endfor %}",
        &expect!["[part]*[fact name]Ada"],
    );
}

#[test]
fn a_line_with_nothing_but_a_statement_leaves_no_line() {
    check_template(
        "a\n  {% if is_new %}\nb\n  {% else %}\nc\n  {% endif %}\n{# a comment #}\nd\n",
        &expect![[r#"
            [t]a
            b
            d"#]],
    );
}

#[test]
fn parts_of_a_file_have_their_range_and_changed_characters_do_not() {
    check_template("{{ file | lines | last }}", &expect!["[file 26-45]third Zeile: Übung"]);
    check_template(
        "{{ (file | lines)[1] | xml }}",
        &expect!["[file 11-18]Second [rewritten]&lt;[file 19-23]line[rewritten]&gt;"],
    );
    check_template("{{ file | head(5) | upper }}", &expect!["[file 0-1]F[rewritten]IRST"]);
    check_template("{{ file | trim | tail(5) }}|{{ file[0:3] }}", &expect!["[file 41-45]bung[t]|[file 0-3]Fir"]);
    check_template("{{ file | replace(\"line\", \"row\") | head(9) }}", &expect!["[file 0-6]First [t]row"]);
    check_template("{{ file | head(8) | json }}", &expect![[r#"[t]"[file 0-8]First li[t]""#]]);
}

#[test]
fn every_filter_gives_what_is_said_of_it() {
    check_template(
        "{{ words | map(\"trim\") | select | sort | join(\"|\") }}",
        &expect!["[fact words]A[t]|[fact words]b[t]|[fact words]c"],
    );
    check_template(
        "{{ tools | map(attribute=\"name\") | unique | join(\",\") }}",
        &expect!["[fact tools]read[t],[fact tools]Exec"],
    );
    check_template(
        "{{ tools | unique(attribute=\"name\", case_sensitive=true) | length }} {{ tools | length }} {{ name | bytes }} {{ \"ü𝄞\" | utf16 }}",
        &expect!["[t]3 3 3 3"],
    );
    check_template(
        "{{ by_name | json }} {{ tools | first | json }}",
        &expect![[
            r#"[t]{"[fact by_name]x[t]":[fact by_name]1[t],"[fact by_name]y[t]":"[fact by_name]two[t]"} {"[fact tools]name[t]":"[fact tools]read[t]","[fact tools]about[t]":"[fact tools]reads a file[t]"}"#
        ]],
    );
    check_template(
        "{% for key, value in by_name | items %}{{ key }}={{ value }} {% endfor %}{% for key in by_name %}{{ key }}{% endfor %}",
        &expect!["[fact by_name]x[t]=[fact by_name]1[t] [fact by_name]y[t]=[fact by_name]two[t] [fact by_name]xy"],
    );
    check_template(
        "{{ unknown | default(\"-\") }}{{ by_name.z | default(name) }}{{ \"\" | default(\"empty\", true) }}",
        &expect!["[t]-[fact name]Ada[t]empty"],
    );
    check_template(
        "{{ \"a\\nb\" | indent(2) }}|{{ \"a\" | indent(1, first=true) }}",
        &expect![[r#"
        [t]a
          b| a"#]],
    );
    check_template(
        "{{ words | reject(\"blank\") | map(\"lower\") | reverse | join }} {{ \"a,b\" | split(\",\") | last }}{{ \"A\\u202e\\nb\" | printable }}",
        &expect!["[fact words]ca b [t] bAb"],
    );
    check_template("{{ tools | select(\"in\", tools[:1]) | length }}{{ \"x\" | upper | lower }}", &expect!["[t]1x"]);
    check_template(
        "{{ \"ab\" | tail(1, units=\"utf16\") }}{{ \"äb\" | head(1) }}{{ \"äb\" | head(1, units=\"chars\") }}",
        &expect!["[t]bä"],
    );
}

#[test]
fn parts_of_many_pieces_are_split_where_they_are() {
    check_template(
        "{% set t = file | head(24) | xml | replace(\"line\", name) %}{{ t | split(\"e\") | join(\"|\") }}",
        &expect![[r#"
            [file 0-6]First [fact name]Ada[file 10-12]
            S[t]|[file 13-18]cond [rewritten]&lt;[fact name]Ada[rewritten]&gt;"#]],
    );
    check_template("{{ [1, \"1\", none, 1.0, true, \"A\", \"a\"] | unique | length }}", &expect!["[t]5"]);
}

#[test]
fn conditions_and_calculations_are_jinjas() {
    let yes = "{{ \"y\" if CONDITION else \"n\" }}";
    let all = [
        "turns > 2 and not unknown",
        "1 < turns <= 3",
        "name in [\"Ada\", \"Bob\"]",
        "\"da\" in name",
        "\"z\" not in by_name",
        "by_name.z is undefined and by_name.x is defined",
        "unknown is none and name is string and turns is number",
        "name is startingwith(\"A\") and name is endingwith(\"a\")",
        "words[2] is blank and words | last == \"c\"",
        "turns // 2 == 1 and turns % 2 == 1 and turns / 2 == 1.5 and -turns == -3",
        "share * 4 == 1 and turns - 1 == 2 and [1] + [2] == [1, 2]",
        "none_of_them == [] and not none_of_them and {\"a\": 1} == {\"a\": 1}",
        "range(3) | length == 3 and name == \"Ada\" and name != \"Bob\"",
        "name is equalto(\"Ada\")",
    ];
    for condition in all {
        assert_eq!(shown(&yes.replace("CONDITION", condition)), "[t]y", "{condition}");
    }
}

#[test]
fn a_namespace_counts_across_the_rounds_of_a_loop() {
    check_template(
        "{% set seen = namespace(bytes=0) %}\n{% for word in words %}\n{% set seen.bytes = seen.bytes + word | bytes %}\n{% if seen.bytes <= 4 %}{{ word }}{% else %}{% do omit(word, \"too long\") %}{% endif %}\n{% endfor %}\n={{ seen.bytes }}\n",
        &expect![[r#"
            [fact words] b A[t]=5
            left out: c: too long"#]],
    );
    check_template(
        "{% set name.x = 1 %}",
        &expect!["error: t.jinja:1:17: `name` is no namespace; make it with `namespace(…)`"],
    );
}

#[test]
fn what_is_left_out_is_said() {
    check_template(
        "{% if none_of_them %}{{ none_of_them | join }}{% else %}{% do omit(\"list\", \"nothing is in it\") %}{% endif %}",
        &expect![[r#"

            left out: list: nothing is in it"#]],
    );
}

#[test]
fn an_error_names_its_place_and_what_would_be_right() {
    check_template(
        "a\n{{ nme }}",
        &expect![
            "error: t.jinja:2:4: unknown name `nme`; known: `name`, `turns`, `share`, `is_new`, `unknown`, `none_of_them`, `tools`, `words`, `by_name`, `file`"
        ],
    );
    check_template(
        "{{ name | uper }}",
        &expect![
            "error: t.jinja:1:11: unknown filter `uper`; known: `bytes`, `default`, `first`, `head`, `indent`, `items`, `join`, `json`, `last`, `length`, `lines`, `lower`, `map`, `printable`, `reject`, `replace`, `reverse`, `select`, `sort`, `split`, `tail`, `trim`, `unique`, `upper`, `utf16`, `xml`"
        ],
    );
    check_template(
        "{{ unknown }}",
        &expect!["error: t.jinja:1:4: none cannot be written; say what to write instead: `default(\"…\")`"],
    );
    check_template(
        "{{ by_name.z }}",
        &expect!["error: t.jinja:1:4: `z` is not defined; test it with `is defined`, or give a value with `default`"],
    );
    check_template("{{ tools }}", &expect!["error: t.jinja:1:4: a list cannot be written; use `join` or a loop"]);
    check_template(
        "{{ is_new }}",
        &expect!["error: t.jinja:1:4: a boolean cannot be written; say the word: `\"yes\" if … else \"no\"`"],
    );
    check_template("{% if name %}", &expect!["error: t.jinja:1:12: unexpected end of input, expected end of block"]);
    check_template(
        "{% extends \"x\" %}",
        &expect![
            "error: t.jinja:1:4: templates of packs do not have `extends`; use `include` or a macro of the same file"
        ],
    );
    check_template("{% include \"x\" %}", &expect!["error: t.jinja:1:4: the pack has no template `x`"]);
    check_template(
        "{{ open(\"/etc/passwd\") }}",
        &expect!["error: t.jinja:1:4: unknown function `open`; known: `namespace`, `omit`, `range`"],
    );
    check_template("{{ name.upper() }}", &expect!["error: t.jinja:1:8: values have no functions; use a filter"]);
    check_template("{{ name | join(\",\") }}", &expect!["error: t.jinja:1:11: `join` works on a list, not on a text"]);
    check_template("{{ words | join(\",\", \"x\") }}", &expect!["error: t.jinja:1:12: `join` has fewer arguments"]);
    check_template("{{ words | join(sep=\",\") }}", &expect!["error: t.jinja:1:12: `join` has no argument `sep`"]);
    check_template(
        "{{ turns / 0 }}",
        &expect!["error: t.jinja:1:4: the result is not a number: too large, or a division by zero"],
    );
    check_template("{{ name < turns }}", &expect!["error: t.jinja:1:4: a text and a number have no order"]);
}

#[test]
fn nothing_runs_for_ever_or_fills_the_memory() {
    let small = Limits { steps: 1_000, bytes: 100_000, depth: 4 };
    let refused = |source: &str| rendered(source, small).map(drop).unwrap_err().message;
    let nested = "{% for a in range(100) %}{% for b in range(100) %}{% endfor %}{% endfor %}";
    assert_eq!(refused(nested), "it takes more than 1000 steps");
    let doubling = format!("{{% set a = file %}}{}", "{% set a = a ~ a %}".repeat(40));
    let patient = Limits { steps: 1_000_000, ..small };
    assert_eq!(rendered(&doubling, patient).unwrap_err().message, "it makes more than 100000 bytes of text");
    assert_eq!(refused("{% include \"endless.jinja\" %}"), "macros and includes are nested more than 4 deep");
    assert_eq!(
        refused("{% macro a(n) %}{{ a(n) }}{% endmacro %}{{ a(1) }}"),
        "macros and includes are nested more than 4 deep"
    );
    // What goes through a list or a long text takes as many steps as that.
    let searching = "{% set l = range(900) %}{% for a in range(900) %}{% if a in l %}{% endif %}{% endfor %}";
    assert_eq!(refused(searching), "it takes more than 1000 steps");
    assert_eq!(
        refused("{% set l = range(100) %}{{ l | select(\"in\", l) | length }}"),
        "it takes more than 1000 steps"
    );
    assert_eq!(refused("{{ range(100000) | length }}"), "`range` takes a number from 0 to 10000");
    let long = format!("{{{{ {} }}}}", ["1"; 3_000].join(" + "));
    assert_eq!(refused(&long), "more than 2000 words and signs between two braces; use several `set`");
    let deep = format!("{{{{ {} }}}}", ["1"; 500].join(" + "));
    assert_eq!(refused(&deep), "the expression is nested more than 60 deep; use `set` for parts of it");
}

#[test]
fn a_condition_is_an_expression() {
    let world = World::new();
    let check = |source: &str| {
        let program = Program::expression("pack.toml", source)?;
        program.check(&world.names(), |_| false)?;
        is_true(&program, &From::Own("t"), &world, Limits::default())
    };
    assert_eq!(check("turns > 2"), Ok(true));
    assert_eq!(check("none_of_them or unknown"), Ok(false));
    assert_eq!(
        check("turns >").unwrap_err().to_string(),
        "pack.toml:1:7: unexpected end of input, expected expression"
    );
    assert_eq!(check("turn > 1").unwrap_err().message.split(';').next(), Some("unknown name `turn`"));
}

/// Templates of all statements, with expressions of all kinds.
fn any_template() -> impl Strategy<Value = String> {
    let value =
        prop::sample::select(vec!["name", "turns", "file", "tools[0].name", "\"é\\n<x>\"", "words | join(\"-\")"]);
    let filter = prop::sample::select(vec![
        "upper",
        "lower",
        "trim",
        "xml",
        "head(7)",
        "tail(7)",
        "json",
        "indent(2)",
        "printable",
        "replace(\"i\", name)",
        "lines | join(\"+\")",
        "split(\"e\") | reverse | join",
        "default(\"\")",
    ]);
    let emitted = (value, prop::collection::vec(filter, 0..4)).prop_map(|(value, filters)| {
        format!("{{{{ {value}{} }}}}", filters.iter().map(|it| format!(" | {it}")).collect::<String>())
    });
    let leaf = prop_oneof![emitted, "[a-z {}%#\\n]{0,12}".prop_map(|text| text.replace(['{', '}', '%', '#'], "."))];
    leaf.prop_recursive(3, 24, 4, |inner| {
        let body = prop::collection::vec(inner, 0..4).prop_map(|parts| parts.concat());
        prop_oneof![
            body.clone().prop_map(|body| format!("{{% for it in words %}}{body}{{{{ it }}}}{{% endfor %}}")),
            body.clone().prop_map(|body| format!("{{% if is_new %}}{body}{{% endif %}}")),
            body.clone().prop_map(|body| format!("{{% filter upper %}}{body}{{% endfilter %}}")),
            body.prop_map(|body| format!("{{% set s %}}{body}{{% endset %}}{{{{ s }}}}{{{{ s | lower }}}}")),
        ]
    })
}

proptest! {
    #[test]
    fn every_byte_has_an_origin_and_rows_of_files_have_their_bytes(source in any_template()) {
        let rendered = rendered(&source, Limits::default()).unwrap();
        let plain = rendered.text.plain();
        let pieces = rendered.text.into_pieces();
        prop_assert_eq!(pieces.iter().map(|(_, text)| text.as_str()).collect::<String>(), plain);
        for (origin, text) in pieces {
            match origin {
                From::File(range) => prop_assert_eq!(&text, &FILE[range]),
                From::Fact(name) => prop_assert!(!text.is_empty() && name != "file"),
                From::Own(_) | From::Rewritten => {}
            }
        }
    }

    #[test]
    fn anything_is_rendered_or_refused(source in "[ -~\\n]{0,60}|(\\{\\{|\\}\\}|\\{%|%\\}| |name|for|in|if|end|set|\\||\\(|\\)|\\[|\\]|\"|,|=|~|words|it){0,30}") {
        let _ = rendered(&source, Limits { steps: 10_000, bytes: 100_000, depth: 4 });
    }
}
