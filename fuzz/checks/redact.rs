//! Any text is gone through whole: what is blanked says so, what is known to be secret is gone, and nothing else changes.

use pellucid_store::redact::MARK;
use pellucid_store::redact::Redactor;

/// A secret that the caller knows.
const KNOWN: &str = "hunter2hunter2";

pub fn check(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let redactor = Redactor::new([KNOWN.to_owned()]);
    let (blanked, n) = redactor.text(&text);
    assert_eq!(n == 0, blanked == text);
    assert!(!blanked.contains(KNOWN));
    assert!(blanked.matches(MARK).count() >= n);
    for line in data.split(|byte| *byte == b'\n') {
        if let Ok(mut value) = serde_json::from_slice::<serde_json::Value>(line) {
            let before = value.clone();
            assert_eq!(redactor.value(&mut value) == 0, value == before);
        }
    }
}
