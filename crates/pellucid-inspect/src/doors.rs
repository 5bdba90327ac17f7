//! Who may come in: the address that was bound, our own origin, and the cookie that a one-time code is exchanged for.
//!
//! A page of another site can make a browser send requests to a loopback address, and a name of another site can be made
//! to point to it. Both show in `Host`, `Origin` and `Sec-Fetch-Site`, which are judged before the path is looked at.
//! Another user of the machine can connect as well, and does not know the code.

use std::net::SocketAddr;
use std::sync::Mutex;
use std::sync::PoisonError;

use http::HeaderMap;
use http::HeaderName;
use http::HeaderValue;
use http::Method;
use http::header;
use http::request::Parts;
use sha2::Digest;
use sha2::Sha256;

use crate::query::Query;

/// The query key of the code.
const CODE: &str = "code";

/// A secret text of 256 random bits.
#[derive(Clone)]
struct Token {
    hex: String,
}

impl Token {
    /// A new one. The ids that are hashed have 366 random bits of the system together.
    fn random() -> Self {
        let mut hash = Sha256::new();
        for _ in 0..3 {
            hash.update(uuid::Uuid::new_v4().as_bytes());
        }
        Self { hex: hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect() }
    }

    /// Whether a text is the token. Hashes are compared, so the time says nothing about the token.
    fn is(&self, text: &str) -> bool {
        Sha256::digest(&self.hex) == Sha256::digest(text)
    }
}

/// The doors of one server.
pub struct Doors {
    authority: String,
    cookie_name: String,
    cookie: Token,
    code: Mutex<Option<Token>>,
}

impl std::fmt::Debug for Doors {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Doors").field("authority", &self.authority).finish_non_exhaustive()
    }
}

/// What becomes of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Passage {
    /// The caller may ask.
    Enter,
    /// The code was right and is used up: the caller gets this cookie.
    Exchange {
        /// The value of the `Set-Cookie` header.
        cookie: String,
    },
    /// The caller may not ask, for this reason.
    Refused(&'static str),
}

impl Doors {
    /// The doors of a server that listens on this address, and the code that opens them once.
    pub fn new(address: SocketAddr) -> (Self, String) {
        let code = Token::random();
        let text = code.hex.clone();
        let cookie_name = format!("pellucid-{}", address.port());
        let doors =
            Self { authority: address.to_string(), cookie_name, cookie: Token::random(), code: Mutex::new(Some(code)) };
        (doors, text)
    }

    /// Judges a request by its head.
    pub fn judge(&self, head: &Parts) -> Passage {
        if let Some(why) = self.stranger(head) {
            return Passage::Refused(why);
        }
        let query = Query::parse(head.uri.query().unwrap_or_default());
        let code = query.as_ref().ok().and_then(|query| query.get(CODE)).filter(|_| head.uri.path() == "/");
        match code {
            Some(code) if head.method == Method::GET => self.exchange(code),
            Some(_) => Passage::Refused("a code is exchanged by GET"),
            None if self.has_cookie(&head.headers) => Passage::Enter,
            None => Passage::Refused("the cookie is missing; open the address that `pellucid inspect` printed"),
        }
    }

    /// Why a request does not come from our own page, if it does not.
    fn stranger(&self, head: &Parts) -> Option<&'static str> {
        let all = |name: HeaderName| head.headers.get_all(name).into_iter().map(HeaderValue::as_bytes);
        let mut hosts = all(header::HOST);
        let is_ours = |host: Option<&[u8]>| host == Some(self.authority.as_bytes());
        if !is_ours(hosts.next()) || hosts.next().is_some() {
            return Some("the header `Host` is not the address of this server");
        }
        if head.uri.authority().is_some_and(|it| it.as_str() != self.authority) {
            return Some("the request is for another address");
        }
        let origin = format!("http://{}", self.authority);
        if !all(header::ORIGIN).all(|it| it == origin.as_bytes()) {
            return Some("the request comes from another origin");
        }
        // `none` is an address that a person typed or opened from a program.
        if !all(HeaderName::from_static("sec-fetch-site")).all(|it| it == b"same-origin" || it == b"none") {
            return Some("the request comes from another site");
        }
        None
    }

    fn exchange(&self, given: &str) -> Passage {
        let mut code = self.code.lock().unwrap_or_else(PoisonError::into_inner);
        match &*code {
            Some(known) if known.is(given) => {
                *code = None;
                let cookie = format!("{}={}; HttpOnly; SameSite=Strict; Path=/", self.cookie_name, self.cookie.hex);
                Passage::Exchange { cookie }
            }
            Some(_) => Passage::Refused("the code is wrong"),
            None => Passage::Refused("the code was used already; start `pellucid inspect` again for a new one"),
        }
    }

    fn has_cookie(&self, headers: &HeaderMap) -> bool {
        let texts = headers.get_all(header::COOKIE).into_iter().filter_map(|value| value.to_str().ok());
        let mut pairs = texts.flat_map(|text| text.split(';')).filter_map(|pair| pair.trim().split_once('='));
        pairs.any(|(name, value)| name == self.cookie_name && self.cookie.is(value))
    }
}

