//! Decisions about logins, as values: what to request, what to send, what to believe.

use reqwest::Url;
use rmcp::transport::auth::AuthorizationMetadata;
use serde_json::Value;

/// A token is renewed this long before it ends, in milliseconds.
const REFRESH_AHEAD: u64 = 30_000;

/// The scope that asks for a token with which the access token can be renewed.
const OFFLINE: &str = "offline_access";

/// How much of its time a token has left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Freshness {
    /// The token can be used.
    Fresh,
    /// The token can be used, and ends so soon that it should be renewed.
    EndsSoon,
    /// The token has ended.
    Ended,
}

/// How fresh a token is. Both times are milliseconds since 1970; a token without an end is always fresh.
pub(super) fn freshness(expires_at: Option<u64>, now: u64) -> Freshness {
    match expires_at {
        Some(end) if end <= now => Freshness::Ended,
        Some(end) if end - now < REFRESH_AHEAD => Freshness::EndsSoon,
        Some(_) | None => Freshness::Fresh,
    }
}

/// Whether a resource is the server or a part of its address above the server.
pub(super) fn is_ours(server: &Url, resource: &Url) -> bool {
    if resource.fragment().is_some() || resource.origin() != server.origin() {
        return false;
    }
    let (ours, theirs) = (server.path(), resource.path());
    let rest = ours.strip_prefix(theirs);
    rest.is_some_and(|rest| rest.is_empty() || theirs.ends_with('/') || rest.starts_with('/'))
}

/// The resource of a document, if the document describes a protected resource.
pub(super) fn described_resource(document: &Value) -> Option<&str> {
    let names_server = document.get("authorization_servers").is_some_and(Value::is_array)
        || document.get("authorization_server").is_some_and(Value::is_string);
    document.get("resource").filter(|_| names_server)?.as_str()
}

/// The scopes to request: those that a person or the configuration wants, else those that the server names. A token for
/// renewal is asked for where it is offered.
pub(super) fn scopes(wanted: &[String], named: Vec<String>, metadata: &AuthorizationMetadata) -> Vec<String> {
    let chosen = if wanted.is_empty() { named } else { wanted.to_vec() };
    let mut scopes = together(&chosen, &[]);
    let offers = |it: &Vec<String>| it.iter().any(|scope| scope == OFFLINE);
    if !scopes.is_empty() && metadata.scopes_supported.as_ref().is_some_and(offers) {
        scopes = together(&scopes, &[OFFLINE.to_owned()]);
    }
    scopes
}

/// Scopes and further ones, each once, in their order.
pub(super) fn together(scopes: &[String], more: &[String]) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for scope in scopes.iter().chain(more).filter(|scope| !scope.is_empty()) {
        if !all.contains(scope) {
            all.push(scope.clone());
        }
    }
    all
}

/// How a client makes itself known to an authorization server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Identity {
    /// The authorization server knows this client id, or fetches the document of this address.
    Known(String),
    /// The client registers.
    Register,
}

/// How the client makes itself known. A configured address counts where the server fetches such documents.
pub(super) fn identity(client_id: Option<&str>, metadata: &AuthorizationMetadata) -> Identity {
    let fetches = metadata.additional_fields.get("client_id_metadata_document_supported");
    let fetches = fetches.and_then(Value::as_bool).unwrap_or_default();
    match client_id {
        Some(id) if id.starts_with("https://") && !fetches => Identity::Register,
        Some(id) => Identity::Known(id.to_owned()),
        None => Identity::Register,
    }
}

/// Whether the token endpoint takes a client's secret: as most do, unless its metadata says otherwise.
pub(super) fn takes_secret(metadata: &AuthorizationMetadata) -> bool {
    let methods = metadata.additional_fields.get("token_endpoint_auth_methods_supported").and_then(Value::as_array);
    let with_secret = |method: &Value| matches!(method.as_str(), Some("client_secret_basic" | "client_secret_post"));
    methods.is_none_or(|methods| methods.iter().any(with_secret))
}

/// Whether two authorization servers are the same. A login that was stored without its server is taken for one of today's.
pub(super) fn is_same_issuer(stored: Option<&str>, current: Option<&str>) -> bool {
    stored.is_none() || stored == current
}

/// The parameter of a challenge of the scheme `Bearer`.
pub(super) fn challenge_scopes(scope: Option<&str>) -> Vec<String> {
    scope.unwrap_or_default().split_ascii_whitespace().map(str::to_owned).collect()
}

