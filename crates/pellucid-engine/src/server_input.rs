//! Prompts and resources of MCP servers in a person's input: which ones the person wants, and what the answers of the
//! servers become.
//!
//! `/mcp:SERVER:PROMPT WORDS` at the beginning of an input is replaced by the messages of the prompt. `@SERVER:URI` stays, and
//! the resource follows the input.
//!
//! Not here: asking the servers (`pellucid-agent`).

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use pellucid_protocol::input::UserInput;
use serde_json::Map;
use serde_json::Value;
use shlex::Shlex;

use crate::digest::Digest;
use crate::fragment::Origin;

/// How a command for a prompt of a server begins.
pub const COMMAND: &str = "/mcp:";

/// How many bytes of text a prompt or a resource may have.
const TEXT_BYTES_MAX: usize = 1 << 20;

/// How many bytes the images of a prompt or of a resource may have, encoded.
const IMAGE_BYTES_MAX: usize = 16 << 20;

/// How many resources one input can attach.
const RESOURCES_MAX: usize = 32;

/// Something that a server has and a person wants to send.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wanted {
    /// The messages of a prompt.
    Prompt {
        /// The server's name in the configuration.
        server: String,
        /// The name of the prompt.
        prompt: String,
        /// The arguments as they were typed.
        words: String,
    },
    /// The contents of a resource.
    Resource {
        /// The server's name in the configuration.
        server: String,
        /// The address of the resource.
        uri: String,
    },
}

/// Names what is wanted, for errors.
impl fmt::Display for Wanted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Prompt { server, prompt, .. } => write!(f, "the prompt `{prompt}` of the MCP server `{server}`"),
            Self::Resource { server, uri } => write!(f, "the resource `{uri}` of the MCP server `{server}`"),
        }
    }
}

/// What a person's input wants of servers, in its order. Commands count whatever server they name; an `@` counts only with
/// the name of a server that the session has.
///
/// # Errors
/// If there are too many.
pub fn wanted(inputs: &[UserInput], is_server: impl Fn(&str) -> bool) -> Result<Vec<Wanted>, String> {
    let mut all = Vec::new();
    for (at, text) in texts(inputs).enumerate() {
        match command(text).filter(|_| at == 0) {
            Some(prompt) => all.push(prompt),
            None => all.extend(attached(text, &is_server)),
        }
    }
    let mut once: Vec<Wanted> = Vec::new();
    for wanted in all {
        if !once.contains(&wanted) {
            once.push(wanted);
        }
    }
    match once.len() {
        n if n > RESOURCES_MAX => Err(format!("the input attaches {n} resources, and at most {RESOURCES_MAX} can be")),
        _ => Ok(once),
    }
}

fn texts(inputs: &[UserInput]) -> impl Iterator<Item = &str> {
    inputs.iter().filter_map(|input| match input {
        UserInput::Text { text, .. } => Some(text.as_str()),
        _ => None,
    })
}

/// The prompt that a text is the command for.
pub fn command(text: &str) -> Option<Wanted> {
    let rest = text.strip_prefix(COMMAND)?;
    let (name, words) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let (server, prompt) = name.split_once(':').filter(|(server, prompt)| !server.is_empty() && !prompt.is_empty())?;
    Some(Wanted::Prompt { server: server.to_owned(), prompt: prompt.to_owned(), words: words.trim().to_owned() })
}

/// The resources that a text attaches: words like `@SERVER:URI`.
fn attached(text: &str, is_server: &impl Fn(&str) -> bool) -> Vec<Wanted> {
    let words = text.split_whitespace().filter_map(|word| word.trim_start_matches(['(', '"', '\'']).strip_prefix('@'));
    let wanted = words.filter_map(|word| {
        let (server, uri) = word.split_once(':')?;
        // A mark at the end of a sentence is no part of the address.
        let uri = uri.trim_end_matches(['.', ',', ';', ':', '!', '?', ')', '"', '\'']);
        let is_wanted = is_server(server) && !uri.is_empty();
        is_wanted.then(|| Wanted::Resource { server: server.to_owned(), uri: uri.to_owned() })
    });
    wanted.collect()
}

