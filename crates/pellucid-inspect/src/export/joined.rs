//! The modules of the page, joined in a fixed order into one script, and the file around it.
//!
//! Each module becomes a function that gives what the module exports; a module follows those that it imports. The modules are
//! written so that this is enough: an import is one line with names in braces, and `export` begins a line.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha2::Digest;
use sha2::Sha256;

use crate::page;

/// The module that imports all others.
const FIRST: &str = "app.js";

/// What the first file has for a page that is served. Each is replaced by what it names.
const ICON: &str = "href=\"/page/icon.svg\"";
const STYLE: &str = "  <link rel=\"stylesheet\" href=\"/page/style.css\">\n";
const SCRIPT: &str = "  <script type=\"module\" src=\"/page/app.js\"></script>\n";
const CHARSET: &str = "  <meta charset=\"utf-8\">\n";
const END: &str = "</body>\n";

/// What begins the lines that a module shares its names with.
const EXPORTS: [&str; 4] = ["function ", "async function ", "class ", "const "];

/// The page around two pieces of markup: one that is there before the script runs, and one behind it. Absent if the files of
/// the page are not as this module expects them.
pub fn file(first: &str, rest: &str) -> Option<String> {
    let (script, style) = (script()?, page::text("style.css")?);
    let icon = format!("href=\"data:image/svg+xml;base64,{}\"", STANDARD.encode(page::text("icon.svg")?));
    let policy =
        format!("{CHARSET}  <meta http-equiv=\"Content-Security-Policy\" content=\"{}\">\n", policy(&script, style));
    let end = format!("{first}<script>{script}</script>\n{rest}\n{END}");
    let mut html = page::text("index.html")?.to_owned();
    let style = format!("  <style>{style}</style>\n");
    for (from, to) in [(CHARSET, policy.as_str()), (ICON, &icon), (STYLE, &style), (SCRIPT, ""), (END, &end)] {
        let (before, after) = html.split_once(from)?;
        html = [before, to, after].concat();
    }
    Some(html)
}

/// What the page may do: run its one script, use its one style, and load nothing.
fn policy(script: &str, style: &str) -> String {
    let hash = |text: &str| format!("'sha256-{}'", STANDARD.encode(Sha256::digest(text)));
    format!(
        "default-src 'none'; script-src {}; style-src {}; img-src data:; connect-src 'none'; base-uri 'none'; \
         form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
        hash(script),
        hash(style)
    )
}

/// All modules as one script.
fn script() -> Option<String> {
    let mut joined = String::from("\"use strict\";\n");
    add(FIRST, &mut Vec::new(), &mut joined)?;
    Some(joined)
}

/// Adds a module behind those that it imports. `seen` has the modules that were begun.
fn add(name: &str, seen: &mut Vec<String>, joined: &mut String) -> Option<()> {
    if seen.iter().any(|it| it == name) {
        return Some(());
    }
    seen.push(name.to_owned());
    let (mut body, mut exports) = (String::new(), Vec::new());
    for line in page::text(name)?.lines() {
        if let Some(import) = line.strip_prefix("import ") {
            let (names, from) = import.strip_suffix("\";")?.split_once(" from \"./")?;
            add(from, seen, joined)?;
            body += &format!("const {names} = {};\n", variable(from));
            continue;
        }
        let line = match line.strip_prefix("export ") {
            None => line,
            Some(shared) => {
                let rest = EXPORTS.iter().find_map(|word| shared.strip_prefix(word))?;
                let end = rest.find(|c: char| !c.is_ascii_alphanumeric())?;
                exports.push(&rest[..end]);
                shared
            }
        };
        body += line;
        body.push('\n');
    }
    let exports = exports.join(", ");
    *joined += &format!("// {name}\nconst {} = (() => {{\n{body}return {{ {exports} }};\n}})();\n", variable(name));
    Some(())
}

/// The name of a module in the joined script.
fn variable(name: &str) -> String {
    format!("${}", name.trim_end_matches(".js").replace('-', "_"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_module_is_joined_once_behind_those_that_it_imports() {
        let script = script().unwrap();
        let begins: Vec<&str> =
            script.lines().filter_map(|line| line.strip_prefix("const $")?.split(' ').next()).collect();
        let modules = page::names().filter(|name| name.ends_with(".js"));
        assert_eq!(begins.len(), modules.count(), "each module begins once");
        for (at, line) in script.lines().enumerate() {
            assert!(!line.starts_with("import ") && !line.starts_with("export "), "{line}");
            let used = line.strip_prefix("const { ").and_then(|rest| rest.rsplit_once(" = $"));
            if let Some((_, module)) = used {
                let module = format!("const ${} = (() => {{", module.trim_end_matches(';'));
                assert!(script.lines().take(at).any(|before| before == module), "{line} comes before its module");
            }
        }
    }

    #[test]
    fn the_file_runs_one_script_and_has_no_address_of_another_file() {
        let html = file("<i>first</i>", "<i>rest</i>").unwrap();
        assert_eq!((html.matches("<script").count(), html.matches("</script>").count()), (1, 1));
        assert_eq!((html.matches("<style").count(), html.matches("<link").count()), (1, 1));
        for word in ["src=\"", "href=\"/", "<!--", "type=\"module\""] {
            let outside = html.replace(&script().unwrap(), "").replace(page::text("style.css").unwrap(), "");
            assert!(!outside.contains(word), "{word}");
        }
        assert!(html.contains("connect-src 'none'") && !html.contains("unsafe-inline"));
        assert!(html.find("<i>first</i>") < html.find("<script") && html.find("</script>") < html.find("<i>rest</i>"));
    }
}
