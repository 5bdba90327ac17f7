//! Output in which nothing depends on the machine, the time or the run, so that tests compare it whole.

use crate::World;

impl World {
    /// A text with words for what differs from run to run: `ROOT` for the test's folder, `ID` for a session or turn (`ID2` for
    /// the second one, and so on), `TIME`, `DATE` for the folders of a day, `SHA256`, `HOST` for an address of this
    /// machine, and `VERSION`.
    pub fn steady(&self, text: &str) -> String {
        let text = self.shown(text).replace(&format!("Pellucid v{}", env!("CARGO_PKG_VERSION")), "Pellucid VERSION");
        let mut ids: Vec<String> = Vec::new();
        let mut steady = String::new();
        let mut rest = text.as_str();
        while let Some(first) = rest.chars().next() {
            let is_inside = steady.chars().next_back().is_some_and(|last| last.is_ascii_alphanumeric());
            let (word, len) = match found(rest).filter(|_| !is_inside) {
                Some(("ID", len)) => {
                    let id = &rest[..len];
                    let at = ids.iter().position(|known| known == id).unwrap_or_else(|| {
                        ids.push(id.to_owned());
                        ids.len() - 1
                    });
                    (if at == 0 { "ID".to_owned() } else { format!("ID{}", at + 1) }, len)
                }
                Some((word, len)) => (word.to_owned(), len),
                None => (first.to_string(), first.len_utf8()),
            };
            steady.push_str(&word);
            rest = &rest[len..];
        }
        steady
    }
}

/// What `exec` prints of a turn, behind its settings.
pub fn after_settings(stderr: &str) -> &str {
    stderr.split_once("\n--------\nuser\n").map_or(stderr, |(_, turn)| turn)
}

/// Places and sizes depend on how long the name of the test's folder is.
pub fn without_bytes(text: &str) -> String {
    let words: Vec<&str> = text.split(' ').collect();
    let shown = words.iter().enumerate().map(|(at, word)| {
        let n_digits = word.bytes().take_while(u8::is_ascii_digit).count();
        let is_place = at > 0 && words[at - 1].ends_with("byte");
        let is_size = words.get(at + 1).is_some_and(|next| next.starts_with("byte"));
        if n_digits > 0 && (is_place || is_size) { format!("N{}", &word[n_digits..]) } else { (*word).to_owned() }
    });
    shown.collect::<Vec<_>>().join(" ")
}

/// The word for what a text begins with, and how many bytes that has.
fn found(text: &str) -> Option<(&'static str, usize)> {
    /// In a shape `h` is a hexadecimal digit, `d` a decimal one, and other characters are themselves.
    const SHAPES: [(&str, &str); 6] = [
        ("ID", "hhhhhhhh-hhhh-hhhh-hhhh-hhhhhhhhhhhh"),
        ("TIME", "dddd-dd-ddTdd:dd:dd"),
        ("TIME", "dddd-dd-ddTdd-dd-dd"),
        ("TIME", "dddd-dd-dd dd:dd"),
        ("DATE", "dddd/dd/dd"),
        ("HOST", "127.0.0.1:d"),
    ];
    for (word, shape) in SHAPES {
        if !is_of_shape(text, shape) {
            continue;
        }
        let rest = &text.as_bytes()[shape.len()..];
        let n_digits = |from: usize| rest[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        let more = match word {
            "HOST" => n_digits(0),
            "TIME" => {
                let fraction = if rest.first() == Some(&b'.') { 1 + n_digits(1) } else { 0 };
                fraction + usize::from(rest.get(fraction) == Some(&b'Z'))
            }
            _ => 0,
        };
        return Some((word, shape.len() + more));
    }
    let n_hex = text.bytes().take_while(u8::is_ascii_hexdigit).count();
    (n_hex == 64).then_some(("SHA256", 64))
}

fn is_of_shape(text: &str, shape: &str) -> bool {
    text.len() >= shape.len()
        && shape.bytes().zip(text.bytes()).all(|(shape, byte)| match shape {
            b'h' => byte.is_ascii_hexdigit(),
            b'd' => byte.is_ascii_digit(),
            other => byte == other,
        })
}

#[test]
fn only_what_differs_is_replaced() {
    let world = World::new("//- work/x\n");
    let (a, b) = ("019a0000-0000-7000-8000-000000000001", "019a0000-0000-7000-8000-000000000002");
    let root = world.files.root().display();
    let sha256 = "0f".repeat(32);
    let text = format!("{b} {a} {b} {root}/2026/01/02/rollout-2026-01-02T03-04-05-{a} 127.0.0.1:80 1{sha256} {sha256}");
    let time = "2026-01-02T03:04:05.678Z é 2026-01-02 03:04, 2026-01-02";
    let expected = "ID ID2 ID ROOT/DATE/rollout-TIME-ID2 HOST ";
    assert_eq!(world.steady(&format!("{text} {time}")), format!("{expected}1{sha256} SHA256 TIME é TIME, 2026-01-02"));
}
