//! How an expression becomes a value.

use std::cmp::Ordering;
use std::sync::Arc;

use serde_json::Number;

use crate::ScriptError;
use crate::code::Comparison;
use crate::code::Constant;
use crate::code::Expression;
use crate::code::Kind;
use crate::code::Operator;
use crate::filters;
use crate::run::LeftOut;
use crate::run::Run;
use crate::tests_of_values;
use crate::text::Provenance;
use crate::text::Text;
use crate::value::Value;
use crate::value::missing;

/// How many numbers `range` gives at most.
const RANGE_MAX: usize = 10_000;

impl<'a, O: Provenance> Run<'a, O> {
    pub(crate) fn evaluate(&mut self, expression: &'a Expression) -> Result<Value<O>, ScriptError> {
        let place = expression.place;
        self.step(place)?;
        let value = match &expression.kind {
            Kind::Name(name) => return self.lookup(name, place),
            Kind::Constant(Constant::None) => Value::None,
            Kind::Constant(Constant::Bool(is_true)) => Value::Bool(*is_true),
            Kind::Constant(Constant::Number(number)) => Value::Number(number.clone(), self.own.clone()),
            Kind::Constant(Constant::Text(text)) => self.own_text(text),
            Kind::List(items) => {
                let mut values = Vec::with_capacity(items.len());
                for item in items {
                    values.push(self.evaluate(item)?);
                }
                Value::list(values)
            }
            Kind::Map(pairs) => self.map(pairs)?,
            Kind::Attribute(of, name) => {
                let value = self.evaluate(of)?;
                if let Value::Namespace(number) = value {
                    let found = self.namespaces.get(number).and_then(|space| space.get(name)).cloned();
                    return Ok(found.unwrap_or_else(|| Value::Missing(name.clone())));
                }
                return attribute(&value, name).or_else(|message| self.fail(place, message));
            }
            Kind::Item(of, index) => {
                let (value, index) = (self.evaluate(of)?, self.evaluate(index)?);
                return item(&value, &index).or_else(|message| self.fail(place, message));
            }
            Kind::Slice(of, start, stop) => {
                let value = self.evaluate(of)?;
                self.steps_of(value.weight(), place)?;
                let start = start.as_ref().map(|start| self.evaluate(start)).transpose()?;
                let stop = stop.as_ref().map(|stop| self.evaluate(stop)).transpose()?;
                return slice(&value, start.as_ref(), stop.as_ref()).or_else(|message| self.fail(place, message));
            }
            Kind::Not(of) => Value::Bool(!self.holds(of)?),
            Kind::Negative(of) => {
                let zero = Value::count(self.own.clone(), 0);
                let value = self.evaluate(of)?;
                return calculate(Operator::Subtract, &zero, &value).or_else(|message| self.fail(place, message));
            }
            Kind::And(left, right) => {
                let value = self.evaluate(left)?;
                let is_true = value.truth().or_else(|message| self.fail(left.place, message))?;
                return if is_true { self.evaluate(right) } else { Ok(value) };
            }
            Kind::Or(left, right) => {
                let value = self.evaluate(left)?;
                let is_true = value.truth().or_else(|message| self.fail(left.place, message))?;
                return if is_true { Ok(value) } else { self.evaluate(right) };
            }
            Kind::Compare(first, others) => {
                let mut left = self.evaluate(first)?;
                for (comparison, other) in others {
                    let right = self.evaluate(other)?;
                    self.steps_of(left.weight() + right.weight(), place)?;
                    let holds = compared(*comparison, &left, &right);
                    let holds = holds.or_else(|message| self.fail(first.place, message))?;
                    if !holds {
                        return Ok(Value::Bool(false));
                    }
                    left = right;
                }
                Value::Bool(true)
            }
            Kind::Calculate(operator, left, right) => {
                let (left, right) = (self.evaluate(left)?, self.evaluate(right)?);
                self.steps_of(left.weight() + right.weight(), place)?;
                calculate(*operator, &left, &right).or_else(|message| self.fail(place, message))?
            }
            Kind::Choose { condition, then, otherwise } => {
                return match (self.holds(condition)?, otherwise) {
                    (true, _) => self.evaluate(then),
                    (false, Some(otherwise)) => self.evaluate(otherwise),
                    (false, None) => Ok(Value::Text(Text::default())),
                };
            }
            Kind::Filter { input: None, .. } => return self.fail(place, "a filter needs a value before it"),
            Kind::Filter { input: Some(input), .. } => {
                let value = self.evaluate(input)?;
                return self.filtered_once(expression, value);
            }
            Kind::Test { name, input, arguments } => {
                let value = self.evaluate(input)?;
                let given = self.given(arguments)?;
                self.steps_of(value.weight() + given.weight(), place)?;
                let holds = tests_of_values::holds(name, &value, given);
                Value::Bool(holds.or_else(|message| self.fail(place, message))?)
            }
            Kind::CallMacro { index, arguments } => self.call_macro(*index, arguments, place)?,
            Kind::Namespace(arguments) => {
                let values = self.given(arguments)?.into_named();
                self.namespaces.push(values.into_iter().collect());
                Value::Namespace(self.namespaces.len() - 1)
            }
            Kind::Omit(what, why) => {
                let (what, why) = (self.plain(what)?, self.plain(why)?);
                self.left_out.push(LeftOut { what, why });
                Value::None
            }
            Kind::Range(end) => match self.evaluate(end)? {
                Value::Number(end, origin) => match end.as_u64().and_then(|end| usize::try_from(end).ok()) {
                    Some(end) if end <= RANGE_MAX => Value::list((0..end).map(|n| Value::count(origin.clone(), n))),
                    _ => return self.fail(place, format!("`range` takes a number from 0 to {RANGE_MAX}")),
                },
                other => return self.fail(place, format!("`range` takes a number, not {}", other.kind())),
            },
        };
        self.charge(place, &value)?;
        Ok(value)
    }

