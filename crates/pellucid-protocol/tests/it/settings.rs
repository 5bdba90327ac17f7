//! Settings are read and written in the spellings of files.

use pellucid_protocol::feature::Feature;
use pellucid_protocol::feature::Features;
use pellucid_protocol::provider::Provider;
use pellucid_protocol::settings::ApprovalPolicy;
use pellucid_protocol::settings::ReasoningEffort;
use pellucid_protocol::settings::SandboxPolicy;

#[track_caller]
fn check_policy(json: &str) {
    let policy: SandboxPolicy = serde_json::from_str(json).unwrap();
    assert_eq!(serde_json::to_string(&policy).unwrap(), json);
}

#[test]
fn sandbox_policies_are_tagged_objects() {
    check_policy(r#"{"type":"read-only"}"#);
    check_policy(r#"{"type":"danger-full-access"}"#);
    check_policy(r#"{"type":"external-sandbox","network_access":"restricted"}"#);
    check_policy(
        r#"{"type":"workspace-write","network_access":false,"exclude_tmpdir_env_var":false,"exclude_slash_tmp":true}"#,
    );
    check_policy(
        r#"{"type":"workspace-write","writable_roots":["/opt"],"network_access":true,"exclude_tmpdir_env_var":true,"exclude_slash_tmp":false}"#,
    );
}

#[test]
fn words_are_read_and_written_alike() {
    for (value, word) in ApprovalPolicy::ALL.iter().zip(ApprovalPolicy::WORDS) {
        assert_eq!(value.as_str(), *word);
        assert_eq!(ApprovalPolicy::from_word(word), Some(*value));
        assert_eq!(serde_json::to_string(value).unwrap(), format!("\"{word}\""));
    }
    assert_eq!(ReasoningEffort::from_word("huge"), None);
}

#[test]
fn the_beta_header_names_experimental_features_in_table_order() {
    let mut features = Features::default();
    features.set(Feature::Apps, true);
    features.set(Feature::MultiAgent, true);
    features.set(Feature::JsRepl, true);
    assert_eq!(features.beta_keys().collect::<Vec<_>>(), ["multi_agent", "apps"]);
}

#[test]
fn azure_is_known_by_name_or_address() {
    let provider = |name: &str, url: &str| Provider {
        name: name.to_owned(),
        base_url: Some(url.to_owned()),
        ..Provider::default()
    };
    assert!(provider("Azure", "http://127.0.0.1").is_azure());
    assert!(provider("x", "https://y.openai.azure.com/v1").is_azure());
    assert!(!provider("x", "https://api.openai.com/v1").is_azure());
}
