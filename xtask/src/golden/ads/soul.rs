//! A soul that goes beside the input, for back ends with instructions of the developer. Pellucid has no such back end, so its
//! souls stay where the layout has them.

use pellucid_engine::fragment::{Fragment, concat};
use pellucid_engine::utf16;

/// The instructions of the developer, if the text has a soul and they are taken, and the rest of the text.
pub fn beside(injected: Option<Vec<Fragment>>, alias: &str, is_taken: bool) -> (Option<String>, Option<Vec<Fragment>>) {
    let Some(text) = injected.as_deref().map(concat).filter(|_| is_taken) else {
        return (None, injected);
    };
    let Some((before, soul, after)) = split(&text) else {
        return (None, injected);
    };
    // The text after the soul keeps its distance to the text before, unless there is none.
    let after = utf16::trim(after);
    let before = if after.is_empty() { utf16::trim(before) } else { before };
    let rest = format!("{before}{after}");
    let rest = (!rest.is_empty()).then(|| vec![Fragment::provided("manager", rest)]);
    (Some(format!("{alias}\n\n{}", utf16::trim(soul))), rest)
}

fn split(text: &str) -> Option<(&str, &str, &str)> {
    let (before, rest) = text.split_once("<soul>")?;
    let (soul, after) = rest.split_once("</soul>")?;
    Some((before, soul, after))
}
