use expect_test::Expect;
use expect_test::expect;
use pellucid_testkit::Workspace;

use super::*;

/// A token whose payload is this.
fn token(payload: &str) -> String {
    format!("e30.{}.c2ln", URL_SAFE_NO_PAD.encode(payload))
}

/// Reads a file with this content and shows the result, with the folder's path blanked.
#[track_caller]
fn check_read(text: &str, expected: &Expect) {
    let home = Workspace::empty();
    home.write(FILE_NAME, text);
    let shown = match AuthFile::in_home(home.root()).read() {
        Ok(stored) => format!("{stored:#?}"),
        Err(error) => format!("error: {error}"),
    };
    expected.assert_eq(&shown.replace(&home.root().display().to_string(), "HOME"));
}

fn written(home: &Workspace, key: &str) -> String {
    AuthFile::in_home(home.root()).write_api_key(&Secret::new(key)).unwrap();
    home.read(FILE_NAME)
}

#[test]
fn a_key_is_stored_as_the_codex_cli_stores_it() {
    let home = Workspace::empty();
    expect![[r#"
        {
          "auth_mode": "apikey",
          "OPENAI_API_KEY": "sk-1"
        }"#]]
    .assert_eq(&written(&home, "sk-1"));
    let stored = AuthFile::in_home(home.root()).read().unwrap();
    assert_eq!(stored, Some(StoredLogin::ApiKey(Secret::new("sk-1"))));
}

#[test]
fn storing_a_key_drops_tokens_and_leaves_nothing_else_behind() {
    let home = Workspace::empty();
    home.write(FILE_NAME, r#"{"auth_mode":"chatgpt","OPENAI_API_KEY":null,"tokens":null}"#);
    assert!(!written(&home, "sk-2").contains("tokens"));
    let names: Vec<_> = fs::read_dir(home.root()).unwrap().map(|it| it.unwrap().file_name()).collect();
    assert_eq!(names, [FILE_NAME]);
}

#[test]
fn a_home_that_is_not_there_is_made() {
    let home = Workspace::empty();
    let file = AuthFile::in_home(&home.path("a/b"));
    file.write_api_key(&Secret::new("sk-1")).unwrap();
    assert!(file.path().is_file());
}

#[cfg(unix)]
#[test]
fn only_its_owner_can_read_the_file_even_if_others_could_before() {
    use std::os::unix::fs::PermissionsExt;

    let home = Workspace::empty();
    let mode = || fs::metadata(home.path(FILE_NAME)).unwrap().permissions().mode() & 0o777;
    written(&home, "sk-1");
    assert_eq!(mode(), 0o600);
    fs::set_permissions(home.path(FILE_NAME), fs::Permissions::from_mode(0o644)).unwrap();
    written(&home, "sk-2");
    assert_eq!(mode(), 0o600);
}

#[cfg(unix)]
#[test]
fn a_link_is_written_through_and_a_logout_takes_the_link() {
    let home = Workspace::empty();
    home.write("elsewhere/login.json", "{}");
    std::os::unix::fs::symlink(home.path("elsewhere/login.json"), home.path(FILE_NAME)).unwrap();
    written(&home, "sk-1");
    assert!(home.read("elsewhere/login.json").contains("sk-1"));
    assert!(home.path(FILE_NAME).is_symlink());
    assert_eq!(AuthFile::in_home(home.root()).remove().unwrap(), Removed::Yes);
    assert!(!home.path(FILE_NAME).is_symlink());
}

#[test]
fn a_folder_in_its_place_is_an_error_and_the_key_is_not_in_it() {
    let home = Workspace::new("//- auth.json/\n");
    let file = AuthFile::in_home(home.root());
    let errors = [file.write_api_key(&Secret::new("sk-1")).unwrap_err(), file.read().unwrap_err()];
    for error in errors.into_iter().chain(file.remove().err()) {
        let text = format!("{error} {error:?}");
        assert!(text.contains(FILE_NAME) && !text.contains("sk-1"), "{text}");
    }
}

#[test]
fn removing_twice_says_that_there_was_none() {
    let home = Workspace::empty();
    written(&home, "sk-1");
    let file = AuthFile::in_home(home.root());
    assert_eq!(file.remove().unwrap(), Removed::Yes);
    assert_eq!(file.remove().unwrap(), Removed::WasNotThere);
    assert_eq!(file.read().unwrap(), None);
}

#[test]
fn the_kind_of_login_is_said_or_follows_from_the_key() {
    check_read(
        r#"{"OPENAI_API_KEY":"sk-1"}"#,
        &expect![[r#"
        Some(
            ApiKey(
                [secret],
            ),
        )"#]],
    );
    check_read(
        "{}",
        &expect![[r#"
        Some(
            ChatGpt(
                ChatGptLogin {
                    keeper: Program,
                    email: None,
                    plan: None,
                    account_id: None,
                    access_token: None,
                },
            ),
        )"#]],
    );
    check_read(
        r#"{"auth_mode":"apikey","OPENAI_API_KEY":null}"#,
        &expect!["error: HOME/auth.json: the stored login should have a key and has none; log in again"],
    );
}

#[test]
fn an_account_is_known_by_its_token() {
    let payload =
        r#"{"email":"a@b.c","https://api.openai.com/auth":{"chatgpt_plan_type":"pro","chatgpt_account_id":"w1"}}"#;
    let id_token = token(payload);
    let file = |account: &str| {
        format!(
            r#"{{"auth_mode":"chatgptAuthTokens","OPENAI_API_KEY":"sk-1","tokens":{{"id_token":"{id_token}","access_token":"at","refresh_token":"rt"{account}}}}}"#
        )
    };
    check_read(
        &file(""),
        &expect![[r#"
        Some(
            ChatGpt(
                ChatGptLogin {
                    keeper: Client,
                    email: Some(
                        "a@b.c",
                    ),
                    plan: Some(
                        "pro",
                    ),
                    account_id: Some(
                        "w1",
                    ),
                    access_token: Some(
                        [secret],
                    ),
                },
            ),
        )"#]],
    );
    let home = Workspace::empty();
    home.write(FILE_NAME, file(r#","account_id":"w2""#));
    let Some(StoredLogin::ChatGpt(login)) = AuthFile::in_home(home.root()).read().unwrap() else {
        panic!("no account")
    };
    assert_eq!(login.account_id.as_deref(), Some("w2"));
}

#[test]
fn what_is_wrong_is_placed_and_not_quoted() {
    check_read(
        "{\n  \"OPENAI_API_KEY\":\n",
        &expect!["error: HOME/auth.json:3:0: this is not a stored login; `pellucid logout` removes it"],
    );
    check_read(
        r#"{"OPENAI_API_KEY":["sk-1"]}"#,
        &expect!["error: HOME/auth.json:1:18: this is not a stored login; `pellucid logout` removes it"],
    );
    check_read(
        r#"{"auth_mode":"sk-1"}"#,
        &expect!["error: HOME/auth.json:1:19: this is not a stored login; `pellucid logout` removes it"],
    );
    check_read(
        r#"{"tokens":{"id_token":"sk-1","access_token":"at","refresh_token":"rt"}}"#,
        &expect!["error: HOME/auth.json: the stored id_token is not a token; log in again"],
    );
}

#[test]
fn a_key_shows_its_ends_if_it_is_long() {
    for (key, shown) in [
        ("", "***"),
        ("sk-1234567890", "***"),
        ("sk-12345678901", "sk-12345***78901"),
        ("äöüäöüäöüäöüäö", "äöüäöüäö***äöüäö"),
    ] {
        assert_eq!(masked(&Secret::new(key)), shown, "{key}");
    }
}
