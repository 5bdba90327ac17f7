use super::*;

#[test]
fn addresses_on_this_computer_are_known() {
    for url in ["http://127.0.0.1:9/x", "http://localhost", "http://[::1]:8/x", "http://LOCALHOST:1"] {
        assert!(is_this_computer(url), "{url}");
    }
    for url in ["http://127.0.0.1.example.com/", "http://localhost@example.com/", "http://example.com/?localhost", ""] {
        assert!(!is_this_computer(url), "{url}");
    }
}

fn entry(json: &str) -> DirectoryApp {
    serde_json::from_str(json).unwrap()
}

#[track_caller]
fn check_merged(directory: Option<&[&str]>, accessible: &[(&str, &str)], disabled: &[&str], expected: &[&str]) {
    let directory = directory.map(|entries| Directory::of(entries.iter().map(|json| entry(json)).collect()));
    let accessible = accessible.iter().map(|(id, name)| ((*id).to_owned(), (*name).to_owned())).collect();
    let disabled = disabled.iter().map(|id| (*id).to_owned()).collect();
    let shown: Vec<String> = merged(directory.as_ref(), &accessible, &disabled)
        .into_iter()
        .map(|it| {
            let ListedApp { app, install_url, is_accessible, is_enabled } = it;
            let page = install_url.trim_start_matches("https://chatgpt.com/apps/");
            format!("{} {page} {is_accessible} {is_enabled}", app.name)
        })
        .collect();
    assert_eq!(shown, expected);
}

#[test]
fn the_apps_of_the_account_are_a_part_of_the_directory() {
    let entries = [
        r#"{"id":"zed","name":"Zed App"}"#,
        r#"{"id":"cal","name":" Calendar ","description":" "}"#,
        r#"{"id":"ids","name":" "}"#,
        r#"{"id":"hid","name":"Hidden","visibility":"HIDDEN"}"#,
        r#"{"id":"connector_openai_x","name":"Not for us"}"#,
        r#"{"id":"asdk_app_6938a94a61d881918ef32cb999ff937c","name":"Not for us"}"#,
    ];
    let accessible = [("cal", "Google Calendar"), ("ids", "Named By Tools"), ("only", "Only Here")];
    check_merged(
        Some(&entries),
        &accessible,
        &["zed"],
        &["Calendar calendar/cal true true", "Named By Tools ids/ids true true", "Zed App zed-app/zed false false"],
    );
    check_merged(
        None,
        &accessible,
        &["only"],
        &[
            "Google Calendar google-calendar/cal true true",
            "Named By Tools named-by-tools/ids true true",
            "Only Here only-here/only true false",
        ],
    );
}

#[test]
fn entries_of_one_app_complete_each_other() {
    let first = entry(r#"{"id":"a","name":" ","logoUrl":"l"}"#);
    let second =
        entry(r#"{"id":"a","name":" A ","description":" d ","logo_url":"m","logoUrlDark":"n","labels":{"k":"v"}}"#);
    let of = Directory::of(vec![first, second]).apps;
    assert_eq!(of.len(), 1);
    let DirectoryApp { name, description, logo_url, logo_url_dark, labels, .. } = of.into_iter().next().unwrap();
    let text = |text: &str| Some(text.to_owned());
    assert_eq!((name.as_str(), description, logo_url, logo_url_dark), ("A", text("d"), text("l"), text("n")));
    assert_eq!(labels.unwrap()["k"], "v");
}
