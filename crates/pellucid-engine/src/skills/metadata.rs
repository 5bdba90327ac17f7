//! `agents/openai.yaml` beside a `SKILL.md`: how a skill is shown, what it needs, who may start it.
//!
//! A field that breaks its rule is as if it were not there; a file that is not YAML of this form
//! says nothing at all.

use serde::Deserialize;

use super::front_matter::DESCRIPTION_CHARS_MAX;
use super::front_matter::NAME_CHARS_MAX;
use super::front_matter::one_line;

/// The folder of images, within that of the skill.
const ASSETS: &str = "assets";

/// The content of the metadata file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SkillManifest {
    /// How it is shown, if anything is said of that.
    pub interface: Option<SkillDisplay>,
    /// The tools that the skill needs.
    pub tools: Vec<ToolDependency>,
    /// Whether the model may choose the skill without a mention; absent means yes.
    pub allow_implicit_invocation: Option<bool>,
    /// The permissions that its scripts ask for, if any.
    pub permissions: Option<SkillPermissions>,
}

/// How a skill is shown to people.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SkillDisplay {
    /// The name for people.
    pub display_name: Option<String>,
    /// The description for people.
    pub short_description: Option<String>,
    /// A small image, relative to the skill's folder.
    pub icon_small: Option<String>,
    /// A large image, relative to the skill's folder.
    pub icon_large: Option<String>,
    /// The colour as `#RRGGBB`.
    pub brand_color: Option<String>,
    /// An example of a message that starts the skill.
    pub default_prompt: Option<String>,
}

/// A tool that a skill needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolDependency {
    /// The kind of dependency: `env_var`, `mcp` ...
    pub kind: String,
    /// The name of the variable or server.
    pub value: String,
    /// The description for people.
    pub description: Option<String>,
    /// The transport of the server.
    pub transport: Option<String>,
    /// The command that starts the server.
    pub command: Option<String>,
    /// The address of the server.
    pub url: Option<String>,
}

/// The permissions that a skill's scripts ask for. The model does not see them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct SkillPermissions {
    /// Access to the network.
    pub network: bool,
    /// Access to files and folders.
    pub file_system: FilePermissions,
    /// Permissions that macOS guards.
    pub macos: MacPermissions,
}

/// Files that a skill's scripts ask for.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct FilePermissions {
    /// Paths that may be read.
    pub read: Vec<String>,
    /// Paths that may be written.
    pub write: Vec<String>,
}

/// Permissions that macOS guards.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct MacPermissions {
    /// Settings of the system.
    pub preferences: Option<String>,
    /// Programs that may be steered: one word for all or none, or their names.
    pub automations: Option<Automations>,
    /// Control of the screen.
    pub accessibility: bool,
    /// Access to the user's appointments.
    pub calendar: bool,
}

/// The programs that may be controlled.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum Automations {
    /// All programs, or none.
    Any(bool),
    /// The programs that a word such as `all` names.
    Word(String),
    /// The programs with these ids.
    Programs(Vec<String>),
}

/// Parses the metadata file of a skill.
///
/// # Errors
/// Why nothing of it can be used.
pub fn parse(text: &str) -> Result<SkillManifest, String> {
    let raw: RawFile = yaml_serde::from_str(text).map_err(|error| format!("invalid YAML: {error}"))?;
    Ok(SkillManifest {
        interface: raw.interface.map(interface).filter(|shown| *shown != SkillDisplay::default()),
        tools: raw.dependencies.unwrap_or_default().tools.into_iter().filter_map(tool).collect(),
        allow_implicit_invocation: raw.policy.and_then(|policy| policy.allow_implicit_invocation),
        permissions: raw.permissions,
    })
}

fn interface(raw: RawInterface) -> SkillDisplay {
    SkillDisplay {
        display_name: line(raw.display_name, NAME_CHARS_MAX),
        short_description: line(raw.short_description, DESCRIPTION_CHARS_MAX),
        icon_small: raw.icon_small.as_deref().and_then(asset),
        icon_large: raw.icon_large.as_deref().and_then(asset),
        brand_color: raw.brand_color.as_deref().and_then(color),
        default_prompt: line(raw.default_prompt, DESCRIPTION_CHARS_MAX),
    }
}

fn tool(raw: RawTool) -> Option<ToolDependency> {
    Some(ToolDependency {
        kind: line(raw.kind, NAME_CHARS_MAX)?,
        value: line(raw.value, DESCRIPTION_CHARS_MAX)?,
        description: line(raw.description, DESCRIPTION_CHARS_MAX),
        transport: line(raw.transport, NAME_CHARS_MAX),
        command: line(raw.command, DESCRIPTION_CHARS_MAX),
        url: line(raw.url, DESCRIPTION_CHARS_MAX),
    })
}

/// A text on one line, unless it is blank or too long.
fn line(text: Option<String>, max: usize) -> Option<String> {
    let line = one_line(&text?);
    (!line.is_empty() && line.chars().count() <= max).then_some(line)
}

/// A path within the folder of images, normalised.
fn asset(path: &str) -> Option<String> {
    let is_rooted = path.starts_with(['/', '\\']) || path.as_bytes().get(1) == Some(&b':');
    let steps: Vec<&str> = path.split('/').filter(|step| !matches!(*step, "" | ".")).collect();
    let is_inside = !is_rooted && !steps.contains(&"..") && steps.first() == Some(&ASSETS);
    is_inside.then(|| steps.join("/"))
}

