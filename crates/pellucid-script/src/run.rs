//! Evaluating a program: its statements, its names and its limits.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::ScriptError;
use crate::code::Arguments;
use crate::code::Expression;
use crate::code::ForCode;
use crate::code::Place;
use crate::code::Program;
use crate::code::Statement;
use crate::code::Target;
use crate::filters::Given;
use crate::text::Provenance;
use crate::text::Text;
use crate::value::Value;

/// What a program may look at.
pub trait Roots<O> {
    /// The value of a name; absent if there is no such value.
    fn value(&self, name: &str) -> Option<Value<O>>;

    /// A template that programs may include, with the origin of its text.
    fn template(&self, name: &str) -> Option<(&Program, O)>;
}

/// How much an evaluation may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// How many statements and expressions are evaluated. Going through a long list or text counts as several.
    pub steps: usize,
    /// How many bytes of text are made, intermediate ones included.
    pub bytes: usize,
    /// How deep macros and included templates are nested.
    pub depth: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { steps: 1_000_000, bytes: 16 << 20, depth: 16 }
    }
}

/// What a template gave.
#[derive(Debug, Clone)]
pub struct Rendered<O> {
    /// The text, every byte of it with its origin.
    pub text: Text<O>,
    /// What the template says it left out.
    pub left_out: Vec<LeftOut>,
}

/// Something that a template left out, by calling `omit`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// The name of what is left out.
    pub what: String,
    /// The reason, for people.
    pub why: String,
}

/// Renders a template whose own text has the origin `own`. As in any file, the newline that ends the last line is not
/// part of the text.
///
/// # Errors
/// What failed, with the file, line and column, or which limit was reached.
pub fn render<O: Provenance>(
    program: &Program,
    own: &O,
    roots: &dyn Roots<O>,
    limits: Limits,
) -> Result<Rendered<O>, ScriptError> {
    let mut run = Run::new(program, own, roots, limits);
    let mut text = Text::default();
    run.body(&program.body, &mut text)?;
    Ok(Rendered { text: text.without_last_newline(), left_out: run.left_out })
}

/// The value of an expression.
///
/// # Errors
/// What failed, with the file, line and column, or which limit was reached.
pub fn evaluate<O: Provenance>(
    program: &Program,
    own: &O,
    roots: &dyn Roots<O>,
    limits: Limits,
) -> Result<Value<O>, ScriptError> {
    let mut run = Run::new(program, own, roots, limits);
    match program.body.as_slice() {
        [Statement::Emit(expression)] => run.evaluate(expression),
        _ => Err(program.error(Place(0), "an expression is expected here, not a template".to_owned())),
    }
}

/// Whether a condition holds.
///
/// # Errors
/// What failed, with the file, line and column, or which limit was reached.
pub fn is_true<O: Provenance>(
    program: &Program,
    own: &O,
    roots: &dyn Roots<O>,
    limits: Limits,
) -> Result<bool, ScriptError> {
    let value = evaluate(program, own, roots, limits)?;
    value.truth().map_err(|message| program.error(Place(0), message))
}

/// An evaluation that is under way.
pub(crate) struct Run<'a, O> {
    pub(crate) program: &'a Program,
    pub(crate) own: O,
    roots: &'a dyn Roots<O>,
    limits: Limits,
    steps: usize,
    bytes: usize,
    depth: usize,
    /// Names with their values. The first scope has what the template sets outside of loops, and the roots that were
    /// asked for; the others belong to loops, blocks and macros.
    scopes: Vec<BTreeMap<Arc<str>, Value<O>>>,
    /// The first scope that a macro sees, besides the first of all and that of its template.
    floor: usize,
    /// The scope with what the template sets outside of loops.
    top: usize,
    pub(crate) namespaces: Vec<BTreeMap<Arc<str>, Value<O>>>,
    pub(crate) left_out: Vec<LeftOut>,
}

impl<'a, O: Provenance> Run<'a, O> {
    fn new(program: &'a Program, own: &O, roots: &'a dyn Roots<O>, limits: Limits) -> Self {
        Self {
            program,
            own: own.clone(),
            roots,
            limits,
            steps: 0,
            bytes: 0,
            depth: 0,
            scopes: vec![BTreeMap::new()],
            floor: 0,
            top: 0,
            namespaces: Vec::new(),
            left_out: Vec::new(),
        }
    }

    pub(crate) fn fail<T>(&self, place: Place, message: impl Into<String>) -> Result<T, ScriptError> {
        Err(self.program.error(place, message.into()))
    }

    pub(crate) fn step(&mut self, place: Place) -> Result<(), ScriptError> {
        self.steps_of(1, place)
    }

    /// Counts the steps of something that takes several.
    pub(crate) fn steps_of(&mut self, n: usize, place: Place) -> Result<(), ScriptError> {
        self.steps += n;
        if self.steps > self.limits.steps {
            return self.fail(place, format!("it takes more than {} steps", self.limits.steps));
        }
        Ok(())
    }

