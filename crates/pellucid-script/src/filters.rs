//! Filters: what can be done with a value. A filter cuts, joins and counts; where it makes other bytes than it was given,
//! these bytes have the origin of rewritten ones.

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::vec;

use crate::expression::attribute;
use crate::expression::order;
use crate::tests_of_values;
use crate::text::Provenance;
use crate::text::Text;
use crate::value::Value;
use crate::value::missing;

/// Every filter with what it gives.
pub const FILTERS: &[(&str, &str)] = &[
    ("bytes", "the length in bytes of UTF-8"),
    ("default", "the value, or the one that is given if it is not defined or none; with `true` also if it is empty"),
    ("first", "the first value of a list"),
    ("head", "the first bytes of a text, up to a number; `units` may be `\"chars\"` or `\"utf16\"`"),
    ("indent", "every line but the first behind spaces, 4 or as many as given; with `first=true` the first too"),
    ("items", "the names and values of a map, as pairs"),
    ("join", "the values of a list as one text, with the text that is given between each two"),
    ("json", "the value as JSON"),
    ("last", "the last value of a list"),
    ("length", "how many characters, values or names"),
    ("lines", "the lines of a text, without their ends"),
    ("lower", "the text in lower case"),
    ("map", "the list with another filter applied to each value, or with `attribute=\"name\"` of each"),
    ("printable", "the text without control characters, format characters and line ends"),
    ("reject", "the values of a list that are not true, or for which the test that is named does not hold"),
    ("replace", "the text with one text replaced by another wherever it occurs"),
    ("reverse", "the list from its end"),
    ("select", "the values of a list that are true, or for which the test that is named holds"),
    ("sort", "the list in order, by `attribute` if given; case counts with `case_sensitive=true`"),
    ("split", "the texts between the occurrences of a separator"),
    ("tail", "the last bytes of a text, up to a number; `units` as for `head`"),
    ("trim", "the text without white space at both ends"),
    ("unique", "the list without repetitions; case counts with `case_sensitive=true`"),
    ("upper", "the text in upper case"),
    ("utf16", "the length in UTF-16 units"),
    ("xml", "the text with `&`, `<`, `>`, `\"` and `'` escaped"),
];

pub(crate) fn known(name: &str) -> Option<&'static str> {
    FILTERS.iter().map(|(known, _)| *known).find(|known| *known == name)
}

