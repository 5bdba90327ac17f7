//! How minijinja's syntax tree becomes a program of this crate.
//!
//! Everything that can be found without values is found here: syntax, unknown filters, tests and functions, and
//! statements that packs do not have (inheritance, imports, recursion). Long or deep expressions are refused before
//! anything recurses over them.

use std::collections::BTreeSet;
use std::sync::Arc;

use minijinja::machinery::Span;
use minijinja::machinery::Token;
use minijinja::machinery::ast;
use minijinja::syntax::SyntaxConfig;
use minijinja::value::ValueKind;
use serde_json::Number;

use crate::ScriptError;
use crate::code::Arguments;
use crate::code::Comparison;
use crate::code::Constant;
use crate::code::Expression;
use crate::code::ForCode;
use crate::code::Kind;
use crate::code::MacroCode;
use crate::code::Operator;
use crate::code::Place;
use crate::code::Program;
use crate::code::Statement;
use crate::code::Target;
use crate::code::error_at;
use crate::filters;
use crate::tests_of_values;

/// How many bytes a template has at most.
const SOURCE_MAX: usize = 1 << 20;

/// How many tokens stand between two braces at most.
const TOKENS_MAX: usize = 2_000;

/// How deep expressions and statements are nested at most.
const DEPTH_MAX: usize = 60;

/// The variable of a loop that counts.
const LOOP: &str = "loop";

impl Program {
    /// Parses a template. A line with nothing but a statement leaves no line.
    ///
    /// # Errors
    /// Whatever is wrong in it, with its place.
    pub fn template(file: &str, source: &str) -> Result<Self, ScriptError> {
        bounded(file, source, false)?;
        let tree =
            minijinja::machinery::parse(source, file, syntax()).map_err(|error| syntax_error(file, source, &error))?;
        let ast::Stmt::Template(template) = tree else {
            return Err(error_at(file, source, Place(0), "this is not a template".to_owned()));
        };
        let mut parser = Parser::new(file, source);
        parser.declare(&template.children)?;
        let body = parser.body(&template.children)?;
        Ok(parser.program(body))
    }

    /// Parses an expression without braces around it: a condition or a value.
    ///
    /// # Errors
    /// Whatever is wrong in it, with its place.
    pub fn expression(file: &str, source: &str) -> Result<Self, ScriptError> {
        bounded(file, source, true)?;
        let tree = minijinja::machinery::parse_expr(source).map_err(|error| syntax_error(file, source, &error))?;
        let mut parser = Parser::new(file, source);
        let body = vec![Statement::Emit(parser.expression_of(&tree)?)];
        Ok(parser.program(body))
    }
}

fn syntax() -> SyntaxConfig {
    let mut builder = SyntaxConfig::builder();
    builder.trim_blocks(true).lstrip_blocks(true).keep_trailing_newline(true);
    builder.build().unwrap_or_default()
}

/// Refuses sources over which the recursion of a parser could be too deep.
fn bounded(file: &str, source: &str, is_expression: bool) -> Result<(), ScriptError> {
    if source.len() > SOURCE_MAX {
        let message = format!("the template has {} bytes, more than {SOURCE_MAX}", source.len());
        return Err(error_at(file, source, Place(0), message));
    }
    let mut n_tokens = 0;
    for token in minijinja::machinery::tokenize(source, is_expression, syntax()) {
        let (token, span) = token.map_err(|error| syntax_error(file, source, &error))?;
        n_tokens += 1;
        match token {
            Token::VariableStart | Token::BlockStart => n_tokens = 0,
            _ if n_tokens > TOKENS_MAX => {
                let message = format!("more than {TOKENS_MAX} words and signs between two braces; use several `set`");
                return Err(error_at(file, source, Place(span.start_offset), message));
            }
            _ => {}
        }
    }
    Ok(())
}

fn syntax_error(file: &str, source: &str, error: &minijinja::Error) -> ScriptError {
    let place = error.range().map_or(Place(0), |range| Place(u32::try_from(range.start).unwrap_or_default()));
    let detail = error.detail().map_or_else(|| error.kind().to_string(), str::to_owned);
    let mut found = error_at(file, source, place, detail);
    if error.range().is_none() {
        found.line = error.line().unwrap_or(1);
    }
    found
}

