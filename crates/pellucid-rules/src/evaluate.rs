//! Rules files are programs in Starlark with one function, `prefix_rule`.
//!
//! A rules file can reach nothing else. Its running time, nesting and memory are bounded, so that a mistake ends with
//! a message. That is no defence against malice; strangers' programs are not run.
//!
//! The interpreter is known to this file alone.

use std::cell::RefCell;

use pellucid_engine::approval::rules::Rule;
use pellucid_engine::approval::rules::RulePlace;
use pellucid_engine::command_line::joined;
use pellucid_engine::facts::PrefixToken;
use pellucid_protocol::approval::RuleDecision;
use starlark::environment::GlobalsBuilder;
use starlark::environment::Module;
use starlark::eval::Evaluator;
use starlark::starlark_module;
use starlark::syntax::AstModule;
use starlark::syntax::Dialect;
use starlark::values::Value;
use starlark::values::list::ListRef;
use starlark::values::list::UnpackList;
use starlark::values::none::NoneType;

use crate::shape::shape;

/// Calls and rounds of loops; a rule is one call.
const STEPS_MAX: u64 = 100_000;
const HEAP_BYTES_MAX: usize = 16 << 20;
/// Brackets in brackets. The interpreter goes down as deep.
const DEPTH_MAX: usize = 50;

/// A fault in a rules file, with its line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RulesFault {
    /// The line, from 1.
    pub line: usize,
    /// The lines and columns from which and up to which it is wrong, from 1, if they are known.
    pub range: Option<[(usize, usize); 2]>,
    /// The message, on one line.
    pub message: String,
    /// The full message of several lines, with a traceback and an excerpt of the file.
    pub detail: String,
}

/// The faults that a rule can have.
#[derive(Debug, thiserror::Error)]
enum RuleError {
    #[error("invalid decision: {0}")]
    Decision(String),
    #[error("invalid pattern element: {0}")]
    Pattern(String),
    #[error("invalid example: {0}")]
    Example(String),
    #[error("invalid rule: justification cannot be empty")]
    BlankJustification,
    #[error("expected every example to match at least one rule. rules: {rules:?}; unmatched examples: {examples:?}")]
    Unmatched { rules: Vec<String>, examples: Vec<String> },
    #[error("expected example to not match rule `{rule}`: {example}")]
    Matched { rule: String, example: String },
}

impl From<RuleError> for starlark::Error {
    fn from(error: RuleError) -> Self {
        Self::new_other(error)
    }
}

thread_local! {
    /// The rules that the file has made so far. The interpreter's own place for such things takes only
    /// types that vouch for it in unsafe code.
    static RULES: RefCell<Vec<Rule>> = const { RefCell::new(Vec::new()) };
}

/// The rules of a file, in the order in which it makes them.
pub fn evaluate(path: &str, text: &str) -> Result<Vec<Rule>, RulesFault> {
    if shape(text).depth > DEPTH_MAX {
        let message = format!("error: more than {DEPTH_MAX} brackets in one another");
        return Err(RulesFault { line: 1, range: None, detail: message.clone(), message });
    }
    RULES.take();
    let outcome = run(path, text);
    let rules = RULES.take();
    outcome.map(|()| rules).map_err(|error| fault(&error))
}

fn run(path: &str, text: &str) -> starlark::Result<()> {
    let dialect = Dialect { enable_f_strings: true, ..Dialect::Extended };
    let syntax = AstModule::parse(path, text.to_owned(), &dialect)?;
    let globals = GlobalsBuilder::standard().with(builtins).build();
    Module::with_temp_heap(|module| {
        let mut evaluator = Evaluator::new(&module);
        let bounds = [evaluator.set_max_tick_count(STEPS_MAX), evaluator.set_max_heap_size(HEAP_BYTES_MAX)];
        for bound in bounds {
            bound.map_err(starlark::Error::new_other)?;
        }
        evaluator.eval_module(syntax, &globals)?;
        Ok(())
    })
}

fn fault(error: &starlark::Error) -> RulesFault {
    let span = error.span().map(starlark::codemap::FileSpan::resolve_span);
    let line = span.map_or(1, |span| span.begin.line + 1);
    let range = span.map(|span| [span.begin, span.end].map(|place| (place.line + 1, place.column + 1)));
    let detail = format!("starlark error: {error}");
    let cause = detail.lines().find(|line| line.starts_with("error: "));
    let message = cause.or_else(|| detail.lines().next()).unwrap_or_default().trim_end().to_owned();
    RulesFault { line, range, message, detail }
}

