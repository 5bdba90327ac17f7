//! Embedding vectors of texts, requested over a real socket.

use super::*;

fn embed(model: &Model) -> Result<Vec<Vec<f32>>, ReplyError> {
    run(model.embed(
        "vec",
        &["a".to_owned(), "b".to_owned()],
        &[("x-own".to_owned(), "1".to_owned())],
        &Attempts::default(),
    ))
}

#[test]
fn vectors_are_asked_for_beside_the_wires_own_path() {
    for wire_api in [WireApi::Responses, WireApi::Chat] {
        let body = r#"{"data":[{"index":0,"embedding":[1,0]},{"index":1,"embedding":[0,1]}]}"#;
        let server = MockServer::start([MockReply::status(200, body)]);
        let provider = Provider { wire_api, ..provider(server.base_url()) };
        assert_eq!(embed(&model(&provider)).unwrap(), [[1.0, 0.0], [0.0, 1.0]]);
        let requests = server.requests();
        assert!(requests[0].path.ends_with("/embeddings"), "{}", requests[0].path);
        assert_eq!(requests[0].header("x-own"), Some("1"));
        let sent: serde_json::Value = serde_json::from_slice(&requests[0].body).unwrap();
        assert_eq!(sent, json!({ "model": "vec", "input": ["a", "b"], "encoding_format": "float" }));
    }
}

#[test]
fn an_answer_without_vectors_is_an_error() {
    let server = MockServer::start([MockReply::status(200, "{}")]);
    let error = embed(&model(&provider(server.base_url()))).unwrap_err();
    assert_eq!(error.message, "the server did not return 2 vectors: {}");
}