pub(crate) fn listed() -> String {
    FILTERS.iter().map(|(name, _)| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

/// The values of arguments, taken one by one.
#[derive(Debug)]
pub(crate) struct Given<O> {
    plain: vec::IntoIter<Value<O>>,
    named: Vec<(Arc<str>, Value<O>)>,
}

impl<O: Provenance> Given<O> {
    pub(crate) fn new(plain: Vec<Value<O>>, named: Vec<(Arc<str>, Value<O>)>) -> Self {
        Self { plain: plain.into_iter(), named }
    }

    /// The next argument without a name, else the one with this name.
    pub(crate) fn take(&mut self, name: &str) -> Option<Value<O>> {
        self.plain.next().or_else(|| self.take_named(name))
    }

    fn take_named(&mut self, name: &str) -> Option<Value<O>> {
        let at = self.named.iter().position(|(known, _)| **known == *name)?;
        Some(self.named.remove(at).1)
    }

    pub(crate) fn need(&mut self, name: &str, of: &str) -> Result<Value<O>, String> {
        self.take(name).ok_or_else(|| format!("`{of}` needs the argument `{name}`"))
    }

    pub(crate) fn need_text(&mut self, name: &str, of: &str) -> Result<String, String> {
        Ok(text_of(&self.need(name, of)?, of)?.plain())
    }

    fn flag(&mut self, name: &str, of: &str) -> Result<bool, String> {
        match self.take(name) {
            None => Ok(false),
            Some(Value::Bool(is_true)) => Ok(is_true),
            Some(other) => Err(format!("`{name}` of `{of}` is true or false, not {}", other.kind())),
        }
    }

    fn named_text(&mut self, name: &str, of: &str) -> Result<Option<String>, String> {
        self.take_named(name).map(|value| Ok(text_of(&value, of)?.plain())).transpose()
    }

    fn count(&mut self, name: &str, of: &str) -> Result<Option<usize>, String> {
        match self.take(name) {
            None => Ok(None),
            Some(Value::Number(number, _)) => {
                let count = number.as_u64().and_then(|count| usize::try_from(count).ok());
                count.map(Some).ok_or_else(|| format!("`{name}` of `{of}` is a whole number, not {number}"))
            }
            Some(other) => Err(format!("`{name}` of `{of}` is a number, not {}", other.kind())),
        }
    }

    /// How many steps it takes to go through all arguments once.
    pub(crate) fn weight(&self) -> usize {
        let plain = self.plain.as_slice().iter().map(Value::weight).sum::<usize>();
        plain + self.named.iter().map(|(_, value)| value.weight()).sum::<usize>()
    }

    /// The arguments that have a name, if there are no others.
    pub(crate) fn into_named(self) -> Vec<(Arc<str>, Value<O>)> {
        self.named
    }

    pub(crate) fn finish(mut self, of: &str) -> Result<(), String> {
        if self.plain.next().is_some() {
            return Err(format!("`{of}` has fewer arguments"));
        }
        match self.named.first() {
            Some((name, _)) => Err(format!("`{of}` has no argument `{name}`")),
            None => Ok(()),
        }
    }
}

fn text_of<O: Provenance>(value: &Value<O>, of: &str) -> Result<Text<O>, String> {
    match value {
        Value::Text(text) => Ok(text.clone()),
        Value::Number(..) => value.written(),
        Value::Missing(name) => Err(missing(name)),
        other => Err(format!("`{of}` works on a text, not on {}", other.kind())),
    }
}

fn list_of<O: Provenance>(value: &Value<O>, of: &str) -> Result<Arc<[Value<O>]>, String> {
    match value {
        Value::List(values) => Ok(values.clone()),
        Value::Missing(name) => Err(missing(name)),
        other => Err(format!("`{of}` works on a list, not on {}", other.kind())),
    }
}

/// Applies a filter. Numbers and texts that it makes by itself have the origin of the template.
pub(crate) fn apply<O: Provenance>(
    name: &'static str,
    value: Value<O>,
    mut given: Given<O>,
    own: &O,
) -> Result<Value<O>, String> {
    let count = |n: usize| Value::count(own.clone(), n);
    let result = match name {
        "default" => {
            let other = given.need("value", name)?;
            let also_empty = given.flag("boolean", name)?;
            match value {
                Value::None | Value::Missing(_) => other,
                value if also_empty && !value.truth()? => other,
                value => value,
            }
        }
        "bytes" => count(text_of(&value, name)?.len()),
        "utf16" => count(text_of(&value, name)?.plain().encode_utf16().count()),
        "length" => count(match &value {
            Value::List(values) => values.len(),
            Value::Map(values, _) => values.len(),
            value => text_of(value, name)?.plain().chars().count(),
        }),
        "trim" => Value::Text(text_of(&value, name)?.trim(is_space)),
        "lower" => Value::Text(text_of(&value, name)?.map_chars(char::to_lowercase)),
        "upper" => Value::Text(text_of(&value, name)?.map_chars(char::to_uppercase)),
        "printable" => Value::Text(text_of(&value, name)?.map_chars(|c| Some(c).filter(|c| is_shown(*c)).into_iter())),
        "xml" => Value::Text(text_of(&value, name)?.map_chars(|c| escaped(c).into_iter())),
        "lines" => {
            let text = text_of(&value, name)?;
            let mut lines = text.split("\n");
            if lines.last().is_some_and(Text::is_empty) {
                lines.pop();
            }
            Value::list(lines.into_iter().map(|line| Value::Text(without_return(&line))))
        }
        "split" => {
            let separator = given.need_text("separator", name)?;
            if separator.is_empty() {
                return Err("`split` needs a separator that is not empty".to_owned());
            }
            Value::list(text_of(&value, name)?.split(&separator).into_iter().map(Value::Text))
        }
        "replace" => {
            let old = given.need_text("old", name)?;
            let new = text_of(&given.need("new", name)?, name)?;
            if old.is_empty() {
                return Err("`replace` needs a text to replace that is not empty".to_owned());
            }
            Value::Text(text_of(&value, name)?.replace(&old, &new))
        }
        "indent" => {
            let width = given.count("width", name)?.unwrap_or(4).min(200);
            let is_first = given.flag("first", name)?;
            let margin = Text::new(own.clone(), " ".repeat(width));
            let mut text = if is_first { margin.clone() } else { Text::default() };
            let mut between = Text::new(own.clone(), "\n");
            between.push(&margin);
            text.push(&text_of(&value, name)?.replace("\n", &between));
            Value::Text(text)
        }
        "head" | "tail" => Value::Text(end_of(name, &text_of(&value, name)?, &mut given)?),
        "json" => Value::Text(json(&value, own)?),
        "items" => match &value {
            Value::Map(values, origin) => {
                let pair = |(name, value): &(Arc<str>, Value<O>)| {
                    Value::list([Value::text(origin.clone(), name.clone()), value.clone()])
                };
                Value::list(values.iter().map(pair))
            }
            other => return Err(format!("`items` works on a map, not on {}", other.kind())),
        },
        list => return of_list(list, &list_of(&value, name)?, given, own),
    };
    given.finish(name)?;
    Ok(result)
}

/// Applies a filter that works on a list.
fn of_list<O: Provenance>(
    name: &'static str,
    values: &[Value<O>],
    mut given: Given<O>,
    own: &O,
) -> Result<Value<O>, String> {
    let result = match name {
        "first" => values.first().cloned().unwrap_or_else(|| Value::Missing("first".into())),
        "last" => values.last().cloned().unwrap_or_else(|| Value::Missing("last".into())),
        "reverse" => Value::list(values.iter().rev().cloned()),
        "join" => {
            let between = match given.take("separator") {
                Some(between) => text_of(&between, name)?,
                None => Text::default(),
            };
            let by = given.named_text("attribute", name)?;
            let mut parts = Vec::with_capacity(values.len());
            for value in values {
                parts.push(by_attribute(value, by.as_deref())?.written()?);
            }
            Value::Text(Text::joined(parts, &between))
        }
        "map" => {
            let by = given.named_text("attribute", name)?;
            let mut mapped = Vec::with_capacity(values.len());
            let filter = match given.take("filter") {
                Some(filter) => {
                    let filter = text_of(&filter, name)?.plain();
                    Some(known(&filter).ok_or_else(|| format!("unknown filter `{filter}`; known: {}", listed()))?)
                }
                None if by.is_none() => return Err("`map` needs a filter's name or `attribute`".to_owned()),
                None => None,
            };
            for value in values {
                let value = by_attribute(value, by.as_deref())?;
                mapped.push(match filter {
                    Some(filter) => apply(filter, value, Given::new(Vec::new(), Vec::new()), own)?,
                    None => value,
                });
            }
            Value::list(mapped)
        }
        "select" | "reject" => {
            let test = match given.take("test") {
                Some(test) => {
                    let test = text_of(&test, name)?.plain();
                    let listed = tests_of_values::listed;
                    Some(
                        tests_of_values::known(&test)
                            .ok_or_else(|| format!("unknown test `{test}`; known: {}", listed()))?,
                    )
                }
                None => None,
            };
            let argument: Vec<Value<O>> = given.take("argument").into_iter().collect();
            let mut chosen = Vec::new();
            for value in values {
                let holds = match test {
                    Some(test) => tests_of_values::holds(test, value, Given::new(argument.clone(), Vec::new()))?,
                    None => value.truth()?,
                };
                if holds == (name == "select") {
                    chosen.push(value.clone());
                }
            }
            Value::list(chosen)
        }
        "sort" | "unique" => {
            let by = given.named_text("attribute", name)?;
            let is_exact = given.take_named("case_sensitive").map_or(Ok(false), |value| value.truth())?;
            let mut keyed = Vec::with_capacity(values.len());
            for value in values {
                keyed.push((folded(by_attribute(value, by.as_deref())?, is_exact), value.clone()));
            }
            if name == "unique" { Value::list(unique(keyed)?) } else { Value::list(sorted(keyed)?) }
        }
        other => return Err(format!("unknown filter `{other}`")),
    };
    given.finish(name)?;
    Ok(result)
}

fn by_attribute<O: Provenance>(value: &Value<O>, name: Option<&str>) -> Result<Value<O>, String> {
    name.map_or_else(|| Ok(value.clone()), |name| attribute(value, name))
}

/// The value that lists are ordered by: texts in lower case, unless case counts.
fn folded<O: Provenance>(value: Value<O>, is_exact: bool) -> Value<O> {
    match value {
        Value::Text(text) if !is_exact => Value::Text(text.map_chars(char::to_lowercase)),
        value => value,
    }
}

fn unique<O: Provenance>(keyed: Vec<(Value<O>, Value<O>)>) -> Result<Vec<Value<O>>, String> {
    let mut seen = BTreeSet::new();
    let mut kept = Vec::new();
    for (key, value) in keyed {
        let key = match &key {
            Value::Missing(name) => return Err(missing(name)),
            // With its kind, so that a text is not taken for another value.
            Value::None => (key.kind(), String::new()),
            Value::Bool(is_true) => (key.kind(), is_true.to_string()),
            Value::Number(number, _) => (key.kind(), format!("{:?}", number.as_f64())),
            Value::Text(text) => (key.kind(), text.plain()),
            other => {
                return Err(format!("`unique` compares texts and numbers, not {}; name an `attribute`", other.kind()));
            }
        };
        if seen.insert(key) {
            kept.push(value);
        }
    }
    Ok(kept)
}

/// Values in the order of their keys: numbers by size, texts by their UTF-16 units, equal ones as they came.
fn sorted<O: Provenance>(mut keyed: Vec<(Value<O>, Value<O>)>) -> Result<Vec<Value<O>>, String> {
    for pair in keyed.windows(2) {
        order(&pair[0].0, &pair[1].0)?;
    }
    keyed.sort_by(|(a, _), (b, _)| match (a, b) {
        (Value::Text(a), Value::Text(b)) => a.plain().encode_utf16().cmp(b.plain().encode_utf16()),
        (a, b) => order(a, b).unwrap_or(Ordering::Equal),
    });
    Ok(keyed.into_iter().map(|(_, value)| value).collect())
}

/// The first or last units of a text, whole characters only.
fn end_of<O: Provenance>(name: &str, text: &Text<O>, given: &mut Given<O>) -> Result<Text<O>, String> {
    let max = given.count("length", name)?.ok_or_else(|| format!("`{name}` needs the argument `length`"))?;
    let units = given.named_text("units", name)?;
    let size = |c: char| match units.as_deref() {
        None | Some("bytes") => Ok(c.len_utf8()),
        Some("chars") => Ok(1),
        Some("utf16") => Ok(c.len_utf16()),
        Some(other) => Err(format!("`units` of `{name}` is `bytes`, `chars` or `utf16`, not `{other}`")),
    };
    let plain = text.plain();
    let (mut kept, mut used) = (0, 0);
    let chars: Box<dyn Iterator<Item = char>> =
        if name == "head" { Box::new(plain.chars()) } else { Box::new(plain.chars().rev()) };
    for c in chars {
        used += size(c)?;
        if used > max {
            break;
        }
        kept += c.len_utf8();
    }
    Ok(if name == "head" { text.slice(0..kept) } else { text.slice(plain.len() - kept..plain.len()) })
}

fn without_return<O: Provenance>(line: &Text<O>) -> Text<O> {
    let plain = line.plain();
    line.slice(0..plain.strip_suffix('\r').unwrap_or(&plain).len())
}

/// A value as JSON: texts and numbers keep their origin, the notation has the template's.
fn json<O: Provenance>(value: &Value<O>, own: &O) -> Result<Text<O>, String> {
    let notation = |text: &str| Text::new(own.clone(), text);
    let within = |open: &str, parts: Vec<Text<O>>, close: &str| {
        Text::joined([notation(open), Text::joined(parts, &notation(",")), notation(close)], &Text::default())
    };
    Ok(match value {
        Value::None => notation("null"),
        Value::Missing(name) => return Err(missing(name)),
        Value::Namespace(_) => return Err("`json` does not work on a namespace".to_owned()),
        Value::Bool(is_true) => notation(if *is_true { "true" } else { "false" }),
        Value::Number(..) => value.written()?,
        Value::Text(text) => within("\"", vec![text.map_chars(|c| json_escaped(c).into_iter())], "\""),
        Value::List(values) => {
            let parts = values.iter().map(|value| json(value, own)).collect::<Result<_, _>>()?;
            within("[", parts, "]")
        }
        Value::Map(values, origin) => {
            let mut parts = Vec::with_capacity(values.len());
            for (name, value) in values.iter() {
                let name = json(&Value::text(origin.clone(), name.clone()), own)?;
                parts.push(Text::joined([name, json(value, own)?], &notation(":")));
            }
            within("{", parts, "}")
        }
    })
}

fn json_escaped(c: char) -> Vec<char> {
    match c {
        '"' => vec!['\\', '"'],
        '\\' => vec!['\\', '\\'],
        '\n' => vec!['\\', 'n'],
        '\r' => vec!['\\', 'r'],
        '\t' => vec!['\\', 't'],
        c if u32::from(c) < 0x20 => format!("\\u{:04x}", u32::from(c)).chars().collect(),
        c => vec![c],
    }
}

fn escaped(c: char) -> Vec<char> {
    match c {
        '&' => "&amp;".chars().collect(),
        '<' => "&lt;".chars().collect(),
        '>' => "&gt;".chars().collect(),
        '"' => "&quot;".chars().collect(),
        '\'' => "&apos;".chars().collect(),
        c => vec![c],
    }
}

/// Whether a character is white space to JavaScript's `trim`, whose rule this is.
pub(crate) fn is_space(c: char) -> bool {
    c == '\u{feff}' || (c.is_whitespace() && c != '\u{85}')
}

/// Whether a character is neither a control character, nor one that only changes how others are shown, nor a line end.
fn is_shown(c: char) -> bool {
    let is_format = matches!(
        u32::from(c),
        0xAD | 0x600..=0x605 | 0x61C | 0x6DD | 0x70F | 0x890..=0x891 | 0x8E2 | 0x180E | 0x200B..=0x200F | 0x2028..=0x202E
            | 0x2060..=0x2064 | 0x2066..=0x206F | 0xFEFF | 0xFFF9..=0xFFFB | 0x110BD | 0x110CD | 0x13430..=0x1343F
            | 0x1BCA0..=0x1BCA3 | 0x1D173..=0x1D17A | 0xE0001 | 0xE0020..=0xE007F
    );
    !c.is_control() && !is_format
}
