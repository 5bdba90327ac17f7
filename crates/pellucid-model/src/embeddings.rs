//! Embedding vectors of texts: the body of a request to OpenAI's `/embeddings`, and its response.

use bytes::Bytes;
use serde::Deserialize;
use serde_json::Value;
use serde_json::json;

/// How many bytes of an unreadable response an error shows.
const SHOWN_MAX: usize = 200;

/// The body of a request.
pub(crate) fn body(model: &str, texts: &[String]) -> Bytes {
    json!({ "model": model, "input": texts, "encoding_format": "float" }).to_string().into()
}

#[derive(Deserialize)]
struct Answer {
    data: Vec<Row>,
}

#[derive(Deserialize)]
struct Row {
    embedding: Vec<f32>,
    index: Option<usize>,
}

/// The vectors in a response, in the order of the texts.
pub(crate) fn vectors(body: &[u8], n_texts: usize) -> Result<Vec<Vec<f32>>, String> {
    let odd = || {
        let shown: String = String::from_utf8_lossy(body).chars().take(SHOWN_MAX).collect();
        format!("the server did not return {n_texts} vectors: {shown}")
    };
    let mut rows = match serde_json::from_slice::<Answer>(body) {
        Ok(answer) => answer.data,
        // Some servers return the list without an object around it.
        Err(_) => {
            let rows: Vec<Value> = serde_json::from_slice(body).map_err(|_| odd())?;
            let row = |row: Value| Some(Row { embedding: serde_json::from_value(row).ok()?, index: None });
            rows.into_iter().map(row).collect::<Option<_>>().ok_or_else(odd)?
        }
    };
    rows.sort_by_key(|row| row.index);
    if rows.len() != n_texts || rows.iter().any(|row| row.embedding.is_empty()) {
        return Err(odd());
    }
    Ok(rows.into_iter().map(|row| row.embedding).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_read_in_the_order_of_the_texts() {
        let body = br#"{"data":[{"index":1,"embedding":[2]},{"index":0,"embedding":[1,0.5]}],"usage":{}}"#;
        assert_eq!(vectors(body, 2), Ok(vec![vec![1.0, 0.5], vec![2.0]]));
        assert_eq!(vectors(b"[[1],[2]]", 2), Ok(vec![vec![1.0], vec![2.0]]));
    }

    #[test]
    fn an_answer_that_is_none_is_shown() {
        let error = vectors(br#"{"error":"no such model"}"#, 1).unwrap_err();
        assert_eq!(error, r#"the server did not return 1 vectors: {"error":"no such model"}"#);
        assert!(vectors(br#"{"data":[]}"#, 1).is_err());
    }
}
