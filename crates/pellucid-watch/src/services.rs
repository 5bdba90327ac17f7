//! The variables by which programs find the servers of their models.

/// A variable that holds the address of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct AddressVariable {
    name: &'static str,
    /// The address that programs use if the variable is not set; absent if that differs between programs.
    public: Option<&'static str>,
}

const fn variable(name: &'static str, public: &'static str) -> AddressVariable {
    AddressVariable { name, public: Some(public) }
}

/// The variables that common programs read. One without a public address is set only if it was set before.
const VARIABLES: [AddressVariable; 8] = [
    variable("OPENAI_BASE_URL", "https://api.openai.com/v1"),
    variable("OPENAI_API_BASE", "https://api.openai.com/v1"),
    variable("ANTHROPIC_BASE_URL", "https://api.anthropic.com"),
    variable("GOOGLE_GEMINI_BASE_URL", "https://generativelanguage.googleapis.com"),
    variable("CODE_ASSIST_ENDPOINT", "https://cloudcode-pa.googleapis.com"),
    variable("OPENROUTER_BASE_URL", "https://openrouter.ai/api/v1"),
    AddressVariable { name: "GOOGLE_VERTEX_BASE_URL", public: None },
    AddressVariable { name: "AZURE_OPENAI_ENDPOINT", public: None },
];

/// A variable of the watched program, and where requests to its address go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WatchedService {
    /// The name of the variable.
    pub variable: String,
    /// The part of the path that names the service.
    pub slot: String,
    /// The address that requests are forwarded to, without a slash at its end.
    pub upstream: String,
}

/// Why an upstream address cannot be used, for people.
pub type AddressProblem = String;

/// The services of a program: the variables of the table, and those that are asked for. Each is forwarded to the given
/// upstream, else to what the variable held before, else to the service's public address.
///
/// # Errors
/// When an address cannot be used, or a variable that is asked for has none.
pub fn services(
    asked: &[String],
    upstream: Option<&str>,
    held: &dyn Fn(&str) -> Option<String>,
) -> Result<Vec<WatchedService>, AddressProblem> {
    let mut services: Vec<WatchedService> = Vec::new();
    let table = VARIABLES.iter().map(|it| (it.name.to_owned(), it.public, false));
    let asked = asked.iter().map(|name| (name.clone(), None, true));
    for (variable, public, is_asked) in table.chain(asked) {
        if services.iter().any(|known| known.variable == variable) {
            continue;
        }
        let before = held(&variable).filter(|value| !value.trim().is_empty());
        let is_used = before.is_some() || public.is_some() || is_asked;
        let address = upstream.map(str::to_owned).or(before).or_else(|| public.map(str::to_owned));
        let address = match address {
            Some(address) if is_used => address,
            Some(_) => continue,
            None if is_asked => {
                return Err(format!(
                    "`{variable}` has no address to forward to\nhint: set {variable} to the server's address, or give --upstream URL"
                ));
            }
            None => continue,
        };
        let upstream = checked(&variable, &address)?;
        let slot = variable.to_lowercase();
        services.push(WatchedService { variable, slot, upstream });
    }
    Ok(services)
}

/// An address that requests can be forwarded to.
fn checked(variable: &str, address: &str) -> Result<String, AddressProblem> {
    let problem =
        |why: &str| Err(format!("{address} (for {variable}) {why}\nhint: an address looks like https://host/path"));
    let Ok(url) = reqwest::Url::parse(address) else {
        return problem("is not an address");
    };
    match url.scheme() {
        "http" | "https" if url.query().is_some() || url.fragment().is_some() => problem("has a query"),
        "http" | "https" => Ok(address.trim_end_matches('/').to_owned()),
        scheme => problem(&format!("has the scheme `{scheme}`; http and https can be forwarded to")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_upstream(asked: &[&str], given: Option<&str>, held: &[(&str, &str)], expected: &[(&str, &str)]) {
        let asked: Vec<String> = asked.iter().map(|name| (*name).to_owned()).collect();
        let held = |name: &str| held.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
        let services = services(&asked, given, &held).unwrap();
        for (variable, upstream) in expected {
            let found = services.iter().find(|it| it.variable == *variable).map(|it| it.upstream.as_str());
            assert_eq!(found.unwrap_or("none"), *upstream, "{variable}");
        }
    }

    #[test]
    fn an_address_is_the_given_one_else_the_one_before_else_the_public_one() {
        let public = ("OPENAI_BASE_URL", "https://api.openai.com/v1");
        check_upstream(&[], None, &[], &[public, ("AZURE_OPENAI_ENDPOINT", "none")]);
        let held = [("OPENAI_BASE_URL", "http://box:1/v1/"), ("AZURE_OPENAI_ENDPOINT", "https://me.example")];
        check_upstream(
            &[],
            None,
            &held,
            &[("OPENAI_BASE_URL", "http://box:1/v1"), ("AZURE_OPENAI_ENDPOINT", "https://me.example")],
        );
        check_upstream(
            &["MY_URL"],
            Some("http://mock"),
            &held,
            &[("OPENAI_BASE_URL", "http://mock"), ("MY_URL", "http://mock"), ("GOOGLE_VERTEX_BASE_URL", "none")],
        );
        check_upstream(&["MY_URL"], None, &[("MY_URL", "https://mine")], &[("MY_URL", "https://mine")]);
    }

    #[test]
    fn what_cannot_be_forwarded_to_is_named() {
        let none = |_: &str| None;
        let problem = |asked: &[String], upstream: Option<&str>| services(asked, upstream, &none).unwrap_err();
        assert!(problem(&["MY_URL".to_owned()], None).starts_with("`MY_URL` has no address to forward to\nhint: "));
        for (address, why) in [
            ("box", "box (for OPENAI_BASE_URL) is not an address\n"),
            ("ftp://box", "ftp://box (for OPENAI_BASE_URL) has the scheme `ftp`; http and https can be forwarded to\n"),
            ("http://box?a=1", "http://box?a=1 (for OPENAI_BASE_URL) has a query\n"),
        ] {
            let said = problem(&[], Some(address));
            assert!(said.starts_with(why), "{said}");
        }
    }
}
