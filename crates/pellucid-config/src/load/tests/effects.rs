//! Every key, changed: a key that the program reads changes the configuration, and one that is accepted and not used
//! changes nothing. Every default, written out: it changes nothing either.
//!
//! Not here: whether the rest of the program reads a field of the configuration. A tidy rule looks for that.

use super::*;
use crate::keys;
use crate::keys::Key;
use crate::keys::Scope;
use crate::keys::ValueKind;

/// All values of a configuration, without the layers that they came from.
fn meaning(config: &Config) -> String {
    let Config {
        folders,
        profile,
        model,
        prompt,
        compaction,
        limits,
        documents,
        permissions,
        features,
        tools,
        shell_environment,
        records,
        otel,
        login,
        display,
        terminal,
        servers,
        requirements: _,
        noticed: Noticed { warnings: _, disallowed, deprecations, unstable_features },
        layers: _,
    } = config;
    // What is absent in a provider or server has a default that its type gives.
    let (mut model, mut tools) = (model.clone(), tools.clone());
    for server in tools.mcp_servers.values_mut() {
        server.startup_timeout = Some(server.startup_limit());
        server.tool_timeout = Some(server.tool_limit());
    }
    for provider in model.providers.values_mut().chain([&mut model.provider]) {
        provider.request_max_retries = Some(provider.request_retries());
        provider.stream_max_retries = Some(provider.stream_retries());
        provider.stream_idle_timeout_ms = Some(provider.idle_timeout_ms());
        provider.chat_developer_role = Some(provider.chat_developer_role.unwrap_or_default());
        provider.cache_seconds = provider.cache_kept().map(|time| time.as_secs());
    }
    let settings =
        (model, prompt, compaction, documents, permissions, tools, shell_environment, records, (login, otel, servers));
    format!(
        "{settings:?} {limits:?} {folders:?} {profile:?} {features:?} {display:?} {terminal:?} {disallowed:?} \
         {deprecations:?} {unstable_features:?}"
    )
}

/// Different values of a kind.
fn values(kind: &ValueKind) -> Vec<String> {
    match kind {
        ValueKind::String => vec!["'some text'".to_owned()],
        ValueKind::Path | ValueKind::NameOrPath => vec!["'$R/home/some.md'".to_owned()],
        ValueKind::Bool => vec!["true".to_owned(), "false".to_owned()],
        ValueKind::Float => vec!["1.5".to_owned()],
        ValueKind::Integer(bounds) => {
            [7, bounds.min.max(1)].into_iter().filter(|it| *it <= bounds.max).map(|it| it.to_string()).collect()
        }
        ValueKind::Words(words) => words.words.iter().map(|word| format!("'{word}'")).collect(),
        ValueKind::List(item) => values(item).into_iter().map(|value| format!("[{value}]")).collect(),
        ValueKind::Map(item) => values(item).into_iter().map(|value| format!("{{ some = {value} }}")).collect(),
        ValueKind::Either(one, other) => values(one).into_iter().chain(values(other)).collect(),
    }
}

/// What else a file must contain for a key to have an effect, by the beginning of the key's path.
fn company(path: &str) -> &'static str {
    const COMPANY: &[(&str, &str)] = &[
        ("model_providers.<id>.name", ""),
        ("model_providers.", "model_provider = 'some'\nmodel_providers.some.name = 'a'\n"),
        ("mcp_servers.<name>.command", ""),
        ("mcp_servers.<name>.url", ""),
        ("mcp_servers.<name>.bearer_token_env_var", "mcp_servers.some.url = 'http://localhost'\n"),
        ("mcp_servers.<name>.http_headers", "mcp_servers.some.url = 'http://localhost'\n"),
        ("mcp_servers.<name>.env_http_headers", "mcp_servers.some.url = 'http://localhost'\n"),
        ("mcp_servers.<name>.oauth.", "mcp_servers.some.url = 'http://localhost'\n"),
        ("mcp_servers.", "mcp_servers.some.command = 'a'\n"),
        ("sandbox_workspace_write.", "sandbox_mode = 'workspace-write'\n"),
        ("history.max_bytes", "history.persistence = 'none'\n"),
        ("suppress_unstable_features_warning", "features.memory_tool = true\n"),
        ("profile", "profiles.'some text'.model = 'm'\n"),
        ("model_provider", "model_providers.'some text'.name = 'a'\n"),
    ];
    let found = COMPANY.iter().find(|(beginning, _)| match beginning.ends_with('.') {
        true => path.starts_with(beginning),
        false => path == *beginning,
    });
    found.map_or("", |(_, text)| text)
}