/// The arguments of a prompt: `NAME=VALUE`, or values in the order in which the prompt declares its arguments; then the last
/// one takes all words that are left.
///
/// # Errors
/// If an argument is missing, or the prompt takes none.
pub fn arguments(declared: &Value, words: &str) -> Result<Map<String, Value>, String> {
    let declared = declared["arguments"].as_array().map_or(&[][..], Vec::as_slice);
    let names: Vec<&str> = declared.iter().filter_map(|argument| argument["name"].as_str()).collect();
    let words: Vec<String> = Shlex::new(words).collect();
    let named = |word: &String| {
        let (name, value) = word.split_once('=')?;
        names.contains(&name).then(|| (name.to_owned(), Value::from(value)))
    };
    let given: Map<String, Value> = match words.iter().map(named).collect::<Option<Map<_, _>>>() {
        Some(given) => given,
        None if names.is_empty() => return Err("takes no arguments".to_owned()),
        None => {
            let last = names.len() - 1;
            let value = |(at, name): (usize, &&str)| {
                let words = words.get(at..if at == last { words.len() } else { words.len().min(at + 1) })?;
                (!words.is_empty()).then(|| ((*name).to_owned(), Value::from(words.join(" "))))
            };
            names.iter().enumerate().filter_map(value).collect()
        }
    };
    let is_required = |argument: &&Value| argument["required"] == Value::Bool(true);
    let required = declared.iter().filter(is_required).filter_map(|argument| argument["name"].as_str());
    let missing: Vec<&str> = required.filter(|name| !given.contains_key(*name)).collect();
    match missing.as_slice() {
        [] => Ok(given),
        missing => Err(format!("needs `{}`; the arguments are {}", missing.join("`, `"), shape(&names))),
    }
}

/// The arguments of a prompt as they are typed.
fn shape(names: &[&str]) -> String {
    names.iter().map(|name| format!("{name}=…")).collect::<Vec<_>>().join(" ")
}

/// The arguments of a prompt as a hint for people; absent if it takes none.
pub fn hint(declared: &Value) -> Option<String> {
    let declared = declared["arguments"].as_array()?;
    let names: Vec<&str> = declared.iter().filter_map(|argument| argument["name"].as_str()).collect();
    (!names.is_empty()).then(|| shape(&names))
}

/// What a server gave for an input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Given {
    inputs: Vec<UserInput>,
    origin: Arc<str>,
}

impl Given {
    /// The messages of a prompt, as the server answered.
    ///
    /// # Errors
    /// If a message cannot be sent to a model, or there is none, or they are too large.
    pub fn prompt(server: &str, prompt: &str, answer: &Value) -> Result<Self, String> {
        let messages = answer["messages"].as_array().map_or(&[][..], Vec::as_slice);
        let inputs = messages.iter().map(|message| block(&message["content"])).collect::<Result<Vec<_>, _>>()?;
        let digest = Digest::of([answer["messages"].to_string().as_bytes()]);
        Self::bounded(inputs, "messages", format!("the MCP prompt {server}:{prompt}, sha256 {digest}"))
    }

    /// The contents of a resource, as the server answered.
    ///
    /// # Errors
    /// If they cannot be sent to a model, or there are none, or they are too large.
    pub fn resource(server: &str, uri: &str, answer: &Value) -> Result<Self, String> {
        let contents = answer["contents"].as_array().map_or(&[][..], Vec::as_slice);
        let inputs = contents.iter().map(resource).collect::<Result<Vec<_>, _>>()?;
        let digest = Digest::of([answer["contents"].to_string().as_bytes()]);
        Self::bounded(inputs, "contents", format!("the MCP resource {server}:{uri}, sha256 {digest}"))
    }

