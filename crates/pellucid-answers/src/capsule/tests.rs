use proptest::prelude::*;

use super::*;

fn capsule(files: &[(&str, &str)]) -> Capsule {
    Capsule {
        schema: SCHEMA.to_owned(),
        program: "1".to_owned(),
        system: CapsuleSystem { os: "linux".to_owned(), arch: "x".to_owned() },
        session: "S".to_owned(),
        request: None,
        redact: "secrets".to_owned(),
        blanks: 0,
        config_keys: Vec::new(),
        files: files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect(),
    }
}

fn page(text: &str) -> CapsulePage {
    let said = Utterance { role: text.to_owned(), what: text.to_owned(), text: text.to_owned() };
    let row = CapsuleRow { model: text.to_owned(), verdict: text.to_owned(), ..CapsuleRow::default() };
    CapsulePage { title: text.to_owned(), requests: vec![row], said: vec![said] }
}

#[test]
fn hostile_text_stays_text() {
    let hostile = "</script><script>alert(1)</script> <img src=x onerror=1> ' onclick=\"1\" javascript:1 \u{202e}";
    let html = capsule(&[]).to_html(&page(hostile)).unwrap();
    assert_eq!(html.matches("<script").count(), 1, "only the block with the data");
    for word in ["<img", "\"1\"", "' on", "\u{202e}"] {
        assert!(!html.contains(word), "{word}");
    }
    assert!(html.contains("default-src 'none'"));
}

#[test]
fn a_block_in_a_message_is_not_the_data() {
    let fake = format!("{BLOCK_BEGIN}AAAA{BLOCK_END}");
    let made = capsule(&[("sessions/a.jsonl", "x")]);
    let html = made.to_html(&page(&fake)).unwrap();
    assert_eq!(Capsule::from_html(html.as_bytes()).unwrap(), made);
}

#[test]
fn paths_lead_into_folders_of_sessions_and_nowhere_else() {
    for path in ["sessions/2026/01/02/rollout-a.jsonl", "requests/parts/ab/abcd", "archived_sessions/x.jsonl"] {
        let html = capsule(&[(path, "x")]).to_html(&CapsulePage::default()).unwrap();
        assert!(Capsule::from_html(html.as_bytes()).is_ok(), "{path}");
    }
    for path in [
        "/etc/passwd",
        "sessions/../config.toml",
        "config.toml",
        "auth.json",
        "sessions",
        "sessions//x",
        "sessions/.x",
        "rules/x.rules",
        "sessions/a\\b",
        "",
    ] {
        let html = capsule(&[(path, "x")]).to_html(&CapsulePage::default()).unwrap();
        assert!(matches!(Capsule::from_html(html.as_bytes()), Err(CapsuleError::Path(_))), "{path}");
    }
}

#[test]
fn what_is_no_capsule_is_refused_with_its_reason() {
    assert!(matches!(Capsule::from_html(b"<html>"), Err(CapsuleError::NoBlock)));
    let broken = format!("{BLOCK_BEGIN}AAAA{BLOCK_END}");
    assert!(matches!(Capsule::from_html(broken.as_bytes()), Err(CapsuleError::Damaged(_))));
    let later = Capsule { schema: "pellucid.capsule/9".to_owned(), ..capsule(&[]) };
    let html = later.to_html(&CapsulePage::default()).unwrap();
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
        let html = made.to_html(&page(&said)).unwrap();
        prop_assert_eq!(&Capsule::from_html(html.as_bytes()).unwrap(), &made);
        prop_assert_eq!(made.to_html(&page(&said)).unwrap(), html);
    }
}