struct Parser<'a> {
    file: &'a str,
    source: &'a str,
    depth: usize,
    macro_names: Vec<(&'a str, usize)>,
    macros: Vec<MacroCode>,
    defined: BTreeSet<Arc<str>>,
    used: Vec<(Arc<str>, Place)>,
    included: Vec<(Arc<str>, Place)>,
}

impl<'a> Parser<'a> {
    fn new(file: &'a str, source: &'a str) -> Self {
        Self {
            file,
            source,
            depth: 0,
            macro_names: Vec::new(),
            macros: Vec::new(),
            defined: BTreeSet::new(),
            used: Vec::new(),
            included: Vec::new(),
        }
    }

    fn program(self, body: Vec<Statement>) -> Program {
        let mut free: Vec<(Arc<str>, Place)> = Vec::new();
        for (name, place) in self.used {
            if !self.defined.contains(&name) && !free.iter().any(|(known, _)| *known == name) {
                free.push((name, place));
            }
        }
        Program {
            file: self.file.into(),
            source: self.source.into(),
            body,
            macros: self.macros,
            free,
            included: self.included,
        }
    }

    fn error(&self, span: Span, message: impl Into<String>) -> ScriptError {
        error_at(self.file, self.source, Place(span.start_offset), message.into())
    }

    /// Numbers the macros of the template, so that those above can call those below.
    fn declare(&mut self, statements: &[ast::Stmt<'a>]) -> Result<(), ScriptError> {
        for statement in statements {
            if let ast::Stmt::Macro(code) = statement {
                if self.macro_names.iter().any(|(known, _)| *known == code.name) {
                    return Err(self.error(code.span(), format!("two macros are called `{}`", code.name)));
                }
                self.macro_names.push((code.name, self.macro_names.len()));
            }
        }
        for statement in statements {
            if let ast::Stmt::Macro(code) = statement {
                let parameters = code.args.iter().map(|argument| self.name(argument)).collect::<Result<_, _>>()?;
                let defaults = self.expressions(&code.defaults)?;
                let body = self.body(&code.body)?;
                self.macros.push(MacroCode { name: code.name.into(), parameters, defaults, body });
            }
        }
        Ok(())
    }

    fn body(&mut self, statements: &[ast::Stmt<'a>]) -> Result<Vec<Statement>, ScriptError> {
        let mut body = Vec::with_capacity(statements.len());
        for statement in statements {
            body.extend(self.statement(statement)?);
        }
        Ok(body)
    }

    fn statement(&mut self, statement: &ast::Stmt<'a>) -> Result<Option<Statement>, ScriptError> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            let message = format!("statements are nested more than {DEPTH_MAX} deep");
            return Err(error_at(self.file, self.source, Place(0), message));
        }
        let code = match statement {
            ast::Stmt::EmitRaw(raw) => {
                let from = raw.raw.as_ptr().addr() - self.source.as_ptr().addr();
                Statement::Raw(from..from + raw.raw.len())
            }
            ast::Stmt::EmitExpr(emit) => Statement::Emit(self.expression_of(&emit.expr)?),
            ast::Stmt::ForLoop(code) if code.recursive => {
                return Err(self.error(code.span(), "loops cannot be recursive"));
            }
            ast::Stmt::ForLoop(code) => {
                self.defined.insert(LOOP.into());
                Statement::For(Box::new(ForCode {
                    target: self.target(&code.target)?,
                    values: self.expression_of(&code.iter)?,
                    condition: code.filter_expr.as_ref().map(|filter| self.expression_of(filter)).transpose()?,
                    body: self.body(&code.body)?,
                    otherwise: self.body(&code.else_body)?,
                }))
            }
            ast::Stmt::IfCond(code) => Statement::If {
                condition: self.expression_of(&code.expr)?,
                then: self.body(&code.true_body)?,
                otherwise: self.body(&code.false_body)?,
            },
            ast::Stmt::Set(code) => {
                Statement::Set { target: self.target(&code.target)?, value: self.expression_of(&code.expr)? }
            }
            ast::Stmt::SetBlock(code) => Statement::SetBlock {
                target: self.target(&code.target)?,
                filter: code.filter.as_ref().map(|filter| self.expression_of(filter)).transpose()?,
                body: self.body(&code.body)?,
            },
            ast::Stmt::WithBlock(code) => {
                let mut bindings = Vec::new();
                for (target, value) in &code.assignments {
                    bindings.push((self.target(target)?, self.expression_of(value)?));
                }
                Statement::With { bindings, body: self.body(&code.body)? }
            }
            ast::Stmt::FilterBlock(code) => {
                Statement::Filter { filter: self.expression_of(&code.filter)?, body: self.body(&code.body)? }
            }
            ast::Stmt::Include(code) => {
                let name = match &code.name {
                    ast::Expr::Const(name) if !code.ignore_missing => name.value.as_str().map(Arc::<str>::from),
                    _ => None,
                };
                let message = "`include` takes the name of a template of the pack between quotes, and nothing else";
                let name = name.ok_or_else(|| self.error(code.span(), message))?;
                let place = Place(code.span().start_offset);
                self.included.push((name.clone(), place));
                Statement::Include { name, place }
            }
            ast::Stmt::Macro(_) if self.depth == 1 => {
                self.depth -= 1;
                return Ok(None);
            }
            ast::Stmt::Do(code) => Statement::Do(self.call(&code.call)?),
            other => return Err(self.not_here(other)),
        };
        self.depth -= 1;
        Ok(Some(code))
    }

    fn not_here(&self, statement: &ast::Stmt<'a>) -> ScriptError {
        let (span, what) = match statement {
            ast::Stmt::Macro(code) => (code.span(), "a macro inside another statement"),
            ast::Stmt::Block(code) => (code.span(), "`block`"),
            ast::Stmt::Extends(code) => (code.span(), "`extends`"),
            ast::Stmt::Import(code) => (code.span(), "`import`"),
            ast::Stmt::FromImport(code) => (code.span(), "`from … import`"),
            ast::Stmt::CallBlock(code) => (code.span(), "`call`"),
            ast::Stmt::AutoEscape(code) => (code.span(), "`autoescape`"),
            _ => return error_at(self.file, self.source, Place(0), "this statement is not for packs".to_owned()),
        };
        self.error(span, format!("templates of packs do not have {what}; use `include` or a macro of the same file"))
    }

    fn target(&mut self, target: &ast::Expr<'a>) -> Result<Target, ScriptError> {
        match target {
            ast::Expr::Tuple(names) => self.targets(&names.items),
            ast::Expr::List(names) => self.targets(&names.items),
            ast::Expr::GetAttr(code) => match &code.expr {
                ast::Expr::Var(var) => {
                    self.used.push((var.id.into(), Place(code.span().start_offset)));
                    Ok(Target::Within(var.id.into(), code.name.into()))
                }
                _ => Err(self.error(code.span(), "the name of a namespace is expected here")),
            },
            name => Ok(Target::Name(self.name(name)?)),
        }
    }

    fn targets(&mut self, names: &[ast::Expr<'a>]) -> Result<Target, ScriptError> {
        names.iter().map(|name| self.name(name)).collect::<Result<_, _>>().map(Target::Names)
    }

    /// A name that is assigned to.
    fn name(&mut self, expression: &ast::Expr<'a>) -> Result<Arc<str>, ScriptError> {
        match expression {
            ast::Expr::Var(var) => {
                let name: Arc<str> = var.id.into();
                self.defined.insert(name.clone());
                Ok(name)
            }
            other => Err(self.error(other.span(), "a name is expected here")),
        }
    }

    fn expressions(&mut self, all: &[ast::Expr<'a>]) -> Result<Vec<Expression>, ScriptError> {
        all.iter().map(|expression| self.expression_of(expression)).collect()
    }

    fn boxed(&mut self, expression: &ast::Expr<'a>) -> Result<Box<Expression>, ScriptError> {
        self.expression_of(expression).map(Box::new)
    }

    fn expression_of(&mut self, expression: &ast::Expr<'a>) -> Result<Expression, ScriptError> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            let message = format!("the expression is nested more than {DEPTH_MAX} deep; use `set` for parts of it");
            return Err(self.error(expression.span(), message));
        }
        let place = Place(expression.span().start_offset);
        let kind = match expression {
            ast::Expr::Var(var) => {
                self.used.push((var.id.into(), place));
                Kind::Name(var.id.into())
            }
            ast::Expr::Const(code) => Kind::Constant(self.constant(code)?),
            ast::Expr::Slice(code) => {
                if code.step.is_some() {
                    return Err(self.error(code.span(), "a slice has no step"));
                }
                let ends = [&code.start, &code.stop].map(|end| end.as_ref().map(|end| self.boxed(end)).transpose());
                let [start, stop] = ends;
                Kind::Slice(self.boxed(&code.expr)?, start?, stop?)
            }
            ast::Expr::UnaryOp(code) => match code.op {
                ast::UnaryOpKind::Not => Kind::Not(self.boxed(&code.expr)?),
                ast::UnaryOpKind::Neg => Kind::Negative(self.boxed(&code.expr)?),
            },
            ast::Expr::BinOp(code) => self.binary(code)?,
            ast::Expr::Compare(code) => {
                let first = self.boxed(&code.expr)?;
                let mut others = Vec::new();
                for other in &code.ops {
                    others.push((comparison(other.op), self.expression_of(&other.expr)?));
                }
                Kind::Compare(first, others)
            }
            ast::Expr::IfExpr(code) => Kind::Choose {
                condition: self.boxed(&code.test_expr)?,
                then: self.boxed(&code.true_expr)?,
                otherwise: code.false_expr.as_ref().map(|otherwise| self.boxed(otherwise)).transpose()?,
            },
            ast::Expr::Filter(code) => {
                let name = filters::known(code.name).ok_or_else(|| {
                    self.error(code.span(), format!("unknown filter `{}`; known: {}", code.name, filters::listed()))
                })?;
                let input = code.expr.as_ref().map(|input| self.boxed(input)).transpose()?;
                Kind::Filter { name, input, arguments: self.arguments(code.span(), &code.args)? }
            }
            ast::Expr::Test(code) => {
                let name = tests_of_values::known(code.name).ok_or_else(|| {
                    let listed = tests_of_values::listed();
                    self.error(code.span(), format!("unknown test `{}`; known: {listed}", code.name))
                })?;
                let arguments = self.arguments(code.span(), &code.args)?;
                Kind::Test { name, input: self.boxed(&code.expr)?, arguments }
            }
            ast::Expr::GetAttr(code) => Kind::Attribute(self.boxed(&code.expr)?, code.name.into()),
            ast::Expr::GetItem(code) => Kind::Item(self.boxed(&code.expr)?, self.boxed(&code.subscript_expr)?),
            ast::Expr::Call(code) => self.call(code)?.kind,
            ast::Expr::List(code) => Kind::List(self.expressions(&code.items)?),
            ast::Expr::Tuple(code) => Kind::List(self.expressions(&code.items)?),
            ast::Expr::Map(code) => {
                let mut pairs = Vec::new();
                for (key, value) in code.keys.iter().zip(&code.values) {
                    pairs.push((self.expression_of(key)?, self.expression_of(value)?));
                }
                Kind::Map(pairs)
            }
        };
        self.depth -= 1;
        Ok(Expression { place, kind })
    }

    fn constant(&self, code: &ast::Spanned<ast::Const>) -> Result<Constant, ScriptError> {
        let value = &code.value;
        let number = match value.kind() {
            ValueKind::None => return Ok(Constant::None),
            ValueKind::Bool => return Ok(Constant::Bool(value.is_true())),
            ValueKind::String => return Ok(Constant::Text(value.as_str().unwrap_or_default().into())),
            ValueKind::Number if value.is_integer() => value.as_i64().map(Number::from),
            ValueKind::Number => f64::try_from(value.clone()).ok().and_then(Number::from_f64),
            _ => None,
        };
        number.map(Constant::Number).ok_or_else(|| self.error(code.span(), "this constant is too large"))
    }

    fn binary(&mut self, code: &ast::BinOp<'a>) -> Result<Kind, ScriptError> {
        let (left, right) = (self.boxed(&code.left)?, self.boxed(&code.right)?);
        let calculate = |operator| Kind::Calculate(operator, left.clone(), right.clone());
        let compare = |comparison| Kind::Compare(left.clone(), vec![(comparison, (*right).clone())]);
        Ok(match code.op {
            ast::BinOpKind::Eq => compare(Comparison::Equal),
            ast::BinOpKind::Ne => compare(Comparison::Unequal),
            ast::BinOpKind::Lt => compare(Comparison::Less),
            ast::BinOpKind::Lte => compare(Comparison::LessOrEqual),
            ast::BinOpKind::Gt => compare(Comparison::Greater),
            ast::BinOpKind::Gte => compare(Comparison::GreaterOrEqual),
            ast::BinOpKind::In => compare(Comparison::In),
            ast::BinOpKind::ScAnd => Kind::And(left, right),
            ast::BinOpKind::ScOr => Kind::Or(left, right),
            ast::BinOpKind::Add => calculate(Operator::Add),
            ast::BinOpKind::Sub => calculate(Operator::Subtract),
            ast::BinOpKind::Mul => calculate(Operator::Multiply),
            ast::BinOpKind::Div => calculate(Operator::Divide),
            ast::BinOpKind::FloorDiv => calculate(Operator::FloorDivide),
            ast::BinOpKind::Rem => calculate(Operator::Remainder),
            ast::BinOpKind::Concat => calculate(Operator::Concatenate),
            ast::BinOpKind::Pow => {
                return Err(self.error(code.left.span(), "templates of packs do not have `**`"));
            }
        })
    }

    fn call(&mut self, code: &ast::Spanned<ast::Call<'a>>) -> Result<Expression, ScriptError> {
        let place = Place(code.span().start_offset);
        let ast::Expr::Var(function) = &code.expr else {
            return Err(self.error(code.span(), "values have no functions; use a filter"));
        };
        let arguments = self.arguments(code.span(), &code.args)?;
        let index = self.macro_names.iter().find(|(name, _)| *name == function.id).map(|(_, index)| *index);
        let kind = match (function.id, index) {
            (_, Some(index)) => Kind::CallMacro { index, arguments },
            ("omit", None) => match <[Expression; 2]>::try_from(arguments.plain) {
                Ok([what, why]) if arguments.named.is_empty() => Kind::Omit(Box::new(what), Box::new(why)),
                _ => return Err(self.error(code.span(), "`omit` takes what is left out, and why")),
            },
            ("range", None) => match <[Expression; 1]>::try_from(arguments.plain) {
                Ok([end]) if arguments.named.is_empty() => Kind::Range(Box::new(end)),
                _ => return Err(self.error(code.span(), "`range` takes one number")),
            },
            ("namespace", None) if arguments.plain.is_empty() => Kind::Namespace(arguments),
            (name, None) => {
                let macros = self.macro_names.iter().map(|(name, _)| format!(", `{name}`")).collect::<String>();
                let message = format!("unknown function `{name}`; known: `namespace`, `omit`, `range`{macros}");
                return Err(self.error(code.span(), message));
            }
        };
        Ok(Expression { place, kind })
    }

    fn arguments(&mut self, span: Span, given: &[ast::CallArg<'a>]) -> Result<Arguments, ScriptError> {
        let mut arguments = Arguments::default();
        for argument in given {
            match argument {
                ast::CallArg::Pos(value) => arguments.plain.push(self.expression_of(value)?),
                ast::CallArg::Kwarg(name, value) => {
                    arguments.named.push(((*name).into(), self.expression_of(value)?));
                }
                ast::CallArg::PosSplat(_) | ast::CallArg::KwargSplat(_) => {
                    return Err(self.error(span, "arguments are given one by one, without `*`"));
                }
            }
        }
        Ok(arguments)
    }
}

fn comparison(kind: ast::CompareOpKind) -> Comparison {
    match kind {
        ast::CompareOpKind::Eq => Comparison::Equal,
        ast::CompareOpKind::Ne => Comparison::Unequal,
        ast::CompareOpKind::Lt => Comparison::Less,
        ast::CompareOpKind::Lte => Comparison::LessOrEqual,
        ast::CompareOpKind::Gt => Comparison::Greater,
        ast::CompareOpKind::Gte => Comparison::GreaterOrEqual,
        ast::CompareOpKind::In => Comparison::In,
        ast::CompareOpKind::NotIn => Comparison::NotIn,
    }
}
