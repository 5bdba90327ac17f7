//! Slots in texts: every place of a slot gets the replacement.
//!
//! Two ways. [`literal`] inserts the text unchanged. [`with_escapes`] interprets backslashes in the inserted text, as
//! the reference's pattern routine does: documents with backslashes change on the way, and one with `\k<` cannot be
//! inserted at all. That is a defect of the reference which its users see, so both are here.

/// Text that cannot be inserted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a named group (`\\k<`) in the text cannot be inserted")]
pub struct NamedGroup;

/// Puts `replacement` into every place of `slot`, reading its backslashes.
///
/// # Errors
/// If it names a group.
pub fn with_escapes(template: &str, slot: &str, replacement: &str) -> Result<String, NamedGroup> {
    let mut result = String::with_capacity(template.len() + replacement.len());
    let mut from = 0;
    while let Some(at) = template[from..].find(slot).map(|at| from + at) {
        result.push_str(&template[from..at]);
        from = at + slot.len();
        insert(&mut result, replacement, slot, &template[..at], &template[from..])?;
    }
    result.push_str(&template[from..]);
    Ok(result)
}

/// Replaces every `slot` in a template with `replacement`, unchanged.
pub fn literal(template: &str, slot: &str, replacement: &str) -> String {
    template.replace(slot, replacement)
}

fn insert(result: &mut String, replacement: &str, slot: &str, before: &str, after: &str) -> Result<(), NamedGroup> {
    let mut rest = replacement;
    while let Some(at) = rest.find('\\') {
        result.push_str(&rest[..at]);
        let mut escaped = rest[at + 1..].chars();
        rest = match escaped.next() {
            None => {
                result.push('\\');
                ""
            }
            Some('\\') => {
                result.push('\\');
                escaped.as_str()
            }
            Some('0' | '&') => {
                result.push_str(slot);
                escaped.as_str()
            }
            Some('1'..='9' | '+') => escaped.as_str(),
            Some('`') => {
                result.push_str(before);
                escaped.as_str()
            }
            Some('\'') => {
                result.push_str(after);
                escaped.as_str()
            }
            Some('k') if escaped.as_str().starts_with('<') => return Err(NamedGroup),
            Some(other) => {
                result.push('\\');
                result.push(other);
                escaped.as_str()
            }
        };
    }
    result.push_str(rest);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_escapes(replacement: &str, expected: &str) {
        let found = with_escapes("a{{x}}b", "{{x}}", replacement).unwrap_or_else(|error| error.to_string());
        assert_eq!(found, expected);
    }

    #[test]
    fn backslashes_are_read() {
        check_escapes("plain", "aplainb");
        check_escapes(r"C:\\t", r"aC:\tb");
        check_escapes(r"\0\&", "a{{x}}{{x}}b");
        check_escapes(r"\12\+", "a2b");
        check_escapes(r"\`\'", "aabb");
        check_escapes(r"\kx\z\", r"a\kx\z\b");
        check_escapes(r"\k<n>", "a named group (`\\k<`) in the text cannot be inserted");
        check_escapes("{{x}}", "a{{x}}b");
    }

    #[test]
    fn every_place_is_filled_from_the_template_itself() {
        assert_eq!(with_escapes("{}-{}", "{}", r"[\`|\']").unwrap(), "[|-{}]-[{}-|]");
        assert_eq!(literal("{}-{}", "{}", r"\0"), r"\0-\0");
    }
}
