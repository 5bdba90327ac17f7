use proptest::prelude::*;

use super::*;

const ID: &str = "019a0000-0000-7000-8000-000000000001";
const SESSION: &str = "sessions/2026/01/02/rollout-2026-01-02T03-04-05-019a0000-0000-7000-8000-000000000001.jsonl";

/// The file of a capsule with this data, whether it is allowed or not.
fn packed(json: &[u8]) -> Vec<u8> {
    let mut packed = GzBuilder::new().write(Vec::new(), Compression::fast());
    packed.write_all(json).unwrap();
    format!("<p>{BLOCK_BEGIN}{}{BLOCK_END}", BASE64_STANDARD.encode(packed.finish().unwrap())).into_bytes()
}

/// Why a capsule with these files is refused.
#[track_caller]
fn check_refused(made: &Capsule, expected: &str) {
    let error = Capsule::from_html(&packed(&serde_json::to_vec(made).unwrap())).unwrap_err();
    assert_eq!(error.to_string(), expected);
    let made = made.to_block().unwrap_err();
    assert_eq!(made.to_string(), expected, "what cannot be opened is not written");
}

fn capsule(files: &[(&str, &str)]) -> Capsule {
    Capsule {
        schema: SCHEMA.to_owned(),
        program: "1".to_owned(),
        system: CapsuleSystem { os: "linux".to_owned(), arch: "x".to_owned() },
        session: ID.to_owned(),
        request: None,
        redact: "secrets".to_owned(),
        blanks: 0,
        config_keys: Vec::new(),
        settings: BTreeMap::new(),
        files: files
            .iter()
            .chain(&[(SESSION, "")])
            .map(|(path, text)| ((*path).to_owned(), (*text).to_owned()))
            .collect(),
    }
}

#[test]
fn a_block_in_a_message_is_not_the_data() {
    let fake = format!("{BLOCK_BEGIN}AAAA{BLOCK_END}");
    let made = capsule(&[("sessions/a.jsonl", "x")]);
    let html = format!("<p>{fake}</p>{}</body>", made.to_block().unwrap());
    assert_eq!(Capsule::from_html(html.as_bytes()).unwrap(), made);
}

#[test]
fn paths_lead_into_folders_of_sessions_and_nowhere_else() {
    for path in ["sessions/2026/01/02/rollout-a.jsonl", "requests/parts/ab/abcd", "archived_sessions/x.jsonl"] {
        let html = capsule(&[(path, "x")]).to_block().unwrap();
        assert!(Capsule::from_html(html.as_bytes()).is_ok(), "{path}");
    }
    for path in [
        "/etc/passwd",
        "sessions/../config.toml",
        "sessions/a/../../auth.json",
        "./sessions/x",
        "config.toml",
        "auth.json",
        "script.toml",
        "sessions",
        "sessions//x",
        "sessions/.x",
        "rules/x.rules",
        "sessions/a\\b",
        "sessions/a:b",
        "sessions/a\0b",
        "sessions/\u{202e}x",
        "",
    ] {
        check_refused(
            &capsule(&[(path, "x")]),
            &format!("it has a file that does not belong into a home folder: {path}"),
        );
    }
    let long = format!("sessions/{}", "x/".repeat(300) + "x");
    assert!(matches!(capsule(&[(&long, "x")]).to_block(), Err(CapsuleError::Path(_))));
}

#[test]
fn two_files_for_one_path_are_refused() {
    check_refused(&capsule(&[("sessions/a", "x"), ("sessions/A", "y")]), "it has two files for one path: sessions/a");
    check_refused(&capsule(&[("sessions/a", "x"), ("sessions/a/b", "y")]), "it has two files for one path: sessions/a");
    let json = serde_json::to_string(&capsule(&[("sessions/a", "x")])).unwrap();
    let twice = json.replace("\"sessions/a\":\"x\"", "\"sessions/a\":\"x\",\"sessions/a\":\"y\"");
    let error = Capsule::from_html(&packed(twice.as_bytes())).unwrap_err().to_string();
    assert!(error.starts_with("its data is damaged: the file sessions/a is there twice"), "{error}");
}

#[test]
fn a_bomb_ends_at_the_limit() {
    let html = packed(&vec![b' '; 1 << 20]);
    assert!(html.len() < 16 << 10, "{}", html.len());
    let error = Capsule::from_html_within(&html, 1 << 16).unwrap_err();
    assert_eq!(error.to_string(), "its data has more than 65536 bytes");
    assert_eq!(BYTES_MAX, 512 << 20);
}

#[test]
fn settings_are_words_and_nothing_that_runs() {
    let config = "model = \"gpt-5.1\"\npack = \"../x\"\nnotify = [\"sh\"]\nmodel_reasoning_effort = \"low\"\n";
    let found = settings(config);
    assert_eq!(found.keys().collect::<Vec<_>>(), ["model", "model_reasoning_effort"]);
    let mut made = capsule(&[]);
    made.settings = [("model", "a\"\nnotify = [\"sh\"]"), ("notify", "sh"), ("pack", "ads")]
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .into();
    assert_eq!(made.config(), "pack = \"ads\"\n");
}

#[test]
fn a_capsule_has_the_file_of_its_session() {
    let other = Capsule { session: "x; rm -rf ~".to_owned(), ..capsule(&[]) };
    check_refused(&other, "it has no session file of the session `x; rm -rf ~`");
    let none = Capsule { files: BTreeMap::from([("requests/a".to_owned(), String::new())]), ..capsule(&[]) };
    check_refused(&none, &format!("it has no session file of the session `{ID}`"));
    assert_eq!(capsule(&[]).session_path(), Some(SESSION));
}

#[test]
fn too_many_files_are_refused() {
    let mut many = capsule(&[]);
    many.files.extend((0..FILES_MAX).map(|n| (format!("requests/parts/{n}"), String::new())));
    check_refused(&many, "it has 100001 files, and a capsule has at most 100000");
}

#[test]
fn what_is_no_capsule_is_refused_with_its_reason() {
    assert!(matches!(Capsule::from_html(b"<html>"), Err(CapsuleError::NoBlock)));
    let broken = format!("{BLOCK_BEGIN}AAAA{BLOCK_END}");
    assert!(matches!(Capsule::from_html(broken.as_bytes()), Err(CapsuleError::Damaged(_))));
    let later = Capsule { schema: "pellucid.capsule/9".to_owned(), ..capsule(&[]) };
    let html = later.to_block().unwrap();
    assert!(matches!(Capsule::from_html(html.as_bytes()), Err(CapsuleError::Form(_))));
}

#[test]
fn keys_of_a_configuration_come_without_values_and_without_the_users_names() {
    let text = "model = \"m\"\n[projects.\"/home/ada\"]\ntrust_level = \"x\"\n[mcp_servers.a]\ncommand = \"c\"\n[mcp_servers.a.env]\nMY_KEY = \"s\"\n";
    assert_eq!(config_keys(text), ["mcp_servers.a.command", "mcp_servers.a.env", "model", "projects"]);
    assert!(config_keys("=").is_empty());
}

proptest! {
    #[test]
    fn what_goes_in_comes_out(text in any::<String>(), said in any::<String>()) {
        let made = capsule(&[("sessions/a.jsonl", &text)]);
        let html = format!("<p>{said}</p>{}</body>", made.to_block().unwrap());
        prop_assert_eq!(&Capsule::from_html(html.as_bytes()).unwrap(), &made);
        prop_assert_eq!(format!("<p>{said}</p>{}</body>", made.to_block().unwrap()), html);
    }
}