fn color(text: &str) -> Option<String> {
    let text = text.trim();
    let digits = text.strip_prefix('#')?;
    (digits.len() == 6 && digits.bytes().all(|byte| byte.is_ascii_hexdigit())).then(|| text.to_owned())
}

#[derive(Deserialize)]
#[serde(expecting = "a mapping")]
struct RawFile {
    interface: Option<RawInterface>,
    dependencies: Option<RawDependencies>,
    policy: Option<RawPolicy>,
    permissions: Option<SkillPermissions>,
}

#[derive(Deserialize)]
#[serde(expecting = "a mapping")]
struct RawInterface {
    display_name: Option<String>,
    short_description: Option<String>,
    icon_small: Option<String>,
    icon_large: Option<String>,
    brand_color: Option<String>,
    default_prompt: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(expecting = "a mapping")]
struct RawDependencies {
    #[serde(default)]
    tools: Vec<RawTool>,
}

#[derive(Deserialize)]
#[serde(expecting = "a mapping")]
struct RawTool {
    #[serde(rename = "type")]
    kind: Option<String>,
    value: Option<String>,
    description: Option<String>,
    transport: Option<String>,
    command: Option<String>,
    url: Option<String>,
}

#[derive(Deserialize)]
#[serde(expecting = "a mapping")]
struct RawPolicy {
    allow_implicit_invocation: Option<bool>,
}

#[cfg(test)]
mod tests {
    use expect_test::Expect;
    use expect_test::expect;

    use super::*;

    #[track_caller]
    fn check_metadata(text: &str, expected: &Expect) {
        let actual = match parse(text) {
            Ok(metadata) => format!("{metadata:?}"),
            Err(error) => format!("error: {error}"),
        };
        expected.assert_eq(&actual);
    }

    #[test]
    fn every_field_is_read() {
        check_metadata(
            "
interface:
  display_name: ' Tidy   up '
  short_description: Tidies.
  icon_small: ./assets/small.png
  icon_large: assets//big/large.svg
  brand_color: ' #12aBcd '
  default_prompt: Tidy up, please.
dependencies:
  tools:
    - { type: mcp, value: files, description: Files., transport: stdio, command: files-server, url: 'http://h' }
    - { type: env_var, value: TOKEN }
policy:
  allow_implicit_invocation: false
permissions:
  network: true
  file_system: { read: [a], write: [b] }
  macos: { automations: true, calendar: true }
",
            &expect![[
                r##"SkillManifest { interface: Some(SkillDisplay { display_name: Some("Tidy up"), short_description: Some("Tidies."), icon_small: Some("assets/small.png"), icon_large: Some("assets/big/large.svg"), brand_color: Some("#12aBcd"), default_prompt: Some("Tidy up, please.") }), tools: [ToolDependency { kind: "mcp", value: "files", description: Some("Files."), transport: Some("stdio"), command: Some("files-server"), url: Some("http://h") }, ToolDependency { kind: "env_var", value: "TOKEN", description: None, transport: None, command: None, url: None }], allow_implicit_invocation: Some(false), permissions: Some(SkillPermissions { network: true, file_system: FilePermissions { read: ["a"], write: ["b"] }, macos: MacPermissions { preferences: None, automations: Some(Any(true)), accessibility: false, calendar: true } }) }"##
            ]],
        );
    }

    #[test]
    fn a_field_that_breaks_its_rule_is_not_there() {
        let nothing =
            expect!["SkillManifest { interface: None, tools: [], allow_implicit_invocation: None, permissions: None }"];
        check_metadata("{}", &nothing);
        check_metadata("interface: { display_name: '  ', short_description: '' }", &nothing);
        check_metadata(&format!("interface: {{ display_name: {} }}", "n".repeat(65)), &nothing);
        check_metadata(&format!("interface: {{ default_prompt: {} }}", "p".repeat(1025)), &nothing);
        for icon in ["/assets/a.png", "../assets/a.png", "assets/../a.png", "a.png", "''", "'C:/assets/a.png'"] {
            check_metadata(&format!("interface: {{ icon_small: {icon}, icon_large: {icon} }}"), &nothing);
        }
        for color in ["red", "'#12345'", "'#1234567'", "'#12345g'", "'123456'"] {
            check_metadata(&format!("interface: {{ brand_color: {color} }}"), &nothing);
        }
        for tool in ["{ type: mcp }", "{ value: x }", "{ type: ' ', value: x }", "{}"] {
            check_metadata(&format!("dependencies: {{ tools: [{tool}] }}"), &nothing);
        }
        check_metadata("policy: {}\nunknown: 1", &nothing);
    }

    #[test]
    fn a_file_of_another_form_is_refused() {
        check_metadata(
            "policy: [",
            &expect!["error: invalid YAML: policy: invalid type: sequence, expected a mapping at line 1 column 9"],
        );
        check_metadata(
            "policy: { allow_implicit_invocation: maybe }",
            &expect![
                "error: invalid YAML: policy.allow_implicit_invocation: invalid type: string \"maybe\", expected a boolean at line 1 column 38"
            ],
        );
    }
}
