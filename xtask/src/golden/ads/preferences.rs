//! Lines of an input that ask to remember a preference, as the release of the vectors reads them. Pellucid sends such lines as
//! they are.

use pellucid_engine::utf16;

/// The beginnings of lines that state a preference.
const WORDS: [&str; 8] =
    ["记住偏好", "保存偏好", "写入偏好", "更新偏好", "记住喜好", "保存喜好", "写入喜好", "更新喜好"];

/// A preference that the user stated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Preference {
    /// The subject of the preference.
    pub key: String,
    /// The value that the user prefers.
    pub value: String,
}

/// Removes the lines that state a preference from a text. Without such lines the text is unchanged.
pub fn take(text: &str) -> (Vec<Preference>, String) {
    let mut found = Vec::new();
    let mut rest = Vec::new();
    for line in text.split('\n') {
        match read(utf16::trim(line)) {
            Some(preference) => found.push(preference),
            None => rest.push(line),
        }
    }
    let rest = rest.join("\n");
    let rest = if found.is_empty() { rest } else { utf16::trim(&rest).to_owned() };
    (found, rest)
}

fn read(line: &str) -> Option<Preference> {
    let rest = WORDS.iter().find_map(|word| line.strip_prefix(word))?;
    let rest = utf16::trim(rest);
    let rest = utf16::trim(rest.strip_prefix([':', '：']).unwrap_or(rest));
    let is_blank = |c: char| utf16::is_blank(c.encode_utf8(&mut [0; 4]));
    let key_end = rest.find(|c: char| matches!(c, '=' | ':' | '：') || is_blank(c))?;
    let (key, after) = rest.split_at(key_end);
    let after = utf16::trim(after);
    let value = utf16::trim(after.strip_prefix(['=', ':', '：']).unwrap_or(after));
    (!key.is_empty() && !value.is_empty()).then(|| Preference { key: key.to_owned(), value: value.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, pairs: &[(&str, &str)], rest: &str) {
        let (found, left) = take(text);
        let found: Vec<_> = found.iter().map(|it| (it.key.as_str(), it.value.as_str())).collect();
        assert_eq!((found.as_slice(), left.as_str()), (pairs, rest), "{text}");
    }

    #[test]
    fn lines_that_ask_for_it_are_taken_out() {
        check("记住偏好 tone=calm", &[("tone", "calm")], "");
        check("  更新喜好： editor：vim  \nwhat now?", &[("editor", "vim")], "what now?");
        check("保存偏好 tabs four wide", &[("tabs", "four wide")], "");
        check("a\n写入偏好 x:1\nb", &[("x", "1")], "a\nb");
        check("保存偏好\nhi", &[], "保存偏好\nhi");
        check(" plain \n", &[], " plain \n");
    }
}
