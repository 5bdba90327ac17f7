//! Any text is a file of rules or is refused with a line and a reason, and what was saved reads back.

pub fn check(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    match pellucid_rules::evaluate("fuzz.rules", text) {
        Ok(rules) => {
            for rule in rules {
                let again = pellucid_rules::evaluate("fuzz.rules", &rule.to_string())
                    .expect("a rule that is shown can be read");
                assert_eq!(again.len(), 1);
                assert_eq!((&again[0].first, &again[0].rest), (&rule.first, &rule.rest));
            }
        }
        Err(fault) => assert!(fault.line > 0 && !fault.message.is_empty()),
    }
}
