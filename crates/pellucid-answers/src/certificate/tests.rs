use serde_json::json;

use super::*;

#[test]
fn another_program_version_is_no_difference_and_everything_else_is() {
    let before = json!({ "program": "1", "next": { "extends": { "bytes": true } }, "anchor": null });
    let now = json!({ "program": "2", "next": { "extends": { "bytes": false } }, "anchor": null, "new": 1 });
    let found = differences(&before, &now);
    let places: Vec<&str> = found.iter().map(|(place, ..)| place.as_str()).collect();
    assert_eq!(places, ["/next/extends/bytes", "/new"]);
    assert_eq!(differences(&before, &before), []);
}

#[test]
fn a_certificate_without_a_proof_says_why() {
    let subject = CertificateSubject { session: "S".to_owned(), ..CertificateSubject::default() };
    let value = Certificate::not_provable(subject, &Chain::default(), "no record").to_json();
    assert_eq!((&value["verdict"], &value["why"]), (&json!("not_provable"), &json!("no record")));
    assert_eq!((&value["last"], &value["anchor"]), (&Value::Null, &Value::Null));
}
