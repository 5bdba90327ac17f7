//! The words after a command, taken one by one until none is left.
//!
//! A command takes the flags and values it knows and then calls [`Args::finish`], which refuses the rest.
//!
//! Not here: help texts (`main.rs`) and the arguments of the product.

use anyhow::{Result, bail};

/// Arguments that no command has taken yet.
#[derive(Debug)]
pub struct Args {
    words: Vec<String>,
}

impl Args {
    pub fn new(words: Vec<String>) -> Self {
        Self { words }
    }

    /// Takes a flag; returns whether it was there.
    pub fn flag(&mut self, name: &str) -> bool {
        let found = self.words.iter().position(|word| word == name);
        found.map(|at| self.words.remove(at)).is_some()
    }

    /// Takes `NAME VALUE` or `NAME=VALUE`.
    pub fn value(&mut self, name: &str) -> Result<Option<String>> {
        let prefix = format!("{name}=");
        if let Some(at) = self.words.iter().position(|it| it.starts_with(&prefix)) {
            return Ok(Some(self.words.remove(at)[prefix.len()..].to_string()));
        }
        let Some(at) = self.words.iter().position(|word| word == name) else {
            return Ok(None);
        };
        if at + 1 >= self.words.len() {
            bail!("{name} needs a value");
        }
        self.words.remove(at);
        Ok(Some(self.words.remove(at)))
    }

    /// Whether the first word that is left is no option.
    pub fn is_next_a_name(&self) -> bool {
        self.words.first().is_some_and(|word| !word.starts_with('-'))
    }

    /// Takes the first word that is left, whatever it is.
    pub fn next(&mut self) -> Option<String> {
        (!self.words.is_empty()).then(|| self.words.remove(0))
    }

    /// Takes all remaining words, for another program.
    pub fn rest(self) -> Vec<String> {
        self.words
    }

    /// Refuses any remaining words.
    pub fn finish(self) -> Result<()> {
        match self.words.first() {
            Some(word) => bail!("unexpected argument {word}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(text: &str) -> Args {
        Args::new(text.split_whitespace().map(str::to_string).collect())
    }

    #[test]
    fn takes_flags_and_values_in_any_order() {
        let mut args = args("--exact --match ^a --only=requests,exit");
        assert_eq!(args.value("--only").unwrap().unwrap(), "requests,exit");
        assert_eq!(args.value("--match").unwrap().unwrap(), "^a");
        assert!(args.flag("--exact"));
        assert!(!args.flag("--exact"));
        args.finish().unwrap();
    }

    #[test]
    fn a_value_must_be_there() {
        let error = args("--match").value("--match").unwrap_err();
        assert_eq!(error.to_string(), "--match needs a value");
    }

    #[test]
    fn what_nobody_takes_is_refused() {
        let error = args("--mathc x").finish().unwrap_err();
        assert_eq!(error.to_string(), "unexpected argument --mathc");
    }
}
