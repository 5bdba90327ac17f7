//! Any bytes are a session file: lines are the same from either end, every line is a record, passed over or set aside, a
//! record can be written and read again, and nothing that lists or opens the file breaks.

use std::io::Cursor;
use std::path::Path;

use pellucid_store::lines::Backwards;
use pellucid_store::read;
use pellucid_store::read::LineReading;
use pellucid_store::summary;
use pellucid_store::walk::SessionPlace;

pub fn check(data: &[u8]) {
    let (records, set_aside) = read::parse(data);
    assert!(records.len() + set_aside.len() <= data.split(|byte| *byte == b'\n').count());
    for record in &records {
        let line = serde_json::to_vec(record).unwrap_or_default();
        assert!(matches!(read::read_line(&line), LineReading::Record(_)), "{}", String::from_utf8_lossy(&line));
    }
    check_backwards(data);
    check_on_disk(data, records.len());
}

fn check_backwards(data: &[u8]) {
    let mut lines = Backwards::new(Cursor::new(data), data.len() as u64);
    let mut found = Vec::new();
    while let Ok(Some(line)) = lines.next_line() {
        assert_eq!(&data[line.start as usize..line.start as usize + line.bytes.len()], line.bytes);
        found.push(line.bytes.to_vec());
    }
    found.reverse();
    let mut expected: Vec<&[u8]> = data.split(|byte| *byte == b'\n').collect();
    if expected.last().is_some_and(|last| last.is_empty()) {
        expected.pop();
    }
    assert_eq!(found, expected);
}

fn check_on_disk(data: &[u8], n_records: usize) {
    let Ok(home) = tempfile::tempdir() else { return };
    let file = Path::new("sessions/2026/01/02/rollout-2026-01-02T03-04-05-019a0000-0000-7000-8000-000000000001.jsonl");
    let path = home.path().join(file);
    let written = path.parent().map_or(Ok(()), std::fs::create_dir_all).and_then(|()| std::fs::write(&path, data));
    if written.is_err() {
        return;
    }
    if let Ok(loaded) = read::read(&path) {
        assert_eq!(loaded.records.len(), n_records);
    }
    let summary = summary::of_file(home.path(), &path, SessionPlace::Live);
    assert_eq!(summary.map(|summary| home.path().join(summary.path)).ok(), Some(path));
}