#[cfg(test)]
mod tests {
    use http::Request;

    use super::*;

    const ADDRESS: &str = "127.0.0.1:4000";

    fn doors() -> (Doors, String) {
        Doors::new(ADDRESS.parse().unwrap())
    }

    fn head(target: &str, headers: &[(&str, &str)]) -> Parts {
        let mut request = Request::builder().uri(target);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request.body(()).unwrap().into_parts().0
    }

    fn cookie(doors: &Doors, code: &str) -> String {
        match doors.judge(&head(&format!("/?code={code}"), &[("host", ADDRESS)])) {
            Passage::Exchange { cookie } => cookie,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_code_is_exchanged_once_for_a_cookie_that_scripts_and_other_sites_do_not_get() {
        let (doors, code) = doors();
        assert_eq!(code.len(), 64);
        let cookie = cookie(&doors, &code);
        let (pair, rest) = cookie.split_once(';').unwrap();
        assert_eq!(rest, " HttpOnly; SameSite=Strict; Path=/");
        assert!(!pair.contains(&code), "the cookie is not the code");
        let enters = |headers: &[(&str, &str)]| doors.judge(&head("/api/v1/hello", headers)) == Passage::Enter;
        assert!(enters(&[("host", ADDRESS), ("cookie", pair)]));
        assert!(enters(&[("host", ADDRESS), ("cookie", &format!("a=b; {pair}; c=d"))]));
        assert!(!enters(&[("host", ADDRESS)]));
        assert!(!enters(&[("host", ADDRESS), ("cookie", "pellucid-4000=x")]));
        assert!(!enters(&[("host", ADDRESS), ("cookie", &pair.replace("4000", "4001"))]));
        let again = doors.judge(&head(&format!("/?code={code}"), &[("host", ADDRESS), ("cookie", pair)]));
        let why = "the code was used already; start `pellucid inspect` again for a new one";
        assert_eq!(again, Passage::Refused(why));
    }

    #[test]
    fn a_wrong_code_does_not_use_up_the_right_one() {
        let (doors, code) = doors();
        let other = "0".repeat(64);
        assert_eq!(
            doors.judge(&head(&format!("/?code={other}"), &[("host", ADDRESS)])),
            Passage::Refused("the code is wrong")
        );
        let head = Request::post(format!("/?code={code}")).header("host", ADDRESS).body(()).unwrap().into_parts().0;
        assert_eq!(doors.judge(&head), Passage::Refused("a code is exchanged by GET"));
        cookie(&doors, &code);
    }

    #[test]
    fn strangers_are_refused_whatever_they_know() {
        let (doors, code) = doors();
        let cookie = cookie(&doors, &code);
        let pair = cookie.split_once(';').unwrap().0;
        let host = "the header `Host` is not the address of this server";
        let origin = "the request comes from another origin";
        let site = "the request comes from another site";
        let refused: [(&[(&str, &str)], &str); 9] = [
            (&[], host),
            (&[("host", "localhost:4000")], host),
            (&[("host", "evil.example")], host),
            (&[("host", "127.0.0.1:4001")], host),
            (&[("host", ADDRESS), ("host", "evil.example")], host),
            (&[("host", ADDRESS), ("origin", "http://evil.example")], origin),
            (&[("host", ADDRESS), ("origin", "null")], origin),
            (&[("host", ADDRESS), ("sec-fetch-site", "cross-site")], site),
            (&[("host", ADDRESS), ("sec-fetch-site", "same-site")], site),
        ];
        for (headers, why) in refused {
            let headers: Vec<_> = headers.iter().copied().chain([("cookie", pair)]).collect();
            assert_eq!(doors.judge(&head("/", &headers)), Passage::Refused(why), "{headers:?}");
        }
        let ours = [("host", ADDRESS), ("origin", "http://127.0.0.1:4000"), ("sec-fetch-site", "same-origin")];
        let ours: Vec<_> = ours.into_iter().chain([("cookie", pair)]).collect();
        assert_eq!(doors.judge(&head("/", &ours)), Passage::Enter);
        assert_eq!(
            doors.judge(&head("http://evil.example/", &ours)),
            Passage::Refused("the request is for another address")
        );
    }
}