/// A text of a server for a line of ours: no control characters, secrets blanked, not long.
pub(super) fn tame<'a>(text: &str, secrets: impl IntoIterator<Item = &'a str>) -> String {
    const CHARS_MAX: usize = 300;
    const SECRET_CHARS_MIN: usize = 8;
    let mut text = text.to_owned();
    for secret in secrets {
        if secret.chars().count() >= SECRET_CHARS_MIN {
            text = text.replace(secret, "[secret]");
        }
    }
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let clean = text.chars().filter(|it| !it.is_control());
    let cut: String = clean.clone().take(CHARS_MAX).collect();
    if clean.count() > CHARS_MAX { format!("{cut}…") } else { cut }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use serde_json::json;

    use super::*;

    fn metadata(more: &Value) -> AuthorizationMetadata {
        let mut all = json!({"authorization_endpoint": "http://a/authorize", "token_endpoint": "http://a/token"});
        all.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        serde_json::from_value(all).unwrap()
    }

    fn texts(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|it| (*it).to_owned()).collect()
    }

    #[test]
    fn a_token_is_renewed_30_seconds_before_its_end() {
        use Freshness::*;
        let at = |end: Option<u64>| freshness(end, 1_000_000);
        assert_eq!(
            [None, Some(1_030_000), Some(1_029_999), Some(1_000_001), Some(1_000_000), Some(0)].map(at),
            [Fresh, Fresh, EndsSoon, EndsSoon, Ended, Ended]
        );
    }

    #[test]
    fn a_resource_is_the_server_or_above_it() {
        let server = Url::parse("https://h/a/mcp?x=1").unwrap();
        let ours =
            ["https://h/a/mcp", "https://h/a/mcp?y", "https://h/a", "https://h/a/", "https://h", "https://h:443/"];
        let foreign = [
            "https://h/a/mc",
            "https://h/a/mcp/x",
            "https://h/b",
            "http://h/a/mcp",
            "https://h:1/",
            "https://evil/a/mcp",
            "https://h/a/mcp#x",
        ];
        assert!(ours.iter().all(|it| is_ours(&server, &Url::parse(it).unwrap())));
        assert!(!foreign.iter().any(|it| is_ours(&server, &Url::parse(it).unwrap())));
    }

    #[test]
    fn a_document_about_a_resource_names_its_servers() {
        let described = |document: Value| described_resource(&document).map(str::to_owned);
        assert_eq!(described(json!({"resource": "x", "authorization_servers": []})), Some("x".to_owned()));
        assert_eq!(described(json!({"resource": "x", "authorization_server": "y"})), Some("x".to_owned()));
        assert_eq!(described(json!({"resource": "x"})), None);
        assert_eq!(described(json!({"authorization_servers": ["y"]})), None);
        assert_eq!(described(json!([])), None);
    }

    #[test]
    fn scopes_of_a_person_are_stronger_than_those_of_the_server() {
        let offers = metadata(&json!({"scopes_supported": ["a", "offline_access"]}));
        let none = metadata(&json!({}));
        let chosen = [
            scopes(&[], vec![], &offers),
            scopes(&[], texts(&["a", "b", "a"]), &none),
            scopes(&texts(&["w"]), texts(&["a"]), &offers),
            scopes(&texts(&["offline_access", "w"]), vec![], &offers),
        ];
        expect![[r#"[[], ["a", "b"], ["w", "offline_access"], ["offline_access", "w"]]"#]]
            .assert_eq(&format!("{chosen:?}"));
    }

    #[test]
    fn a_document_is_a_client_id_only_where_it_is_fetched() {
        let (none, fetches) = (metadata(&json!({})), metadata(&json!({"client_id_metadata_document_supported": true})));
        assert_eq!(identity(None, &fetches), Identity::Register);
        assert_eq!(identity(Some("https://c/me.json"), &none), Identity::Register);
        assert_eq!(identity(Some("https://c/me.json"), &fetches), Identity::Known("https://c/me.json".to_owned()));
        assert_eq!(identity(Some("me"), &none), Identity::Known("me".to_owned()));
    }

    #[test]
    fn a_secret_goes_only_to_endpoints_that_take_it() {
        let takes =
            |methods: Value| takes_secret(&metadata(&json!({"token_endpoint_auth_methods_supported": methods})));
        assert!(takes_secret(&metadata(&json!({}))));
        assert!(takes(json!(["none", "client_secret_basic"])) && takes(json!(["client_secret_post"])));
        assert!(!takes(json!(["none"])) && !takes(json!(["private_key_jwt"])));
    }

    #[test]
    fn a_login_belongs_to_its_authorization_server() {
        assert!(is_same_issuer(Some("https://a"), Some("https://a")));
        assert!(is_same_issuer(None, Some("https://a")));
        assert!(!is_same_issuer(Some("https://a"), Some("https://a/")) && !is_same_issuer(Some("https://a"), None));
    }

    #[test]
    fn texts_of_servers_are_tamed() {
        expect!["no [secret] here x"].assert_eq(&tame("no planted-token\u{1b} here\r\n\u{7}x", ["planted-token", "x"]));
        assert_eq!(tame(&"é".repeat(400), []).chars().count(), 301);
    }
}
