//! The page of a capsule: what was said, and one row for each request. It has no script.

use pellucid_engine::visible::visible;

use super::Capsule;

/// The rules of the page: nothing is loaded and nothing runs.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

const STYLE: &str = include_str!("page.css");

/// What the page shows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CapsulePage {
    /// The title of the session.
    pub title: String,
    /// One row for each request.
    pub requests: Vec<CapsuleRow>,
    /// What was said, in order.
    pub said: Vec<Utterance>,
}

/// A request in the table.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CapsuleRow {
    /// The number of the request.
    pub number: usize,
    /// When it was sent, in UTC.
    pub sent_at: String,
    /// The model that was asked.
    pub model: String,
    /// How many tokens the request has, estimated.
    pub tokens: usize,
    /// How many tokens the provider read from its cache, if it says.
    pub read: Option<i64>,
    /// How many tokens the answer has, if the provider says.
    pub answered: Option<i64>,
    /// What came of the provider's cache.
    pub verdict: String,
}

/// Something that was said or done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Utterance {
    /// The role: `user`, `assistant`, `tool` and so on.
    pub role: String,
    /// The kind of item, or the name of the tool.
    pub what: String,
    /// The text of the item.
    pub text: String,
}

impl CapsulePage {
    /// The page around the block with the data.
    pub(super) fn to_html(&self, capsule: &Capsule, block: &str) -> String {
        let title = escaped(&self.title);
        let mut html = format!(
            "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
             <meta name=\"viewport\" content=\"width=device-width\">\n<title>{title}</title>\n<style>\n{STYLE}</style>\n\
             <h1>{title}</h1>\n<p>Session {}{}, from Pellucid {}. {}</p>\n\
             <p>To work with it: <code>pellucid capsule open FILE --to DIR</code>, then \
             <code>PELLUCID_HOME=DIR pellucid replay {}</code>.</p>\n",
            escaped(&capsule.session),
            capsule.request.map_or_else(String::new, |number| format!(" up to request {number}")),
            escaped(&capsule.program),
            blanked(capsule),
            escaped(&capsule.session),
        );
        if !self.requests.is_empty() {
            html += "<h2>Requests</h2>\n<table>\n<tr><th>#<th>sent at<th>model<th>tokens<th>read from cache\
                     <th>answered<th>cache\n";
            html += &self.requests.iter().map(row).collect::<String>();
            html += "</table>\n";
        }
        html += "<h2>Conversation</h2>\n";
        for Utterance { role, what, text } in &self.said {
            let class = if matches!(role.as_str(), "user" | "assistant" | "tool") { role } else { "other" };
            let heading = if what.is_empty() { escaped(role) } else { format!("{}: {}", escaped(role), escaped(what)) };
            html += &format!("<section class=\"{class}\"><h3>{heading}</h3><pre>{}</pre></section>\n", escaped(text));
        }
        html + block + "\n</html>\n"
    }
}

/// What is missing in the capsule, for people.
fn blanked(capsule: &Capsule) -> String {
    match (capsule.redact.as_str(), capsule.blanks) {
        ("content", _) => "Every text is replaced by filler of the same length.".to_owned(),
        ("none", _) => "Nothing is blanked: it may contain keys and passwords.".to_owned(),
        (_, n) => format!("{n} texts that look like secrets are blanked; only known patterns are detected."),
    }
}

fn row(row: &CapsuleRow) -> String {
    let figure = |figure: Option<i64>| figure.map_or_else(|| "-".to_owned(), |figure| figure.to_string());
    format!(
        "<tr><td>{}<td>{}<td>{}<td>{}<td>{}<td>{}<td>{}\n",
        row.number,
        escaped(&row.sent_at),
        escaped(&row.model),
        row.tokens,
        figure(row.read),
        figure(row.answered),
        escaped(&row.verdict),
    )
}

/// A text as HTML shows it, with hidden characters made visible.
fn escaped(text: &str) -> String {
    let mut html = String::with_capacity(text.len());
    for c in visible(text).chars() {
        match c {
            '&' => html += "&amp;",
            '<' => html += "&lt;",
            '>' => html += "&gt;",
            '"' => html += "&quot;",
            '\'' => html += "&#39;",
            c => html.push(c),
        }
    }
    html
}