    fn map(&mut self, pairs: &'a [(Expression, Expression)]) -> Result<Value<O>, ScriptError> {
        let mut values: Vec<(Arc<str>, Value<O>)> = Vec::with_capacity(pairs.len());
        for (key, value) in pairs {
            let (name, value) = (self.plain(key)?, self.evaluate(value)?);
            values.retain(|(known, _)| **known != *name);
            values.push((name.into(), value));
        }
        Ok(Value::Map(values.into(), self.own.clone()))
    }

    fn plain(&mut self, expression: &'a Expression) -> Result<String, ScriptError> {
        let value = self.evaluate(expression)?;
        match value.written() {
            Ok(text) => Ok(text.plain()),
            Err(message) => self.fail(expression.place, message),
        }
    }

    /// Applies the filters of a block, the innermost first.
    pub(crate) fn filtered(&mut self, filter: &'a Expression, value: Value<O>) -> Result<Value<O>, ScriptError> {
        let value = match &filter.kind {
            Kind::Filter { input: Some(inner), .. } => self.filtered(inner, value)?,
            _ => value,
        };
        self.filtered_once(filter, value)
    }

    fn filtered_once(&mut self, filter: &'a Expression, value: Value<O>) -> Result<Value<O>, ScriptError> {
        let Kind::Filter { name, arguments, .. } = &filter.kind else {
            return self.fail(filter.place, "a filter is expected here");
        };
        let given = self.given(arguments)?;
        // `select("in", list)` goes through the list for every value.
        let n_steps = value.weight().saturating_add(value.weight().saturating_mul(given.weight()));
        self.steps_of(n_steps, filter.place)?;
        let own = self.own.clone();
        let result = filters::apply(name, value, given, &own);
        let result = result.or_else(|message| self.fail(filter.place, message))?;
        self.charge(filter.place, &result)?;
        Ok(result)
    }
}

pub(crate) fn attribute<O: Provenance>(value: &Value<O>, name: &str) -> Result<Value<O>, String> {
    match value {
        Value::Map(..) => Ok(value.named(name).cloned().unwrap_or_else(|| Value::Missing(name.into()))),
        Value::Missing(missing_name) => Err(missing(missing_name)),
        other => Err(format!("{} has no `{name}`", other.kind())),
    }
}

fn item<O: Provenance>(value: &Value<O>, index: &Value<O>) -> Result<Value<O>, String> {
    match (value, index) {
        (Value::Map(..), Value::Text(name)) => attribute(value, &name.plain()),
        (Value::List(values), Value::Number(number, _)) => {
            let at = number.as_i64().and_then(|at| wrapped(at, values.len()));
            let found = at.and_then(|at| values.get(at)).cloned();
            Ok(found.unwrap_or_else(|| Value::Missing(format!("[{number}]").into())))
        }
        (Value::Missing(name), _) | (_, Value::Missing(name)) => Err(missing(name)),
        (value, index) => Err(format!("{} cannot be indexed with {}", value.kind(), index.kind())),
    }
}

/// A position that may count from the end.
fn wrapped(at: i64, len: usize) -> Option<usize> {
    let len = i64::try_from(len).ok()?;
    usize::try_from(if at < 0 { at + len } else { at }).ok()
}

fn slice<O: Provenance>(
    value: &Value<O>,
    start: Option<&Value<O>>,
    stop: Option<&Value<O>>,
) -> Result<Value<O>, String> {
    let end = |value: Option<&Value<O>>, len: usize, standard: usize| match value {
        None | Some(Value::None) => Ok(standard),
        Some(Value::Number(number, _)) => {
            let at = number.as_i64().ok_or("a slice takes whole numbers")?;
            Ok(wrapped(at, len).unwrap_or(0).min(len))
        }
        Some(other) => Err(format!("a slice takes numbers, not {}", other.kind())),
    };
    match value {
        Value::List(values) => {
            let (from, to) = (end(start, values.len(), 0)?, end(stop, values.len(), values.len())?);
            Ok(Value::list(values.get(from..to.max(from)).unwrap_or_default().iter().cloned()))
        }
        Value::Text(text) => {
            let plain = text.plain();
            let borders: Vec<usize> = plain.char_indices().map(|(at, _)| at).chain([plain.len()]).collect();
            let len = borders.len() - 1;
            let (from, to) = (end(start, len, 0)?, end(stop, len, len)?);
            Ok(Value::Text(text.slice(borders[from]..borders[to.max(from)])))
        }
        Value::Missing(name) => Err(missing(name)),
        other => Err(format!("{} has no parts to take", other.kind())),
    }
}

