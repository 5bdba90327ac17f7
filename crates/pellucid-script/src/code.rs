//! A program in this crate's own form: what was parsed and checked, ready to be evaluated.

use std::ops::Range;
use std::sync::Arc;

use serde_json::Number;

use crate::ScriptError;

/// A template or a condition that was parsed and checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    pub(crate) file: Arc<str>,
    pub(crate) source: Arc<str>,
    pub(crate) body: Vec<Statement>,
    pub(crate) macros: Vec<MacroCode>,
    /// Names that neither the program nor a loop in it defines, each with its first place.
    pub(crate) free: Vec<(Arc<str>, Place)>,
    /// Templates that the program includes, each with its first place.
    pub(crate) included: Vec<(Arc<str>, Place)>,
}

/// A byte offset in the source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place(pub u32);

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Statement {
    Raw(Range<usize>),
    Emit(Expression),
    For(Box<ForCode>),
    If { condition: Expression, then: Vec<Self>, otherwise: Vec<Self> },
    Set { target: Target, value: Expression },
    SetBlock { target: Target, filter: Option<Expression>, body: Vec<Self> },
    With { bindings: Vec<(Target, Expression)>, body: Vec<Self> },
    Filter { filter: Expression, body: Vec<Self> },
    Include { name: Arc<str>, place: Place },
    Do(Expression),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ForCode {
    pub target: Target,
    pub values: Expression,
    pub condition: Option<Expression>,
    pub body: Vec<Statement>,
    pub otherwise: Vec<Statement>,
}

/// A macro: a template with parameters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MacroCode {
    pub name: Arc<str>,
    pub parameters: Vec<Arc<str>>,
    /// Values of the last parameters, if they are not given.
    pub defaults: Vec<Expression>,
    pub body: Vec<Statement>,
}

/// What is assigned to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Target {
    Name(Arc<str>),
    Names(Vec<Arc<str>>),
    /// A name of a namespace, which statements inside of loops can change.
    Within(Arc<str>, Arc<str>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Expression {
    pub place: Place,
    pub kind: Kind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Kind {
    Name(Arc<str>),
    Constant(Constant),
    List(Vec<Expression>),
    Map(Vec<(Expression, Expression)>),
    Attribute(Box<Expression>, Arc<str>),
    Item(Box<Expression>, Box<Expression>),
    Slice(Box<Expression>, Option<Box<Expression>>, Option<Box<Expression>>),
    Not(Box<Expression>),
    Negative(Box<Expression>),
    And(Box<Expression>, Box<Expression>),
    Or(Box<Expression>, Box<Expression>),
    Compare(Box<Expression>, Vec<(Comparison, Expression)>),
    Calculate(Operator, Box<Expression>, Box<Expression>),
    Choose {
        condition: Box<Expression>,
        then: Box<Expression>,
        otherwise: Option<Box<Expression>>,
    },
    /// The filter's input is absent where a block is filtered.
    Filter {
        name: &'static str,
        input: Option<Box<Expression>>,
        arguments: Arguments,
    },
    Test {
        name: &'static str,
        input: Box<Expression>,
        arguments: Arguments,
    },
    CallMacro {
        index: usize,
        arguments: Arguments,
    },
    Namespace(Arguments),
    Omit(Box<Expression>, Box<Expression>),
    Range(Box<Expression>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Constant {
    None,
    Bool(bool),
    Number(Number),
    Text(Arc<str>),
}

/// Arguments in their order, those without a name first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Arguments {
    pub plain: Vec<Expression>,
    pub named: Vec<(Arc<str>, Expression)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Comparison {
    Equal,
    Unequal,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    In,
    NotIn,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
    FloorDivide,
    Remainder,
    Concatenate,
}

impl Program {
    /// A text that is written as it is.
    pub fn verbatim(file: &str, source: &str) -> Self {
        let body = vec![Statement::Raw(0..source.len())];
        let (macros, free, included) = (Vec::new(), Vec::new(), Vec::new());
        Self { file: file.into(), source: source.into(), body, macros, free, included }
    }

    /// The file it was parsed from.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// The text it was parsed from.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The names of the templates that it includes.
    pub fn included(&self) -> impl Iterator<Item = &str> {
        self.included.iter().map(|(name, _)| &**name)
    }

    /// The names of the values that it looks at.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.free.iter().map(|(name, _)| &**name)
    }

    /// Looks for names of values and of templates that do not exist.
    ///
    /// # Errors
    /// The first such name, with its place and the names that exist.
    pub fn check(&self, values: &[&str], has_template: impl Fn(&str) -> bool) -> Result<(), ScriptError> {
        if let Some((name, place)) = self.free.iter().find(|(name, _)| !values.contains(&&**name)) {
            let known: Vec<String> = values.iter().map(|name| format!("`{name}`")).collect();
            return Err(self.error(*place, format!("unknown name `{name}`; known: {}", known.join(", "))));
        }
        match self.included.iter().find(|(name, _)| !has_template(name)) {
            Some((name, place)) => Err(self.error(*place, format!("the pack has no template `{name}`"))),
            None => Ok(()),
        }
    }

    pub(crate) fn error(&self, place: Place, message: String) -> ScriptError {
        error_at(&self.file, &self.source, place, message)
    }
}

/// An error at a place of a source.
pub(crate) fn error_at(file: &str, source: &str, place: Place, message: String) -> ScriptError {
    let before = source.get(..place.0 as usize).unwrap_or(source);
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    ScriptError { file: file.to_owned(), line, column, message }
}