/// The key in a file, with a value; a profile's key in the active profile.
fn written(key: &Key, value: &str) -> String {
    let path = match key.path {
        "features.<key>" => "features.sqlite".to_owned(),
        "projects.<path>.trust_level" => "projects.'$R/work'.trust_level".to_owned(),
        "tui.keymap.<place>.<action>" => "tui.keymap.some.some".to_owned(),
        path => path.replace("<id>", "some").replace("<name>", "some").replace("<role>", "some"),
    };
    let company = company(key.path);
    match (path.split_once("[]."), key.scope) {
        (Some((list, "path")), _) => format!("{company}[[{list}]]\npath = {value}\nenabled = false\n"),
        (Some((list, name)), _) => format!("{company}[[{list}]]\npath = 'p'\n{name} = {value}\n"),
        (None, Scope::ProfileOnly) => format!("profile = 'p'\nprofiles.p.{path} = {value}\n"),
        (None, _) if path.contains(".otlp-") => {
            let (exporter, name) = path.rsplit_once('.').unwrap_or_default();
            let rest = [("endpoint", "'a'"), ("protocol", "'json'")].into_iter().filter(|(it, _)| *it != name);
            let rest: String = rest.map(|(name, value)| format!("{exporter}.{name} = {value}\n")).collect();
            format!("{rest}{exporter}.{name} = {value}\n")
        }
        (None, _) => format!("{company}{path} = {value}\n"),
    }
}

/// What comes of these values of a key, and of the file without it. `None` for a value that is refused.
fn meanings(key: &Key, values: &[String]) -> (String, Vec<Option<String>>) {
    let of = |text: &str| {
        // The working directory is below a folder with a marker.
        let files = [("home/config.toml", text), ("home/some.md", "text"), ("work/some text", "")];
        let world = world(&files).cwd(if key.path == "project_root_markers" { "work/below" } else { "work" });
        let meaning = load(&world.options).ok().map(|config| meaning(&config));
        meaning.map(|it| it.replace(world.root.to_str().unwrap(), "$R"))
    };
    let without = match key.scope {
        Scope::ProfileOnly => "profile = 'p'\n[profiles.p]\n",
        _ => company(key.path),
    };
    let with = values.iter().map(|value| of(&written(key, value))).collect();
    (of(without).unwrap(), with)
}

#[test]
fn keys_have_the_effect_that_the_table_says() {
    /// Keys whose every value is refused, with a message that says what to write instead.
    const REFUSED: &[&str] = &["mcp_servers.<name>.bearer_token"];
    let mut problems = Vec::new();
    for key in keys::all() {
        let (without, with) = meanings(key, &values(&key.kind));
        let is_refused = with.iter().all(Option::is_none);
        let has_effect = with.iter().flatten().any(|it| *it != without);
        if is_refused != REFUSED.contains(&key.path) {
            problems.push(format!("{}: no value is accepted", key.path));
        } else if !is_refused && has_effect == key.not_used.is_some() {
            let what = if has_effect { "has an effect and is marked as not used" } else { "has no effect" };
            problems.push(format!("{}: {what}", key.path));
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

/// A default of the table as a file has it.
fn default_in_file(key: &Key) -> Option<String> {
    let value = key.default_value()?;
    Some(match key.kind {
        ValueKind::String | ValueKind::Path | ValueKind::NameOrPath | ValueKind::Words(_) => format!("'{value}'"),
        _ => value.to_owned(),
    })
}

#[test]
fn a_file_with_a_default_says_what_no_file_says() {
    let mut problems = Vec::new();
    for key in keys::all().filter(|key| key.not_used.is_none()) {
        let Some(value) = default_in_file(key) else { continue };
        let (without, with) = meanings(key, std::slice::from_ref(&value));
        match &with[0] {
            None => problems.push(format!("{}: its default {value} is refused", key.path)),
            Some(with) if *with != without => problems.push(format!("{}: {value} is not the default", key.path)),
            Some(_) => {}
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

/// One word that is not in backticks would be a value that the test above does not see.
#[test]
fn a_default_is_a_value_or_described_in_words() {
    let described = keys::all().filter(|key| key.default_value().is_none() && !key.default.is_empty());
    let wrong: Vec<_> = described.filter(|key| !key.default.contains(' ')).map(|key| key.path).collect();
    assert_eq!(wrong, [""; 0]);
}
