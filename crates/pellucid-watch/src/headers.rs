//! Which headers are forwarded, and which are kept in the record.

use http::HeaderMap;
use http::HeaderName;
use http::header;

/// Headers that are about one connection and are not forwarded.
const HOP_BY_HOP: [HeaderName; 8] = [
    header::CONNECTION,
    HeaderName::from_static("keep-alive"),
    header::PROXY_AUTHENTICATE,
    header::PROXY_AUTHORIZATION,
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
];

/// Headers that say how a request was made and hold no secret. No other header is kept.
const KEPT: [&str; 17] = [
    "accept",
    "anthropic-beta",
    "anthropic-version",
    "content-encoding",
    "content-type",
    "http-referer",
    "openai-beta",
    "originator",
    "user-agent",
    "version",
    "x-app",
    "x-goog-api-client",
    "x-stainless-lang",
    "x-stainless-package-version",
    "x-stainless-retry-count",
    "x-stainless-runtime",
    "x-title",
];

/// The longest value that is kept.
const VALUE_BYTES_MAX: usize = 1024;

/// The headers as the other side gets them: without those that are about one connection.
pub fn forwarded(headers: &HeaderMap) -> HeaderMap {
    let named: Vec<String> = headers
        .get_all(header::CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(',').map(|name| name.trim().to_ascii_lowercase()))
        .collect();
    let mut forwarded = HeaderMap::with_capacity(headers.len());
    for (name, value) in headers {
        let is_hop = HOP_BY_HOP.contains(name) || named.iter().any(|hop| hop == name.as_str());
        if !is_hop {
            forwarded.append(name.clone(), value.clone());
        }
    }
    forwarded
}

/// Whether a request asks for another protocol on its connection.
pub fn wants_upgrade(headers: &HeaderMap) -> bool {
    headers.contains_key(header::UPGRADE)
}

/// The headers that the record keeps.
pub fn kept(headers: &HeaderMap) -> Vec<(String, String)> {
    let is_kept = |name: &HeaderName| KEPT.contains(&name.as_str());
    let text = |(name, value): (&HeaderName, &http::HeaderValue)| {
        let value = value.to_str().ok().filter(|value| value.len() <= VALUE_BYTES_MAX)?;
        Some((name.to_string(), value.to_owned()))
    };
    headers.iter().filter(|(name, _)| is_kept(name)).filter_map(text).collect()
}

/// A path for the record: the names in its query without their values, which may be keys.
pub fn path_without_values(path: &str) -> String {
    let Some((path, query)) = path.split_once('?') else {
        return path.to_owned();
    };
    let names: Vec<&str> = query.split('&').map(|pair| pair.split_once('=').map_or(pair, |(name, _)| name)).collect();
    format!("{path}?{}", names.join("&"))
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn headers(of: &[(&'static str, &'static str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in of {
            headers.append(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        headers
    }

    #[test]
    fn what_is_about_one_connection_is_not_forwarded() {
        let given = [
            ("connection", "keep-alive, x-mine"),
            ("keep-alive", "timeout=5"),
            ("transfer-encoding", "chunked"),
            ("x-mine", "1"),
            ("authorization", "Bearer k"),
            ("x-two", "a"),
            ("x-two", "b"),
        ];
        let expected = headers(&[("authorization", "Bearer k"), ("x-two", "a"), ("x-two", "b")]);
        assert_eq!(forwarded(&headers(&given)), expected);
    }

    #[test]
    fn keys_cookies_and_tokens_are_not_kept() {
        let given = [
            ("authorization", "Bearer k"),
            ("x-api-key", "k"),
            ("x-goog-api-key", "k"),
            ("cookie", "k"),
            ("chatgpt-account-id", "k"),
            ("proxy-authorization", "k"),
            ("user-agent", "codex/1"),
            ("content-type", "application/json"),
        ];
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let expected = vec![pair("user-agent", "codex/1"), pair("content-type", "application/json")];
        assert_eq!(kept(&headers(&given)), expected);
        assert_eq!(
            path_without_values("/v1beta/models/m:generateContent?key=SECRET&alt=sse&x"),
            "/v1beta/models/m:generateContent?key&alt&x"
        );
        assert_eq!(path_without_values("/responses"), "/responses");
    }
}
