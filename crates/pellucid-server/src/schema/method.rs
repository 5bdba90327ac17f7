//! Methods, and what of them is experimental.

/// Whether experimental parts of the protocol are included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MethodStage {
    /// Only stable parts are included.
    Stable,
    /// Experimental parts are included too.
    Experimental,
}

/// A method of the protocol.
#[derive(Debug, Clone, Copy)]
pub struct Method {
    name: &'static str,
    is_experimental: bool,
    experimental_fields: &'static [&'static str],
}

impl Method {
    /// A method that is stable with all its parameters.
    pub const fn new(name: &'static str) -> Self {
        Self { name, is_experimental: false, experimental_fields: &[] }
    }

    /// Marks the whole method as experimental.
    pub const fn experimental(self) -> Self {
        Self { is_experimental: true, ..self }
    }

    /// Marks these parameters, spelt as in messages, as experimental.
    pub const fn with_experimental(self, fields: &'static [&'static str]) -> Self {
        Self { experimental_fields: fields, ..self }
    }

    /// The method as messages spell it.
    pub const fn name(&self) -> &'static str {
        self.name
    }

    pub(super) fn is_in(&self, stage: MethodStage) -> bool {
        stage == MethodStage::Experimental || !self.is_experimental
    }

    pub(super) fn hidden(&self, stage: MethodStage) -> &'static [&'static str] {
        match stage {
            MethodStage::Stable => self.experimental_fields,
            MethodStage::Experimental => &[],
        }
    }
}