    fn bounded(inputs: Vec<UserInput>, what: &str, origin: String) -> Result<Self, String> {
        let (mut text, mut images) = (0, 0);
        for input in &inputs {
            match input {
                UserInput::Text { text: part, .. } => text += part.len(),
                UserInput::Image { image_url } => images += image_url.len(),
                _ => {}
            }
        }
        for (n_bytes, max, kind) in [(text, TEXT_BYTES_MAX, "text"), (images, IMAGE_BYTES_MAX, "images")] {
            if n_bytes > max {
                return Err(format!("has {n_bytes} bytes of {kind}, and at most {max} can be sent"));
            }
        }
        match inputs.len() {
            0 => Err(format!("has no {what}")),
            _ => Ok(Self { inputs, origin: origin.into() }),
        }
    }
}

/// A block of content, as an input.
fn block(content: &Value) -> Result<UserInput, String> {
    match content["type"].as_str().unwrap_or_default() {
        "text" => Ok(UserInput::text(content["text"].as_str().unwrap_or_default())),
        "image" => image(&content["mimeType"], &content["data"]),
        "resource" => resource(&content["resource"]),
        "resource_link" => Ok(UserInput::text(content["uri"].as_str().unwrap_or_default())),
        "" => Err("has a message without a type".to_owned()),
        other => Err(format!("has a message of the type `{other}`, which cannot be sent")),
    }
}

fn image(mime: &Value, data: &Value) -> Result<UserInput, String> {
    let (mime, data) = (mime.as_str().unwrap_or("no type"), data.as_str().unwrap_or_default());
    if !mime.starts_with("image/") {
        return Err(format!("has binary data of {mime}, which is no image"));
    }
    Ok(UserInput::Image { image_url: format!("data:{mime};base64,{data}") })
}

fn resource(contents: &Value) -> Result<UserInput, String> {
    match contents["text"].as_str() {
        Some(text) => Ok(UserInput::text(fenced(contents["uri"].as_str().unwrap_or_default(), text))),
        None => image(&contents["mimeType"], &contents["blob"]),
    }
}

/// A text below its name, between fences that are longer than any in it.
pub fn fenced(name: &str, text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or_default();
    let fence = "`".repeat(longest.max(2) + 1);
    let end = if text.ends_with('\n') { "" } else { "\n" };
    format!("{name}\n{fence}\n{text}{end}{fence}")
}

/// Which parts of an input servers gave, until the input is recorded.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GivenParts(BTreeMap<Digest, Arc<str>>);

impl GivenParts {
    /// Puts what servers gave into an input: the messages of a prompt in place of the command, resources behind the rest.
    pub fn place(&mut self, inputs: &[UserInput], given: Vec<(Wanted, Given)>) -> Vec<UserInput> {
        let mut placed = inputs.to_vec();
        for (wanted, Given { inputs, origin }) in given {
            for input in &inputs {
                if let UserInput::Text { text, .. } | UserInput::Image { image_url: text } = input {
                    self.0.insert(Digest::of([text.as_bytes()]), origin.clone());
                }
            }
            let command = placed.iter().position(|input| matches!(input, UserInput::Text { .. }));
            match command.filter(|_| matches!(wanted, Wanted::Prompt { .. })) {
                Some(at) => drop(placed.splice(at..=at, inputs)),
                None => placed.extend(inputs),
            }
        }
        placed
    }

    /// Whether no part is from a server.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The origin of a part of an input.
    pub fn origin(&self, part: &str) -> Origin {
        if self.is_empty() {
            return Origin::User;
        }
        let place = self.0.get(&Digest::of([part.as_bytes()]));
        place.map_or(Origin::User, |place| Origin::Provided { place: place.clone() })
    }

