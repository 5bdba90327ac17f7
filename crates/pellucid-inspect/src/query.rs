//! The query of an address: keys and values, with their escapes undone.

use crate::error::ApiError;

/// The keys and values of a query, in order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Query {
    pairs: Vec<(String, String)>,
}

impl Query {
    /// Reads a query as forms of pages write it: `+` is a space, `%41` is a byte.
    ///
    /// # Errors
    /// When an escape is not one, or the text is not UTF-8.
    pub fn parse(text: &str) -> Result<Self, ApiError> {
        let pairs = text.split('&').filter(|pair| !pair.is_empty()).map(|pair| {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            Ok((unescaped(&key.replace('+', " "))?, unescaped(&value.replace('+', " "))?))
        });
        Ok(Self { pairs: pairs.collect::<Result<_, ApiError>>()? })
    }

    /// The value of a key; the first one if it is given several times.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.pairs.iter().find(|(it, _)| it == key).map(|(_, value)| value.as_str())
    }

    /// Takes the value of a key that an answer may have only once.
    ///
    /// # Errors
    /// When the key is given several times.
    pub fn take(&mut self, key: &str) -> Result<Option<String>, ApiError> {
        let mut taken = self.take_all(key);
        match taken.len() {
            0 | 1 => Ok(taken.pop()),
            _ => Err(ApiError::bad(format!("`{key}` is given several times"))),
        }
    }

    /// Takes every value of a key.
    pub fn take_all(&mut self, key: &str) -> Vec<String> {
        let (taken, rest) = std::mem::take(&mut self.pairs).into_iter().partition(|(it, _)| it == key);
        self.pairs = rest;
        let taken: Vec<(String, String)> = taken;
        taken.into_iter().map(|(_, value)| value).collect()
    }

    /// Takes a number.
    ///
    /// # Errors
    /// When the value is not a number, or is given several times.
    pub fn take_number(&mut self, key: &str) -> Result<Option<usize>, ApiError> {
        let Some(text) = self.take(key)? else {
            return Ok(None);
        };
        let number = text.parse().map_err(|_| ApiError::bad(format!("`{key}` takes a number, not `{text}`")))?;
        Ok(Some(number))
    }

    /// Takes a switch: `true`, `false`, or the key alone.
    ///
    /// # Errors
    /// When the value is neither, or is given several times.
    pub fn take_switch(&mut self, key: &str) -> Result<bool, ApiError> {
        match self.take(key)?.as_deref() {
            None | Some("false") => Ok(false),
            Some("" | "true") => Ok(true),
            Some(text) => Err(ApiError::bad(format!("`{key}` takes true or false, not `{text}`"))),
        }
    }

    /// Refuses keys that nothing has taken.
    ///
    /// # Errors
    /// When one is left.
    pub fn done(self) -> Result<(), ApiError> {
        match self.pairs.first() {
            None => Ok(()),
            Some((key, _)) => Err(ApiError::bad(format!("unknown query key `{key}`"))),
        }
    }
}

/// A text with its escapes undone.
///
/// # Errors
/// When an escape is not one, or the text is not UTF-8.
pub fn unescaped(text: &str) -> Result<String, ApiError> {
    let wrong = || ApiError::bad("the address has an escape that is none");
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        rest = after;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let [high, low, after @ ..] = rest else {
            return Err(wrong());
        };
        let digit = |byte: &u8| char::from(*byte).to_digit(16).and_then(|it| u8::try_from(it).ok()).ok_or_else(wrong);
        bytes.push(digit(high)? * 16 + digit(low)?);
        rest = after;
    }
    String::from_utf8(bytes).map_err(|_| ApiError::bad("the address is not UTF-8"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Result<&[(&str, &str)], &str>) {
        let found = Query::parse(text).map(|query| query.pairs).map_err(|error| error.message);
        let pair = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
        let expected = expected.map(|pairs| pairs.iter().map(pair).collect()).map_err(str::to_owned);
        assert_eq!(found, expected);
    }

    #[test]
    fn escapes_are_undone_and_wrong_ones_refused() {
        check("", Ok(&[]));
        check("a=1&b=&c&&d=x%20y+z%2F", Ok(&[("a", "1"), ("b", ""), ("c", ""), ("d", "x y z/")]));
        check("q=%C3%A9%0a", Ok(&[("q", "é\n")]));
        for wrong in ["a=%", "a=%4", "a=%zz", "%4=1"] {
            check(wrong, Err("the address has an escape that is none"));
        }
        check("a=%ff", Err("the address is not UTF-8"));
    }

    #[test]
    fn values_are_taken_once_and_the_rest_is_unknown() {
        let mut query = Query::parse("n=7&on&by=part&x=1&x=2").unwrap();
        assert_eq!(query.take_number("n"), Ok(Some(7)));
        assert_eq!(query.take_number("n"), Ok(None));
        assert_eq!(query.take_switch("on"), Ok(true));
        assert_eq!(query.take_switch("off"), Ok(false));
        assert_eq!(query.take_number("by").unwrap_err().message, "`by` takes a number, not `part`");
        assert_eq!(query.take("x").unwrap_err().message, "`x` is given several times");
        let left = Query::parse("left=1").unwrap();
        assert_eq!(left.done().unwrap_err().message, "unknown query key `left`");
    }
}
