//! Any shell script can be taken apart or is judged as a whole, and a patch in it is found or not.

use pellucid_engine::approval::grants::canonical;
use pellucid_engine::approval::part::Split;
use pellucid_engine::approval::program::Programs;
use pellucid_exec::script;

pub fn check(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    for flag in ["-c", "-lc", "-x"] {
        let argv = ["bash", flag, text].map(str::to_owned);
        let parts = script::parts(&argv);
        assert!(parts.iter().count() > 0);
        if matches!(parts.split(), Split::NoScript | Split::Opaque) {
            assert!(parts.iter().all(|part| part.words == argv));
        }
        for part in parts.iter() {
            assert!(!part.words.is_empty());
        }
        assert!(!canonical(&argv, &parts, &Programs::default()).is_empty());
        let _ = script::patch_in(&argv, |_| false);
    }
    let words: Vec<String> = text.split('\n').map(str::to_owned).collect();
    let _ = (script::parts(&words), script::patch_in(&words, |_| true));
}