#[starlark_module]
fn builtins(builder: &mut GlobalsBuilder) {
    fn prefix_rule<'v>(
        pattern: UnpackList<Value<'v>>,
        decision: Option<&'v str>,
        r#match: Option<UnpackList<Value<'v>>>,
        not_match: Option<UnpackList<Value<'v>>>,
        justification: Option<&'v str>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<NoneType> {
        let place = eval.call_stack_top_location().map(|span| span.resolve());
        let (path, line) = place.map_or_else(Default::default, |place| (place.file, place.span.begin.line + 1));
        let written = Written {
            pattern: &pattern.items,
            decision,
            matching: r#match.as_ref().map_or(&[], |list| &list.items),
            not_matching: not_match.as_ref().map_or(&[], |list| &list.items),
            justification,
            place: RulePlace::File { path, line },
        };
        let rules = written.rules()?;
        RULES.with_borrow_mut(|all| all.extend(rules));
        Ok(NoneType)
    }
}

/// The arguments of `prefix_rule` in a file.
struct Written<'a, 'v> {
    pattern: &'a [Value<'v>],
    decision: Option<&'a str>,
    matching: &'a [Value<'v>],
    not_matching: &'a [Value<'v>],
    justification: Option<&'a str>,
    place: RulePlace,
}

impl Written<'_, '_> {
    /// One rule for each alternative first word.
    fn rules(&self) -> Result<Vec<Rule>, RuleError> {
        let decision = match self.decision {
            Some(word) => RuleDecision::from_word(word).ok_or_else(|| RuleError::Decision(word.to_owned()))?,
            None => RuleDecision::Allow,
        };
        if self.justification.is_some_and(|text| text.trim().is_empty()) {
            return Err(RuleError::BlankJustification);
        }
        let tokens: Vec<PrefixToken> = self.pattern.iter().map(|value| token(*value)).collect::<Result<_, _>>()?;
        let Some((first, rest)) = tokens.split_first() else {
            return Err(RuleError::Pattern("pattern cannot be empty".to_owned()));
        };
        let firsts = match first {
            PrefixToken::Word(word) => std::slice::from_ref(word),
            PrefixToken::OneOf(words) => words,
        };
        let rule = |first: &String| Rule {
            first: first.clone(),
            rest: rest.to_vec(),
            decision,
            justification: self.justification.map(str::to_owned),
            place: self.place.clone(),
        };
        let rules: Vec<Rule> = firsts.iter().map(rule).collect();
        self.check_examples(&rules)?;
        Ok(rules)
    }

    fn check_examples(&self, rules: &[Rule]) -> Result<(), RuleError> {
        let matching = examples(self.matching)?;
        let not_matching = examples(self.not_matching)?;
        let rule_of = |example: &Vec<String>| rules.iter().find(|rule| rule.matched(example).is_some());
        let unmatched: Vec<String> =
            matching.iter().filter(|example| rule_of(example).is_none()).map(|it| joined(it)).collect();
        if !unmatched.is_empty() {
            let rules = rules.iter().map(ToString::to_string).collect();
            return Err(RuleError::Unmatched { rules, examples: unmatched });
        }
        match not_matching.iter().find_map(|example| Some((example, rule_of(example)?))) {
            Some((example, rule)) => Err(RuleError::Matched { rule: rule.to_string(), example: joined(example) }),
            None => Ok(()),
        }
    }
}

fn token(value: Value<'_>) -> Result<PrefixToken, RuleError> {
    if let Some(word) = value.unpack_str() {
        return Ok(PrefixToken::Word(word.to_owned()));
    }
    let Some(list) = ListRef::from_value(value) else {
        let found = value.get_type();
        return Err(RuleError::Pattern(format!("pattern element must be a string or list of strings (got {found})")));
    };
    let words: Vec<String> =
        words(list, |found| RuleError::Pattern(format!("pattern alternative must be a string (got {found})")))?;
    match words.as_slice() {
        [] => Err(RuleError::Pattern("pattern alternatives cannot be empty".to_owned())),
        [word] => Ok(PrefixToken::Word(word.clone())),
        _ => Ok(PrefixToken::OneOf(words)),
    }
}