    /// Counts the bytes of a text that was made.
    pub(crate) fn charge(&mut self, place: Place, value: &Value<O>) -> Result<(), ScriptError> {
        self.bytes += match value {
            Value::Text(text) => text.len(),
            Value::List(values) => values.len() * size_of::<Value<O>>(),
            _ => 0,
        };
        if self.bytes > self.limits.bytes {
            return self.fail(place, format!("it makes more than {} bytes of text", self.limits.bytes));
        }
        Ok(())
    }

    /// The value of a name: the innermost, else a root.
    pub(crate) fn lookup(&mut self, name: &Arc<str>, place: Place) -> Result<Value<O>, ScriptError> {
        let inner = self.scopes[self.floor..].iter().rev().find_map(|scope| scope.get(name));
        if let Some(value) = inner.or_else(|| self.scopes[self.top].get(name)).or_else(|| self.scopes[0].get(name)) {
            let value = value.clone();
            // Lists and maps are shared, the pieces of a text are copied.
            let n_copied = if matches!(value, Value::Text(_)) { value.weight() } else { 0 };
            self.steps_of(n_copied, place)?;
            return Ok(value);
        }
        match self.roots.value(name) {
            Some(value) => {
                self.scopes[0].insert(name.clone(), value.clone());
                Ok(value)
            }
            None => self.fail(place, format!("`{name}` has no value here")),
        }
    }

    fn assign(&mut self, target: &Target, value: Value<O>, place: Place) -> Result<(), ScriptError> {
        let names = match target {
            Target::Name(name) => {
                self.define(name, value);
                return Ok(());
            }
            Target::Within(space, name) => {
                let found = match self.lookup(space, place)? {
                    Value::Namespace(number) => self.namespaces.get_mut(number),
                    _ => None,
                };
                let Some(found) = found else {
                    return self.fail(place, format!("`{space}` is no namespace; make it with `namespace(…)`"));
                };
                found.insert(name.clone(), value);
                return Ok(());
            }
            Target::Names(names) => names,
        };
        match &value {
            Value::List(values) if values.len() == names.len() => {
                for (name, value) in names.iter().zip(values.iter()) {
                    self.define(name, value.clone());
                }
                Ok(())
            }
            other => {
                let message = format!("{} names are given, but the value is {}", names.len(), other.kind());
                self.fail(place, message)
            }
        }
    }

    fn define(&mut self, name: &Arc<str>, value: Value<O>) {
        if let Some(scope) = self.scopes.last_mut() {
            scope.insert(name.clone(), value);
        }
    }

    pub(crate) fn body(&mut self, statements: &'a [Statement], out: &mut Text<O>) -> Result<(), ScriptError> {
        for statement in statements {
            self.statement(statement, out)?;
        }
        Ok(())
    }

    /// The text that statements write.
    fn captured(&mut self, statements: &'a [Statement]) -> Result<Text<O>, ScriptError> {
        let mut text = Text::default();
        self.body(statements, &mut text)?;
        Ok(text)
    }

    fn statement(&mut self, statement: &'a Statement, out: &mut Text<O>) -> Result<(), ScriptError> {
        match statement {
            Statement::Raw(range) => {
                let text = Text::part(self.own.clone(), self.program.source.clone(), range.clone());
                self.write(&text, Place(u32::try_from(range.start).unwrap_or_default()), out)
            }
            Statement::Emit(expression) => {
                let value = self.evaluate(expression)?;
                match value.written() {
                    Ok(text) => self.write(&text, expression.place, out),
                    Err(message) => self.fail(expression.place, message),
                }
            }
            Statement::For(code) => self.each(code, out),
            Statement::If { condition, then, otherwise } => {
                let branch = if self.holds(condition)? { then } else { otherwise };
                self.body(branch, out)
            }
            Statement::Set { target, value } => {
                let place = value.place;
                let value = self.evaluate(value)?;
                self.assign(target, value, place)
            }
            Statement::SetBlock { target, filter, body } => {
                let mut value = Value::Text(self.captured(body)?);
                let place = filter.as_ref().map_or(Place(0), |filter| filter.place);
                if let Some(filter) = filter {
                    value = self.filtered(filter, value)?;
                }
                self.assign(target, value, place)
            }
            Statement::With { bindings, body } => {
                self.scopes.push(BTreeMap::new());
                for (target, value) in bindings {
                    let place = value.place;
                    let value = self.evaluate(value)?;
                    self.assign(target, value, place)?;
                }
                self.body(body, out)?;
                self.scopes.pop();
                Ok(())
            }
            Statement::Filter { filter, body } => {
                let text = Value::Text(self.captured(body)?);
                match self.filtered(filter, text)?.written() {
                    Ok(text) => self.write(&text, filter.place, out),
                    Err(message) => self.fail(filter.place, message),
                }
            }
            Statement::Include { name, place } => self.include(name, *place, out),
            Statement::Do(call) => self.evaluate(call).map(drop),
        }
    }

    fn write(&mut self, text: &Text<O>, place: Place, out: &mut Text<O>) -> Result<(), ScriptError> {
        self.step(place)?;
        self.charge(place, &Value::Text(text.clone()))?;
        out.push(text);
        Ok(())
    }