fn compared<O: Provenance>(comparison: Comparison, left: &Value<O>, right: &Value<O>) -> Result<bool, String> {
    Ok(match comparison {
        Comparison::Equal => left.equals(right)?,
        Comparison::Unequal => !left.equals(right)?,
        Comparison::Less => order(left, right)?.is_lt(),
        Comparison::LessOrEqual => order(left, right)?.is_le(),
        Comparison::Greater => order(left, right)?.is_gt(),
        Comparison::GreaterOrEqual => order(left, right)?.is_ge(),
        Comparison::In => contains(right, left)?,
        Comparison::NotIn => !contains(right, left)?,
    })
}

/// How two values of one kind are ordered.
pub(crate) fn order<O: Provenance>(left: &Value<O>, right: &Value<O>) -> Result<Ordering, String> {
    match (left, right) {
        (Value::Number(a, _), Value::Number(b, _)) => match (a.as_i64(), b.as_i64()) {
            (Some(a), Some(b)) => Ok(a.cmp(&b)),
            _ => a.as_f64().partial_cmp(&b.as_f64()).ok_or_else(|| "these numbers have no order".to_owned()),
        },
        (Value::Text(a), Value::Text(b)) => Ok(a.compare(b)),
        (Value::Missing(name), _) | (_, Value::Missing(name)) => Err(missing(name)),
        (left, right) => Err(format!("{} and {} have no order", left.kind(), right.kind())),
    }
}

pub(crate) fn contains<O: Provenance>(whole: &Value<O>, part: &Value<O>) -> Result<bool, String> {
    match (whole, part) {
        (Value::Missing(name), _) | (_, Value::Missing(name)) => Err(missing(name)),
        (Value::List(values), part) => {
            for value in values.iter() {
                if value.equals(part)? {
                    return Ok(true);
                }
            }
            Ok(false)
        }
        (Value::Map(..), Value::Text(name)) => Ok(whole.named(&name.plain()).is_some()),
        (Value::Text(text), Value::Text(part)) => Ok(text.plain().contains(&part.plain())),
        (whole, part) => Err(format!("{} cannot have {} in it", whole.kind(), part.kind())),
    }
}

fn calculate<O: Provenance>(operator: Operator, left: &Value<O>, right: &Value<O>) -> Result<Value<O>, String> {
    match (operator, left, right) {
        (Operator::Concatenate, left, right) => {
            let mut text = left.written()?;
            text.push(&right.written()?);
            Ok(Value::Text(text))
        }
        (Operator::Add, Value::Text(left), Value::Text(right)) => {
            let mut text = left.clone();
            text.push(right);
            Ok(Value::Text(text))
        }
        (Operator::Add, Value::List(left), Value::List(right)) => {
            Ok(Value::list(left.iter().chain(right.iter()).cloned()))
        }
        (_, Value::Number(a, origin), Value::Number(b, _)) => {
            let result = whole_numbers(operator, a, b).or_else(|| fractions(operator, a, b));
            result
                .map(|number| Value::Number(number, origin.clone()))
                .ok_or_else(|| "the result is not a number: too large, or a division by zero".to_owned())
        }
        (_, Value::Missing(name), _) | (_, _, Value::Missing(name)) => Err(missing(name)),
        (_, left, right) => Err(format!("cannot calculate with {} and {}", left.kind(), right.kind())),
    }
}

fn whole_numbers(operator: Operator, a: &Number, b: &Number) -> Option<Number> {
    let (a, b) = (a.as_i64()?, b.as_i64()?);
    let result = match operator {
        Operator::Add => a.checked_add(b),
        Operator::Subtract => a.checked_sub(b),
        Operator::Multiply => a.checked_mul(b),
        Operator::FloorDivide => a.checked_div_euclid(b),
        Operator::Remainder => a.checked_rem_euclid(b),
        Operator::Divide | Operator::Concatenate => None,
    };
    result.map(Number::from)
}

fn fractions(operator: Operator, a: &Number, b: &Number) -> Option<Number> {
    let (a, b) = (a.as_f64()?, b.as_f64()?);
    let result = match operator {
        Operator::Add => a + b,
        Operator::Subtract => a - b,
        Operator::Multiply => a * b,
        Operator::Divide => a / b,
        Operator::FloorDivide => (a / b).floor(),
        Operator::Remainder => a.rem_euclid(b),
        Operator::Concatenate => return None,
    };
    Number::from_f64(result)
}
