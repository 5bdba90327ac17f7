//! Reads the descriptions of a tool out of the Rust function that makes it.
//!
//! Such a function puts structs, maps and strings together with little else, so it is worked out
//! step by step: `let`, `insert`, `extend`, calls of functions and constants of the same file,
//! `format!`, and `if cfg!(windows)` for any other system. What goes beyond that is unknown, and
//! only matters if a description is made of it.

use std::collections::BTreeMap;

use super::literals::format_string;
use super::literals::item_body;
use super::literals::renamed;
use super::tokens::Token;

/// The texts of one tool.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct FoundTool {
    /// Descriptions by path, the tool's own under an empty one; an error where one is made of
    /// something unknown.
    pub descriptions: BTreeMap<String, Result<String, String>>,
    /// The grammar, for a tool that takes free text.
    pub grammar: Option<Result<String, String>>,
}

/// Works a function or constant out.
pub(super) fn read(tokens: &[Token], item: &str, renames: &[(&str, &str)]) -> Result<FoundTool, String> {
    let body = item_body(tokens, item).ok_or_else(|| format!("there is no `{item}`"))?;
    let reader = Reader { file: tokens, renames };
    let tool = if item.starts_with("fn ") {
        reader.block(body, &mut Scope::default(), 0)
    } else {
        reader.expression(body, &mut Scope::default(), 0)
    };
    let Value::Fields(fields) = tool else {
        return Err(format!("`{item}` does not end in a tool"));
    };
    let mut found = FoundTool::default();
    if let Some(description) = field(&fields, "description") {
        found.descriptions.insert(String::new(), text(description));
    }
    if let Some(Value::Fields(parameters)) = field(&fields, "parameters") {
        properties(parameters, "", &mut found.descriptions);
    }
    if let Some(Value::Fields(format)) = field(&fields, "format") {
        found.grammar = field(format, "definition").map(text);
    }
    Ok(found)
}

fn properties(schema: &[(String, Value)], path: &str, found: &mut BTreeMap<String, Result<String, String>>) {
    let Some(properties_of) = field(schema, "properties") else {
        return;
    };
    for (name, schema) in entries(properties_of) {
        let path = if path.is_empty() { name } else { format!("{path}.{name}") };
        let Value::Fields(schema) = schema else {
            found.insert(path, text(&schema));
            continue;
        };
        match field(&schema, "description") {
            None | Some(Value::Nothing) => {}
            Some(description) => {
                found.insert(path.clone(), text(description));
            }
        }
        properties(&schema, &path, found);
        if let Some(Value::Fields(items)) = field(&schema, "items") {
            properties(items, &path, found);
        }
    }
}

/// The value of an expression.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Value {
    Text(String),
    /// A struct or a map.
    Fields(Vec<(String, Self)>),
    List(Vec<Self>),
    /// The value is `None`.
    Nothing,
    /// A value that is not understood, with its source.
    Unknown(String),
}

fn field<'v>(fields: &'v [(String, Value)], name: &str) -> Option<&'v Value> {
    fields.iter().find(|(it, _)| it == name).map(|(_, value)| value)
}

fn text(value: &Value) -> Result<String, String> {
    match value {
        Value::Text(text) => Ok(text.clone()),
        Value::Unknown(what) => Err(format!("it is made of `{what}`")),
        Value::Fields(_) | Value::List(_) | Value::Nothing => Err("it is not a text".to_owned()),
    }
}

/// A map, from a map or from a list of pairs.
fn entries(value: &Value) -> Vec<(String, Value)> {
    match value {
        Value::Fields(fields) => fields.clone(),
        Value::List(pairs) => pairs.iter().filter_map(pair).collect(),
        _ => Vec::new(),
    }
}

fn pair(value: &Value) -> Option<(String, Value)> {
    match value {
        Value::List(items) => match items.as_slice() {
            [Value::Text(key), value] => Some((key.clone(), value.clone())),
            _ => None,
        },
        _ => None,
    }
}

/// Functions that call each other deeper than this lead nowhere.
const DEPTH_MAX: usize = 32;

type Scope = BTreeMap<String, Value>;

struct Reader<'a> {
    file: &'a [Token],
    renames: &'a [(&'a str, &'a str)],
}