    fn each(&mut self, code: &'a ForCode, out: &mut Text<O>) -> Result<(), ScriptError> {
        let place = code.values.place;
        let values = match self.evaluate(&code.values)? {
            Value::List(values) => values,
            Value::Map(values, origin) => {
                values.iter().map(|(name, _)| Value::text(origin.clone(), name.clone())).collect()
            }
            other => return self.fail(place, format!("a loop needs a list, not {}", other.kind())),
        };
        let mut chosen = Vec::with_capacity(values.len());
        self.scopes.push(BTreeMap::new());
        for value in values.iter() {
            self.step(place)?;
            self.assign(&code.target, value.clone(), place)?;
            let is_chosen = match &code.condition {
                Some(condition) => self.holds(condition)?,
                None => true,
            };
            if is_chosen {
                chosen.push(value.clone());
            }
        }
        let n_chosen = chosen.len();
        for (n, value) in chosen.into_iter().enumerate() {
            self.scopes.pop();
            self.scopes.push(BTreeMap::new());
            self.step(place)?;
            let count = |n| Value::count(self.own.clone(), n);
            let about = Value::map(
                &self.own,
                [
                    ("index", count(n + 1)),
                    ("index0", count(n)),
                    ("first", Value::Bool(n == 0)),
                    ("last", Value::Bool(n + 1 == n_chosen)),
                    ("length", count(n_chosen)),
                ],
            );
            self.define(&"loop".into(), about);
            self.assign(&code.target, value, place)?;
            self.body(&code.body, out)?;
        }
        self.scopes.pop();
        if n_chosen == 0 {
            self.body(&code.otherwise, out)?;
        }
        Ok(())
    }

    fn include(&mut self, name: &str, place: Place, out: &mut Text<O>) -> Result<(), ScriptError> {
        let Some((program, own)) = self.roots.template(name) else {
            return self.fail(place, format!("the pack has no template `{name}`"));
        };
        self.deeper(place)?;
        let outside = std::mem::replace(&mut self.program, program);
        let outside_own = std::mem::replace(&mut self.own, own);
        let outside_top = std::mem::replace(&mut self.top, self.scopes.len());
        self.scopes.push(BTreeMap::new());
        self.body(&program.body, out)?;
        self.scopes.pop();
        (self.program, self.own, self.top) = (outside, outside_own, outside_top);
        self.depth -= 1;
        Ok(())
    }

    /// Calls a macro of the same file, which sees its arguments and what the template sets outside of loops.
    pub(crate) fn call_macro(
        &mut self,
        index: usize,
        arguments: &'a Arguments,
        place: Place,
    ) -> Result<Value<O>, ScriptError> {
        let Some(code) = self.program.macros.get(index) else {
            return self.fail(place, "this macro is not defined");
        };
        let mut given = self.given(arguments)?;
        let mut values = BTreeMap::new();
        let without_default = code.parameters.len() - code.defaults.len();
        for (n, name) in code.parameters.iter().enumerate() {
            let value = match (given.take(name), n.checked_sub(without_default)) {
                (Some(value), _) => value,
                (None, Some(n)) => self.evaluate(&code.defaults[n])?,
                (None, None) => return self.fail(place, format!("`{}` needs the argument `{name}`", code.name)),
            };
            values.insert(name.clone(), value);
        }
        if let Err(message) = given.finish(&code.name) {
            return self.fail(place, message);
        }
        self.deeper(place)?;
        let floor = std::mem::replace(&mut self.floor, self.scopes.len());
        self.scopes.push(values);
        let text = self.captured(&code.body)?;
        self.scopes.pop();
        self.floor = floor;
        self.depth -= 1;
        Ok(Value::Text(text))
    }

    fn deeper(&mut self, place: Place) -> Result<(), ScriptError> {
        self.depth += 1;
        if self.depth > self.limits.depth {
            return self.fail(place, format!("macros and includes are nested more than {} deep", self.limits.depth));
        }
        Ok(())
    }

    /// The values of arguments.
    pub(crate) fn given(&mut self, arguments: &'a Arguments) -> Result<Given<O>, ScriptError> {
        let mut plain = Vec::with_capacity(arguments.plain.len());
        for argument in &arguments.plain {
            plain.push(self.evaluate(argument)?);
        }
        let mut named = Vec::with_capacity(arguments.named.len());
        for (name, argument) in &arguments.named {
            named.push((name.clone(), self.evaluate(argument)?));
        }
        Ok(Given::new(plain, named))
    }

    pub(crate) fn holds(&mut self, condition: &'a Expression) -> Result<bool, ScriptError> {
        let value = self.evaluate(condition)?;
        value.truth().or_else(|message| self.fail(condition.place, message))
    }

    /// A text of the template itself.
    pub(crate) fn own_text(&self, text: &Arc<str>) -> Value<O> {
        Value::Text(Text::new(self.own.clone(), text.clone()))
    }
}
