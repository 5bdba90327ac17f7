//! Methods, with the types of what goes in and what comes out.

use schemars::JsonSchema;
use schemars::SchemaGenerator;
use serde_json::Value;

/// Whether what is not settled is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// It is not.
    Stable,
    /// It is.
    Experimental,
}

/// A method.
#[derive(Debug, Clone, Copy)]
pub struct Method {
    name: &'static str,
    params: fn(&mut SchemaGenerator) -> Value,
    result: fn(&mut SchemaGenerator) -> Value,
    is_experimental: bool,
    experimental_fields: &'static [&'static str],
}

impl Method {
    /// A method with parameters and a result of these types.
    pub const fn new<P: JsonSchema, R: JsonSchema>(name: &'static str) -> Self {
        Self {
            name,
            params: |generator| generator.subschema_for::<P>().to_value(),
            result: |generator| generator.subschema_for::<R>().to_value(),
            is_experimental: false,
            experimental_fields: &[],
        }
    }

    /// The same, not settled.
    pub const fn experimental(self) -> Self {
        Self { is_experimental: true, ..self }
    }

    /// The same with parameters, as they are spelt in messages, that are not settled.
    pub const fn with_experimental(self, fields: &'static [&'static str]) -> Self {
        Self { experimental_fields: fields, ..self }
    }

    /// Its name.
    pub const fn name(&self) -> &'static str {
        self.name
    }

    pub(super) fn is_in(&self, stage: Stage) -> bool {
        stage == Stage::Experimental || !self.is_experimental
    }

    pub(super) fn hidden(&self, stage: Stage) -> &'static [&'static str] {
        match stage {
            Stage::Stable => self.experimental_fields,
            Stage::Experimental => &[],
        }
    }

    pub(super) fn params(&self, generator: &mut SchemaGenerator) -> Value {
        (self.params)(generator)
    }

    pub(super) fn result(&self, generator: &mut SchemaGenerator) -> Value {
        (self.result)(generator)
    }
}
