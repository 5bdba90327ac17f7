//! A report that was saved as JSON, as a table. Any program may have written the file, so no field is relied on.

use serde_json::Value;

use crate::screen::name;
use crate::style::thousands;

/// The table of a saved report.
pub fn table(report: &Value) -> String {
    let figure = |value: &Value| thousands(value.as_i64().unwrap_or_default());
    let word = |value: &Value| name(value.as_str().unwrap_or_default()).into_owned();
    let (bytes, tokens, model) = (figure(&report["bytes"]), figure(&report["tokens"]), word(&report["model"]));
    let mut text = "a saved report\n".to_owned();
    text += &format!("request: {bytes} bytes, {tokens} tokens; model {model}\n");
    if report["certain"] == false {
        let why = |reason: &Value| word(&reason["why"]);
        let reasons: Vec<String> = report["reasons"].as_array().into_iter().flatten().map(why).collect();
        text += &format!("note: these bytes were not certain to be sent: {}\n", reasons.join("; "));
    }
    text += &format!("\n{:>8} {:>7}  {:<36} {}\n", "bytes", "tokens", "part", "from");
    for row in report["rows"].as_array().into_iter().flatten() {
        let from = format!("{} {}", word(&row["source"]), word(&row["origin"]));
        let line =
            format!("{:>8} {:>7}  {:<36} {from}", figure(&row["bytes"]), figure(&row["tokens"]), word(&row["part"]));
        text += line.trim_end();
        text.push('\n');
    }
    for (n, omission) in report["omissions"].as_array().into_iter().flatten().enumerate() {
        if n == 0 {
            text += "\nnot seen by the model\n";
        }
        text += &format!("  {} ({}): {}\n", word(&omission["what"]), word(&omission["part"]), word(&omission["why"]));
    }
    text
}
