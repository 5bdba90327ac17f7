//! The address at which the server listens, as the command line spells it.

use std::net::SocketAddr;
use std::str::FromStr;

/// The address at which the server listens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Listen {
    /// Standard input and output.
    #[default]
    Stdio,
    /// WebSockets at this address.
    WebSocket(SocketAddr),
}

/// Why `--listen` is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadListen {
    /// The value is neither `stdio://` nor `ws://`.
    #[error("unsupported --listen URL `{0}`; expected `stdio://` or `ws://IP:PORT`")]
    Unsupported(String),
    /// The address cannot be read.
    #[error("invalid websocket --listen URL `{0}`; expected `ws://IP:PORT`")]
    BadAddress(String),
    /// Other machines could reach the address.
    #[error(
        "--listen `{0}` could be reached from outside this machine; use a loopback address such as ws://127.0.0.1:0"
    )]
    NotLoopback(String),
}

impl FromStr for Listen {
    type Err = BadListen;

    fn from_str(text: &str) -> Result<Self, BadListen> {
        if text == "stdio://" {
            return Ok(Self::Stdio);
        }
        let address = text.strip_prefix("ws://").ok_or_else(|| BadListen::Unsupported(text.to_owned()))?;
        let address: SocketAddr = address.parse().map_err(|_| BadListen::BadAddress(text.to_owned()))?;
        if !address.ip().is_loopback() {
            return Err(BadListen::NotLoopback(text.to_owned()));
        }
        Ok(Self::WebSocket(address))
    }
}

#[cfg(test)]
mod tests {
    use expect_test::Expect;
    use expect_test::expect;

    use super::*;

    fn check(text: &str, expected: &Expect) {
        expected.assert_eq(&text.parse::<Listen>().map_or_else(|error| error.to_string(), |it| format!("{it:?}")));
    }

    #[test]
    fn where_the_server_listens() {
        check("stdio://", &expect!["Stdio"]);
        check("ws://127.0.0.1:0", &expect!["WebSocket(127.0.0.1:0)"]);
        check("ws://[::1]:9", &expect!["WebSocket([::1]:9)"]);
        check(
            "http://127.0.0.1:1",
            &expect!["unsupported --listen URL `http://127.0.0.1:1`; expected `stdio://` or `ws://IP:PORT`"],
        );
        check(
            "ws://localhost:1",
            &expect!["invalid websocket --listen URL `ws://localhost:1`; expected `ws://IP:PORT`"],
        );
        check(
            "ws://0.0.0.0:1",
            &expect![
                "--listen `ws://0.0.0.0:1` could be reached from outside this machine; use a loopback address such as ws://127.0.0.1:0"
            ],
        );
    }
}
