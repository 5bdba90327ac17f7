//! Which logins the configuration allows, and what happens to the others.

use expect_test::Expect;
use expect_test::expect;
use pellucid_agent::login;
use pellucid_config::Config;
use pellucid_config::Env;
use pellucid_config::LoadOptions;
use pellucid_config::SystemPaths;
use pellucid_model::Secret;
use pellucid_testkit::Workspace;

const KEY: &str = r#"{"auth_mode":"apikey","OPENAI_API_KEY":"sk-stored"}"#;
const ACCOUNT: &str = r#"{"auth_mode":"chatgpt","OPENAI_API_KEY":null,"tokens":{"id_token":"e30.e30.e30","access_token":"at","refresh_token":"rt","account_id":"w1"}}"#;

fn load(workspace: &Workspace, config: &str) -> Config {
    workspace.write("home/config.toml", config);
    let mut options = LoadOptions::new(workspace.folder("work"), workspace.path("home"), Env::from_pairs([]));
    options.system = SystemPaths::in_folder(&workspace.folder("etc"));
    pellucid_config::load(&options).unwrap()
}

/// Begins with this file, asks whether the login is allowed, and shows what is left.
#[track_caller]
fn check_enforced(config: &str, stored: Option<&str>, variable: Option<&str>, expected: &Expect) {
    let workspace = Workspace::empty();
    let config = load(&workspace, config);
    if let Some(text) = stored {
        workspace.write("home/auth.json", text);
    }
    let env = Env::from_pairs(variable.map(|key| ("CODEX_API_KEY", key)));
    let outcome = login::enforce(&config, &env).map_or_else(|error| error.to_string(), |()| "allowed".to_owned());
    let is_left = workspace.path("home/auth.json").exists();
    expected.assert_eq(&format!("{outcome}; stored: {is_left}"));
}

#[test]
fn a_login_of_the_wrong_kind_is_removed() {
    let chatgpt = "forced_login_method = 'chatgpt'";
    let api = "forced_login_method = 'api'";
    check_enforced(api, Some(KEY), None, &expect!["allowed; stored: true"]);
    check_enforced(
        api,
        Some(ACCOUNT),
        None,
        &expect!["API key login is required (forced_login_method), but a ChatGPT login is in use; stored: false"],
    );
    check_enforced(chatgpt, Some(ACCOUNT), None, &expect!["allowed; stored: true"]);
    check_enforced(
        chatgpt,
        Some(KEY),
        None,
        &expect!["ChatGPT login is required (forced_login_method), but an API key is in use; stored: false"],
    );
    check_enforced(
        chatgpt,
        Some(ACCOUNT),
        Some("sk-env"),
        &expect!["ChatGPT login is required (forced_login_method), but an API key is in use; stored: false"],
    );
    check_enforced(chatgpt, None, None, &expect!["allowed; stored: false"]);
    check_enforced(chatgpt, Some("{"), None, &expect!["allowed; stored: true"]);
    check_enforced("", Some(ACCOUNT), None, &expect!["allowed; stored: true"]);
}

#[test]
fn a_login_of_another_workspace_is_removed() {
    let own = "forced_chatgpt_workspace_id = 'w1'";
    let other = "forced_chatgpt_workspace_id = 'w2'";
    check_enforced(own, Some(ACCOUNT), None, &expect!["allowed; stored: true"]);
    check_enforced(
        other,
        Some(ACCOUNT),
        None,
        &expect![
            "Login is restricted to workspace w2 (forced_chatgpt_workspace_id), but the stored login belongs to w1; stored: false"
        ],
    );
    check_enforced(
        other,
        Some("{}"),
        None,
        &expect![
            "Login is restricted to workspace w2 (forced_chatgpt_workspace_id), but the stored login belongs to none that is known; stored: false"
        ],
    );
    check_enforced(other, Some(KEY), None, &expect!["allowed; stored: true"]);
}

/// Logs in, looks, and logs out again under a configuration.
#[track_caller]
fn check_store(config: &str, expected: &Expect) {
    let workspace = Workspace::empty();
    let config = load(&workspace, config);
    let key = Secret::new(" sk-1 \n");
    let shown = format!(
        "{:?}\n{:?}\n{:?}\n{:?}\n",
        login::log_in(&config, &key),
        login::stored(&config),
        login::session_key(&config, &Env::from_pairs([])).is_some(),
        login::log_out(&config),
    );
    expected.assert_eq(&shown.replace(&workspace.root().display().to_string(), "ROOT"));
}

#[test]
fn the_store_of_the_configuration_is_used_or_refused_by_name() {
    check_store(
        "",
        &expect![[r#"
        Ok(InFile)
        Ok(Some(ApiKey([secret])))
        true
        Ok(Yes)
    "#]],
    );
    check_store(
        "cli_auth_credentials_store = 'auto'",
        &expect![[r#"
        Ok(InFile)
        Ok(Some(ApiKey([secret])))
        true
        Ok(Yes)
    "#]],
    );
    check_store(
        "cli_auth_credentials_store = 'ephemeral'",
        &expect![[r#"
        Ok(Nowhere)
        Ok(None)
        false
        Ok(WasNotThere)
    "#]],
    );
    check_store(
        "cli_auth_credentials_store = 'keyring'",
        &expect![[r#"
        Err(NoKeyring { file: "ROOT/home/auth.json" })
        Err(NoKeyring { file: "ROOT/home/auth.json" })
        false
        Err(NoKeyring { file: "ROOT/home/auth.json" })
    "#]],
    );
    check_store(
        "forced_login_method = 'chatgpt'",
        &expect![[r#"
        Err(KeyDisabled)
        Ok(None)
        false
        Ok(WasNotThere)
    "#]],
    );
}

#[test]
fn the_stored_key_is_used_trimmed_and_an_empty_one_is_refused() {
    let workspace = Workspace::empty();
    let config = load(&workspace, "");
    login::log_in(&config, &Secret::new("\tsk-1\r\n")).unwrap();
    let key = login::session_key(&config, &Env::from_pairs([])).unwrap();
    assert_eq!(key.reveal(), "sk-1");
    let key = login::session_key(&config, &Env::from_pairs([("CODEX_API_KEY", "sk-2")])).unwrap();
    assert_eq!(key.reveal(), "sk-2");
    assert_eq!(login::log_in(&config, &Secret::new(" ")).unwrap_err().to_string(), "the API key is empty");
}