    /// Forgets all parts: the input is recorded.
    pub fn clear(&mut self) {
        self.0.clear();
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use serde_json::json;

    use super::*;

    fn wanted_of(texts: &[&str]) -> Result<Vec<String>, String> {
        let inputs: Vec<UserInput> = texts.iter().map(|text| UserInput::text(*text)).collect();
        let wanted = wanted(&inputs, |name| name == "docs")?;
        let words = |wanted: &Wanted| match wanted {
            Wanted::Prompt { words, .. } => format!("{wanted} [{words}]"),
            Wanted::Resource { .. } => wanted.to_string(),
        };
        Ok(wanted.iter().map(words).collect())
    }

    #[test]
    fn a_command_begins_an_input_and_a_resource_is_a_word() {
        for (texts, expected) in [
            (&["/mcp:docs:fix  a b\nc "][..], &["the prompt `fix` of the MCP server `docs` [a b\nc]"][..]),
            (&["/mcp:gone:fix"], &["the prompt `fix` of the MCP server `gone` []"]),
            (&["/mcp:docs:a:b"], &["the prompt `a:b` of the MCP server `docs` []"]),
            (&[" /mcp:docs:fix", "/mcp:docs:fix", "/mcp:", "/mcp:docs", "/mcp:docs:", "/mcp"], &[]),
            (
                &["See @docs:file:///a.md, (@docs:x://b?c=1).", "@docs:x://b?c=1"],
                &[
                    "the resource `file:///a.md` of the MCP server `docs`",
                    "the resource `x://b?c=1` of the MCP server `docs`",
                ],
            ),
            (&["@else:x://a a@docs:x://a @docs: @docs @docs:."], &[]),
            (&["/mcp:docs:fix @docs:x://a"], &["the prompt `fix` of the MCP server `docs` [@docs:x://a]"]),
        ] {
            assert_eq!(wanted_of(texts).unwrap(), expected, "{texts:?}");
        }
        let many: Vec<String> = (0..40).map(|n| format!("@docs:x://{n}")).collect();
        let error = wanted_of(&[many.join(" ").as_str()]).unwrap_err();
        assert_eq!(error, "the input attaches 40 resources, and at most 32 can be");
    }

    #[track_caller]
    fn check_arguments(words: &str, expected: Result<Value, &str>) {
        let declared = json!({"arguments": [{"name": "topic", "required": true}, {"name": "tone"}]});
        let given = arguments(&declared, words).map(Value::Object);
        assert_eq!(given, expected.map_err(str::to_owned), "{words:?}");
    }

    #[test]
    fn arguments_have_names_or_an_order() {
        check_arguments("topic=rust tone='very dry'", Ok(json!({"topic": "rust", "tone": "very dry"})));
        check_arguments("rust", Ok(json!({"topic": "rust"})));
        check_arguments("rust very dry", Ok(json!({"topic": "rust", "tone": "very dry"})));
        check_arguments("\"a b\" x=1", Ok(json!({"topic": "a b", "tone": "x=1"})));
        check_arguments("", Err("needs `topic`; the arguments are topic=… tone=…"));
        check_arguments("tone=dry", Err("needs `topic`; the arguments are topic=… tone=…"));
        assert_eq!(arguments(&json!({}), ""), Ok(Map::new()));
        assert_eq!(arguments(&json!({}), "x").unwrap_err(), "takes no arguments");
        assert_eq!(hint(&json!({"arguments": [{"name": "a"}, {"name": "b"}]})).as_deref(), Some("a=… b=…"));
        assert_eq!((hint(&json!({})), hint(&json!({"arguments": []}))), (None, None));
    }

    fn shown(given: Result<Given, String>) -> String {
        let given = match given {
            Ok(given) => given,
            Err(error) => return error,
        };
        let inputs = given.inputs.iter().map(|input| format!("\n{}", serde_json::to_string(input).unwrap()));
        format!("{}{}", given.origin, inputs.collect::<String>())
    }

    #[test]
    fn every_kind_of_content_is_an_input_or_refused() {
        let said = |content: Value| json!({"role": "user", "content": content});
        let answer = json!({"messages": [
            said(json!({"type": "text", "text": "Hi."})),
            said(json!({"type": "image", "mimeType": "image/png", "data": "AA=="})),
            said(json!({"type": "resource", "resource": {"uri": "x://a", "text": "a ``` b"}})),
            said(json!({"type": "resource_link", "uri": "x://b", "name": "b"})),
        ]});
        expect![[r#"
            the MCP prompt docs:fix, sha256 320b519b6df663b473129a32bcb2843f080d829b31aabb676f93289332b26ec5
            {"type":"text","text":"Hi.","text_elements":[]}
            {"type":"image","image_url":"data:image/png;base64,AA=="}
            {"type":"text","text":"x://a\n````\na ``` b\n````","text_elements":[]}
            {"type":"text","text":"x://b","text_elements":[]}"#]]
        .assert_eq(&shown(Given::prompt("docs", "fix", &answer)));
        let audio = json!({"messages": [said(json!({"type": "audio", "mimeType": "audio/wav", "data": ""}))]});
        for (answer, expected) in [
            (audio, "has a message of the type `audio`, which cannot be sent"),
            (json!({"messages": []}), "has no messages"),
            (json!({}), "has no messages"),
        ] {
            assert_eq!(shown(Given::prompt("docs", "fix", &answer)), expected);
        }
        let large = |kind: &str, n: usize| json!({"contents": [{"uri": "x://a", "mimeType": "image/png", kind: "a".repeat(n)}]});
        for (answer, expected) in [
            (
                json!({"contents": [{"uri": "x://a", "blob": "AA==", "mimeType": "text/x"}]}),
                "has binary data of text/x, which is no image",
            ),
            (json!({"contents": []}), "has no contents"),
            (large("text", 1 << 20), "has 1048590 bytes of text, and at most 1048576 can be sent"),
            (large("blob", 16 << 20), "has 16777238 bytes of images, and at most 16777216 can be sent"),
        ] {
            assert_eq!(shown(Given::resource("docs", "x://a", &answer)), expected);
        }
    }

    #[test]
    fn a_prompt_takes_the_place_of_its_command_and_resources_follow() {
        let image = UserInput::LocalImage { path: "/i.png".into() };
        let prompt = json!({"messages": [{"content": {"type": "text", "text": "Hi."}}]});
        let read = json!({"contents": [{"uri": "x://a", "text": "t"}]});
        let wants = |inputs: &[UserInput]| wanted(inputs, |_| true).unwrap();
        let given = |wanted: Wanted| {
            let given = match &wanted {
                Wanted::Prompt { server, prompt: name, .. } => Given::prompt(server, name, &prompt),
                Wanted::Resource { server, uri } => Given::resource(server, uri, &read),
            };
            (wanted, given.unwrap())
        };
        let mut parts = GivenParts::default();
        assert_eq!(parts.origin("Hi."), Origin::User);
        let inputs = [image.clone(), UserInput::text("/mcp:docs:fix"), UserInput::text("See @docs:x://a")];
        let placed = parts.place(&inputs, wants(&inputs).into_iter().map(given).collect());
        let resource = "x://a\n```\nt\n```";
        let expected = [image, UserInput::text("Hi."), UserInput::text("See @docs:x://a"), UserInput::text(resource)];
        assert_eq!(placed, expected);
        let detail = |part: &str| parts.origin(part).detail().split(", ").next().unwrap().to_owned();
        assert_eq!(
            (detail("Hi."), detail(resource)),
            ("the MCP prompt docs:fix".into(), "the MCP resource docs:x://a".into())
        );
        assert_eq!(parts.origin("See @docs:x://a"), Origin::User);
        parts.clear();
        assert_eq!(parts.origin("Hi."), Origin::User);
    }
}