impl Reader<'_> {
    /// The value of a block: that of its last expression.
    fn block(&self, tokens: &[Token], scope: &mut Scope, depth: usize) -> Value {
        let mut rest = tokens;
        while let Some(first) = rest.first() {
            let end = rest.iter().position(|token| token.is_mark(';'));
            match first {
                Token::Mark('#') => rest = rest.get(2..).unwrap_or_default(),
                Token::Word(word) if word == "if" => {
                    let (value, after) = self.branch(rest, scope, depth);
                    if after.is_empty() || after[0].is_mark('.') {
                        return self.postfix(value, after, scope, depth);
                    }
                    rest = after;
                }
                Token::Word(word) if matches!(word.as_str(), "for" | "while" | "loop" | "match") => {
                    let body = rest.iter().position(|token| token.group('{').is_some());
                    rest = body.map_or(&[][..], |at| &rest[at + 1..]);
                }
                _ => {
                    let Some(end) = end else {
                        return self.expression(rest, scope, depth);
                    };
                    self.statement(&rest[..end], scope, depth);
                    rest = &rest[end + 1..];
                }
            }
        }
        Value::Nothing
    }

    fn statement(&self, tokens: &[Token], scope: &mut Scope, depth: usize) {
        match tokens {
            [Token::Word(keyword), rest @ ..] if matches!(keyword.as_str(), "let" | "const" | "static") => {
                let rest = rest.strip_prefix(&[Token::Word("mut".to_owned())]).unwrap_or(rest);
                let equals = rest.iter().position(|token| token.is_mark('='));
                if let (Some(Token::Word(name)), Some(equals)) = (rest.first(), equals) {
                    let value = self.expression(&rest[equals + 1..], scope, depth);
                    scope.insert(name.clone(), value);
                }
            }
            [Token::Word(name), Token::Mark('.'), Token::Word(method), Token::Group('(', inside)] => {
                let arguments = self.list(inside, scope, depth);
                let Some(value) = scope.get_mut(name) else {
                    return;
                };
                let mut fields = entries(value);
                match (method.as_str(), arguments.as_slice()) {
                    ("insert", [Value::Text(key), added]) => fields.push((key.clone(), added.clone())),
                    ("extend", [more]) => fields.extend(entries(more)),
                    _ => return,
                }
                *value = Value::Fields(fields);
            }
            _ => {}
        }
    }

    /// An `if` with what follows it. A condition that is not known is taken as true, since what
    /// is described in one case is described.
    fn branch<'t>(&self, tokens: &'t [Token], scope: &mut Scope, depth: usize) -> (Value, &'t [Token]) {
        let Some(at) = tokens.iter().position(|token| token.group('{').is_some()) else {
            return (Value::Unknown("if".to_owned()), &[]);
        };
        let is_true = !is_windows(&tokens[1..at]);
        let body = tokens[at].group('{').unwrap_or_default();
        let then = is_true.then(|| self.block(body, scope, depth));
        match &tokens[at + 1..] {
            [Token::Word(word), rest @ ..] if word == "else" => {
                let (otherwise, after) = match rest {
                    [Token::Group('{', body), after @ ..] => {
                        (then.is_none().then(|| self.block(body, scope, depth)), after)
                    }
                    _ => {
                        let (value, after) = self.branch(rest, &mut scope.clone(), depth);
                        (then.is_none().then_some(value), after)
                    }
                };
                (then.or(otherwise).unwrap_or(Value::Nothing), after)
            }
            after => (then.unwrap_or(Value::Nothing), after),
        }
    }

    fn expression(&self, tokens: &[Token], scope: &mut Scope, depth: usize) -> Value {
        if depth > DEPTH_MAX {
            return Value::Unknown("functions that call each other".to_owned());
        }
        match tokens {
            [] => Value::Nothing,
            [Token::Mark('&' | '*'), rest @ ..] => self.expression(rest, scope, depth),
            [Token::Text(text), rest @ ..] => self.postfix(Value::Text(text.clone()), rest, scope, depth),
            [Token::Word(word), ..] if word == "if" => {
                let (value, after) = self.branch(tokens, scope, depth);
                self.postfix(value, after, scope, depth)
            }
            [Token::Word(word), rest @ ..] if word == "return" || word == "move" => self.expression(rest, scope, depth),
            // A closure: its body counts.
            [Token::Mark('|'), rest @ ..] => match rest.iter().position(|token| token.is_mark('|')) {
                Some(at) => self.expression(&rest[at + 1..], scope, depth),
                None => Value::Unknown("|".to_owned()),
            },
            [Token::Group('{', inside), rest @ ..] => {
                let value = self.block(inside, &mut scope.clone(), depth + 1);
                self.postfix(value, rest, scope, depth)
            }
            [Token::Group('[', inside), rest @ ..] => {
                let value = Value::List(self.list(inside, scope, depth));
                self.postfix(value, rest, scope, depth)
            }
            [Token::Group('(', inside), rest @ ..] => {
                let mut items = self.list(inside, scope, depth);
                let is_tuple = items.len() != 1 || inside.iter().any(|token| token.is_mark(','));
                let value = if is_tuple { Value::List(items) } else { items.swap_remove(0) };
                self.postfix(value, rest, scope, depth)
            }
            [Token::Word(_), ..] => self.path(tokens, scope, depth),
            _ => Value::Unknown("an expression".to_owned()),
        }
    }

    /// A name with what is done to it: a macro, a call, a struct, a variable or a constant.
    fn path(&self, tokens: &[Token], scope: &mut Scope, depth: usize) -> Value {
        let mut names = Vec::new();
        let mut rest = tokens;
        while let [Token::Word(name), after @ ..] = rest {
            names.push(name.as_str());
            rest = after;
            match rest {
                [Token::Mark(':'), Token::Mark(':'), after @ ..] => rest = after,
                _ => break,
            }
        }
        let Some(&name) = names.last() else {
            return Value::Unknown("::".to_owned());
        };
        let (value, rest) = match rest {
            [Token::Mark('!'), Token::Group(_, inside), after @ ..] => {
                (self.macro_call(name, inside, scope, depth), after)
            }
            [Token::Group('(', inside), after @ ..] => (self.call(&names, inside, scope, depth), after),
            [Token::Group('{', inside), after @ ..] => (self.fields(inside, scope, depth), after),
            after => (self.named(name, scope, depth), after),
        };
        self.postfix(value, rest, scope, depth)
    }

    fn macro_call(&self, name: &str, inside: &[Token], scope: &mut Scope, depth: usize) -> Value {
        match name {
            "vec" => Value::List(self.list(inside, scope, depth)),
            "concat" => {
                let texts: Result<String, String> = self.list(inside, scope, depth).iter().map(text).collect();
                texts.map_or_else(Value::Unknown, Value::Text)
            }
            "format" => {
                let Some(Token::Text(format)) = inside.first() else {
                    return Value::Unknown("format!".to_owned());
                };
                let filled = format_string(format, |mark, n| {
                    let known = || {
                        let name = mark.trim_matches(['{', '}']);
                        (!name.is_empty())
                            .then(|| self.named(name, &scope.clone(), depth))
                            .as_ref()
                            .and_then(|it| text(it).ok())
                    };
                    renamed(self.renames, mark, n).or_else(known)
                });
                filled.map_or_else(Value::Unknown, Value::Text)
            }
            other => Value::Unknown(format!("{other}!")),
        }
    }

    fn call(&self, names: &[&str], inside: &[Token], scope: &mut Scope, depth: usize) -> Value {
        let name = names[names.len() - 1];
        let mut arguments = self.list(inside, scope, depth);
        let is_constructor = name.starts_with(char::is_uppercase) || matches!(name, "new" | "from");
        match (is_constructor, arguments.len()) {
            (true, 1) => arguments.swap_remove(0),
            (true, 0) if names[0] == "String" => Value::Text(String::new()),
            (true, 0) => Value::Fields(Vec::new()),
            _ => match item_body(self.file, &format!("fn {name}")) {
                Some(body) if names.len() == 1 && depth <= DEPTH_MAX => self.block(body, &mut Scope::new(), depth + 1),
                _ => Value::Unknown(format!("{}()", names.join("::"))),
            },
        }
    }

    fn named(&self, name: &str, scope: &Scope, depth: usize) -> Value {
        if name == "None" {
            return Value::Nothing;
        }
        if name.starts_with(|c: char| c.is_ascii_digit()) {
            return Value::Text(name.replace('_', ""));
        }
        if let Some(value) = scope.get(name) {
            return value.clone();
        }
        match item_body(self.file, &format!("const {name}")) {
            Some(value) if depth <= DEPTH_MAX => self.expression(value, &mut Scope::new(), depth + 1),
            _ => Value::Unknown(name.to_owned()),
        }
    }

    fn fields(&self, inside: &[Token], scope: &mut Scope, depth: usize) -> Value {
        let mut fields = Vec::new();
        for part in inside.split(|token| token.is_mark(',')) {
            match part {
                [Token::Word(name), Token::Mark(':'), value @ ..] => {
                    fields.push((name.clone(), self.expression(value, scope, depth + 1)));
                }
                [Token::Word(name)] => fields.push((name.clone(), self.named(name, scope, depth))),
                _ => {}
            }
        }
        Value::Fields(fields)
    }

    fn list(&self, inside: &[Token], scope: &mut Scope, depth: usize) -> Vec<Value> {
        let parts = inside.split(|token| token.is_mark(',')).filter(|part| !part.is_empty());
        parts.map(|part| self.expression(part, scope, depth + 1)).collect()
    }

    /// Methods after a value. Methods that only change the type of a text do not change the value.
    fn postfix(&self, mut value: Value, tokens: &[Token], _scope: &mut Scope, _depth: usize) -> Value {
        let mut rest = tokens;
        loop {
            match rest {
                [] => return value,
                [Token::Mark('.'), Token::Word(method), Token::Group('(', _), after @ ..] => {
                    if !matches!(method.as_str(), "to_string" | "to_owned" | "into" | "clone" | "as_str") {
                        value = Value::Unknown(format!(".{method}()"));
                    }
                    rest = after;
                }
                _ => return Value::Unknown("an operator".to_owned()),
            }
        }
    }
}

fn is_windows(condition: &[Token]) -> bool {
    match condition {
        [Token::Word(cfg), Token::Mark('!'), Token::Group(_, inside)] if cfg == "cfg" => match inside.as_slice() {
            [Token::Word(windows)] => windows == "windows",
            [Token::Word(key), Token::Mark('='), Token::Text(system)] => key == "target_os" && system == "windows",
            _ => false,
        },
        _ => false,
    }
}
