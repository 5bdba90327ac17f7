//! The addresses of remotes in the repository's configuration, without secrets.
//!
//! The addresses go to the provider, to the session's file and to its index. A password or a token in one of them is
//! left out here, where they are read.

use std::collections::BTreeMap;

use pellucid_files::git_config::GitConfigEntry;

/// The address each remote is fetched from, rewritten by the rules of the same configuration.
pub fn urls(entries: &[GitConfigEntry]) -> BTreeMap<String, String> {
    let mut urls: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let mut rewrites: Vec<(&str, &str)> = Vec::new();
    for entry in entries {
        let (Some(name), Some(value)) = (entry.subsection.as_deref(), entry.value.as_deref()) else {
            continue;
        };
        match (entry.section.as_str(), entry.key.as_str()) {
            // An empty value removes the values before it.
            ("remote", "url") if value.is_empty() => urls.entry(name).or_default().clear(),
            ("remote", "url") => urls.entry(name).or_default().push(value),
            ("url", "insteadof") => rewrites.push((value, name)),
            _ => {}
        }
    }
    let first = urls.into_iter().filter_map(|(name, urls)| Some((name, *urls.first()?)));
    first.map(|(name, url)| (name.to_owned(), without_secrets(&rewritten(url, &rewrites)))).collect()
}

/// The longest rule that fits is applied.
fn rewritten(url: &str, rewrites: &[(&str, &str)]) -> String {
    let fitting = rewrites.iter().filter(|(prefix, _)| !prefix.is_empty() && url.starts_with(prefix));
    match fitting.max_by_key(|(prefix, _)| prefix.len()) {
        Some((prefix, base)) => format!("{base}{}", &url[prefix.len()..]),
        None => url.to_owned(),
    }
}

/// An address without password, token or query. The name of a user of ssh is kept, for that is no secret.
pub fn without_secrets(url: &str) -> String {
    // `helper::address`; what `ext` is given is a whole command.
    if let Some((helper, address)) = url.split_once("::")
        && !helper.is_empty()
        && helper.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    {
        let address = if helper == "ext" { String::new() } else { without_secrets(address) };
        return format!("{helper}::{address}");
    }
    let Some((scheme, rest)) = url.split_once("://") else { return without_scheme(url) };
    let rest = &rest[..rest.find(['?', '#']).unwrap_or(rest.len())];
    let end = rest.find('/').unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    if let Some((user, host)) = authority.rsplit_once('@') {
        let user = user.split(':').next().unwrap_or_default();
        let is_ssh = scheme.to_ascii_lowercase().split('+').any(|part| part == "ssh");
        let user = if is_ssh && !user.is_empty() { format!("{user}@") } else { String::new() };
        return format!("{scheme}://{user}{host}{path}");
    }
    // A password with an unescaped slash.
    let is_port = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit()) || text.ends_with(']');
    match (authority.rsplit_once(':'), path.rsplit_once('@')) {
        (Some((_, port)), Some((_, after))) if !is_port(port) => format!("{scheme}://{after}"),
        _ => format!("{scheme}://{rest}"),
    }
}

/// `user@host:path`, a path, or an address that lacks its scheme.
fn without_scheme(url: &str) -> String {
    if url.starts_with(['/', '.', '~']) {
        return url.to_owned();
    }
    match (url.find(':'), url.rfind('@')) {
        // A drive has one letter.
        (Some(1), _) if url[2..].starts_with(['/', '\\']) => url.to_owned(),
        (Some(colon), Some(at)) if colon < at => url[at + 1..].to_owned(),
        _ => url.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use pellucid_files::git_config;

    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[(&str, &str)]) {
        let urls = urls(&git_config::parse(text).expect("a configuration"));
        let urls: Vec<_> = urls.iter().map(|(name, url)| (name.as_str(), url.as_str())).collect();
        assert_eq!(urls, expected, "{text}");
    }

    #[test]
    fn remotes() {
        check(
            "[core]\n\tbare = false\n[remote \"up\"]\n\turl = git@x.test:a/b.git\n\tfetch = +refs/*:refs/*\n\
             [remote \"origin\"]\n\tURL=https://x.test/a.git # main\n\turl = second\n[branch \"m\"]\n\tremote = origin\n",
            &[("origin", "https://x.test/a.git"), ("up", "git@x.test:a/b.git")],
        );
        check("[remote.Old] url = u\n", &[("old", "u")]);
        check("[remote \"none\"]\n\tpushurl = u\n[remote \"gone\"]\n\turl = u\n\turl =\n", &[]);
        check("", &[]);
    }

    #[test]
    fn the_longest_rewriting_rule_applies() {
        check(
            "[url \"ssh://y/\"]\n\tinsteadOf = https://x/\n[url \"z:\"]\n\tinsteadOf = https://x/deep/\n\
             [remote \"a\"]\n\turl = https://x/p\n[remote \"b\"]\n\turl = https://x/deep/p\n",
            &[("a", "ssh://y/p"), ("b", "z:p")],
        );
        check(
            "[url \"https://u:secret@y/\"]\n\tinsteadOf = w:\n[remote \"a\"]\n\turl = w:p\n",
            &[("a", "https://y/p")],
        );
    }

    #[test]
    fn what_is_secret_is_left_out() {
        for (url, expected) in [
            ("https://x.test/a.git", "https://x.test/a.git"),
            ("https://u@x.test/a.git", "https://x.test/a.git"),
            ("https://u:secret@x.test:8443/a.git", "https://x.test:8443/a.git"),
            ("https://u:se@cret@x.test/a", "https://x.test/a"),
            ("https://u:se/cret@x.test/a", "https://x.test/a"),
            ("HTTPS://secret:@x.test/a", "HTTPS://x.test/a"),
            ("https://x.test:80/@scope/a", "https://x.test:80/@scope/a"),
            ("https://x.test/a?token=secret#secret", "https://x.test/a"),
            ("https://[::1]:80/a@b", "https://[::1]:80/a@b"),
            ("ftp://u:secret@x.test/a", "ftp://x.test/a"),
            ("ssh://git@x.test/a", "ssh://git@x.test/a"),
            ("ssh://git:secret@x.test:22/a", "ssh://git@x.test:22/a"),
            ("git+ssh://git:secret@x.test/a", "git+ssh://git@x.test/a"),
            ("git@x.test:a/b.git", "git@x.test:a/b.git"),
            // A host with a path, or a user with a password: the latter is assumed.
            ("x.test:a@b", "b"),
            ("u:secret@x.test/a", "x.test/a"),
            ("/srv/a:b@c", "/srv/a:b@c"),
            ("../a", "../a"),
            ("C:\\a@b", "C:\\a@b"),
            ("https::https://u:secret@x.test/a", "https::https://x.test/a"),
            ("ext::sh -c secret", "ext::"),
        ] {
            assert_eq!(without_secrets(url), expected, "{url}");
        }
    }
}