fn examples(values: &[Value<'_>]) -> Result<Vec<Vec<String>>, RuleError> {
    values.iter().map(|value| example(*value)).collect()
}

/// The words of an example: a list, or a text that is split as a shell would.
fn example(value: Value<'_>) -> Result<Vec<String>, RuleError> {
    let wrong = |text: &str| RuleError::Example(text.to_owned());
    if let Some(text) = value.unpack_str() {
        let words = shlex::split(text).ok_or_else(|| wrong("example string has invalid shell syntax"))?;
        return if words.is_empty() { Err(wrong("example cannot be an empty string")) } else { Ok(words) };
    }
    let Some(list) = ListRef::from_value(value) else {
        let found = value.get_type();
        return Err(RuleError::Example(format!("example must be a string or list of strings (got {found})")));
    };
    let words = words(list, |found| RuleError::Example(format!("example tokens must be strings (got {found})")))?;
    if words.is_empty() { Err(wrong("example cannot be an empty list")) } else { Ok(words) }
}

fn words(list: &ListRef<'_>, wrong: impl Fn(&str) -> RuleError) -> Result<Vec<String>, RuleError> {
    let word = |value: Value<'_>| value.unpack_str().map(str::to_owned).ok_or_else(|| wrong(value.get_type()));
    list.iter().map(word).collect()
}

#[cfg(test)]
mod tests {
    use expect_test::Expect;
    use expect_test::expect;

    use super::*;

    #[track_caller]
    fn check_rules(text: &str, expected: &Expect) {
        let found = match evaluate("a.rules", text) {
            Ok(rules) => rules.iter().map(|rule| format!("{}: {rule}\n", rule.place)).collect(),
            Err(fault) => format!("{}: {}", fault.line, fault.message),
        };
        expected.assert_eq(&found);
    }

    #[test]
    fn a_file_is_a_program() {
        check_rules(
            r#"
prefix_rule(pattern=["git", ["push", "pull"]], decision="prompt", justification="Others see it.")
prefix_rule(["ls"])
prefix_rule(["a", "b"], "forbidden", ["a b c"], ["b"], "No.")
for tool in ["npm", "yarn"]:
    prefix_rule(
        pattern=[tool, f"{tool}-test"],
    )

def both(word):
    prefix_rule(pattern=[["x", "y"], [word]])

both("z")
"#,
            &expect![[r#"
                a.rules:2: prefix_rule(pattern=["git", ["push", "pull"]], decision="prompt", justification="Others see it.")
                a.rules:3: prefix_rule(pattern=["ls"], decision="allow")
                a.rules:4: prefix_rule(pattern=["a", "b"], decision="forbidden", justification="No.")
                a.rules:6: prefix_rule(pattern=["npm", "npm-test"], decision="allow")
                a.rules:6: prefix_rule(pattern=["yarn", "yarn-test"], decision="allow")
                a.rules:11: prefix_rule(pattern=["x", "z"], decision="allow")
                a.rules:11: prefix_rule(pattern=["y", "z"], decision="allow")
            "#]],
        );
        check_rules("", &expect![[""]]);
    }

    #[test]
    fn what_is_wrong_with_a_rule() {
        check_rules("prefix_rule(pattern=[], decision='maybe')", &expect!["1: error: invalid decision: maybe"]);
        check_rules(
            "\n\nprefix_rule(pattern=[])",
            &expect!["3: error: invalid pattern element: pattern cannot be empty"],
        );
        check_rules(
            "prefix_rule(pattern=['a', []])",
            &expect!["1: error: invalid pattern element: pattern alternatives cannot be empty"],
        );
        check_rules(
            "prefix_rule(pattern=['a', 3])",
            &expect![
                "1: error: invalid pattern element: pattern element must be a string or list of strings (got int)"
            ],
        );
        check_rules(
            "prefix_rule(pattern=['a', [3]])",
            &expect!["1: error: invalid pattern element: pattern alternative must be a string (got int)"],
        );
        check_rules(
            "prefix_rule(pattern='a')",
            &expect![[
                r#"1: error: Type of parameter `pattern` doesn't match, expected `list`, actual `string (repr: "a")`"#
            ]],
        );
        check_rules(
            "prefix_rule(pattern=['a'], justification=' ')",
            &expect!["1: error: invalid rule: justification cannot be empty"],
        );
        check_rules("prefix_rule()", &expect!["1: error: Missing parameter `pattern` for call to `prefix_rule`"]);
        check_rules(
            "prefix_rule(pattern=['a'], bar=1)",
            &expect!["1: error: Found `bar` extra named parameter(s) for call to prefix_rule"],
        );
    }

    #[test]
    fn examples_are_checked_against_their_own_rule() {
        check_rules(
            "prefix_rule(['a'])\nprefix_rule(['b'], match=['b c', 'a', ['d', 'e f']])",
            &expect![[
                r#"2: error: expected every example to match at least one rule. rules: ["prefix_rule(pattern=[\"b\"], decision=\"allow\")"]; unmatched examples: ["a", "d 'e f'"]"#
            ]],
        );
        check_rules(
            "prefix_rule(['a', ['b', 'c']], not_match=['b c', 'a b c'])",
            &expect![[
                r#"1: error: expected example to not match rule `prefix_rule(pattern=["a", ["b", "c"]], decision="allow")`: a b c"#
            ]],
        );
        check_rules(
            "prefix_rule([['x', 'y']], match=['x', 'y'], not_match=['z'])",
            &expect![[r#"
            a.rules:1: prefix_rule(pattern=["x"], decision="allow")
            a.rules:1: prefix_rule(pattern=["y"], decision="allow")
        "#]],
        );
        check_rules(
            "prefix_rule(['a'], match=['  '])",
            &expect!["1: error: invalid example: example cannot be an empty string"],
        );
        check_rules(
            "prefix_rule(['a'], match=[[]])",
            &expect!["1: error: invalid example: example cannot be an empty list"],
        );
        check_rules(
            "prefix_rule(['a'], match=['a \"b'])",
            &expect!["1: error: invalid example: example string has invalid shell syntax"],
        );
        check_rules(
            "prefix_rule(['a'], match=[3])",
            &expect!["1: error: invalid example: example must be a string or list of strings (got int)"],
        );
        check_rules(
            "prefix_rule(['a'], match=[['a', 3]])",
            &expect!["1: error: invalid example: example tokens must be strings (got int)"],
        );
        check_rules(
            "def f(x):\n    prefix_rule([x], match=['zz'])\n\nf('a')",
            &expect![[
                r#"2: error: expected every example to match at least one rule. rules: ["prefix_rule(pattern=[\"a\"], decision=\"allow\")"]; unmatched examples: ["zz"]"#
            ]],
        );
    }

    #[test]
    fn what_is_wrong_with_a_program() {
        check_rules(
            "prefix_rule(pattern=[\n",
            &expect!["2: starlark error: error: Parse error: unexpected new line, expected expression"],
        );
        check_rules("\nfoo(1)", &expect!["2: starlark error: error: Variable `foo` not found, did you mean `bool`?"]);
        check_rules(
            "load('x', 'y')",
            &expect![
                "1: starlark error: error: No imports are available, you tried `x` (no call to `Evaluator.set_loader`)"
            ],
        );
        check_rules("def f(x):\n  return f(x)\nf(1)", &expect!["2: error: Starlark call stack overflow"]);
    }

    #[test]
    fn a_program_ends() {
        check_rules(
            "def f():\n    for i in range(1000000000):\n        pass\nf()",
            &expect!["1: starlark error: Execution duration limit of 100000 ticks has been exceeded"],
        );
        check_rules(
            "x = []\nfor i in range(100000):\n    x.append('a' * 20000)",
            &expect!["1: starlark error: Heap memory limit of 16777216 bytes exceeded."],
        );
    }

    #[test]
    fn brackets_do_not_nest_without_end() {
        check_rules(&"[".repeat(10_000), &expect!["1: error: more than 50 brackets in one another"]);
    }

    #[test]
    fn the_detail_shows_the_way() {
        let fault = evaluate("a.rules", "prefix_rule(pattern=[])\n").unwrap_err();
        expect![[r#"
            starlark error: Traceback (most recent call last):
              * a.rules:1, in <module>
                  prefix_rule(pattern=[])
            error: invalid pattern element: pattern cannot be empty
             --> a.rules:1:1
              |
            1 | prefix_rule(pattern=[])
              | ^^^^^^^^^^^^^^^^^^^^^^^
              |
        "#]]
        .assert_eq(&fault.detail);
    }
}
