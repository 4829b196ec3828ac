//! Tests of the API for clients of cogito-ergo.

use http_body_util::BodyExt;
use tower_service::Service;

use super::*;
use crate::{
    daemon::state::testing::shared_with,
    infer::{FakeModels, InferError, ModelRole, Models, NoModels},
};

const LIMITS: Limits = Limits { recall: 50, recall_threshold: 400.0, query_threshold: 250.0 };

struct CompatServer {
    router: Router,
    _folder: tempfile::TempDir,
}

impl CompatServer {
    fn new() -> Self {
        Self::with(Arc::new(NoModels))
    }

    fn with(models: Arc<dyn Models>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let scope = Scope::new("acme", "agent").unwrap();
        let router = router(
            shared_with(folder.path(), models).unwrap(),
            CompatCaller { scope, who: "ada".into(), token: None, limits: LIMITS },
        );
        Self { router, _folder: folder }
    }

    async fn send(&mut self, mut request: Request<Body>) -> (u16, Value) {
        request.headers_mut().entry(header::HOST).or_insert(HeaderValue::from_static("127.0.0.1"));
        let response = self.router.call(request).await.unwrap();
        let status = response.status().as_u16();
        let bytes = response.into_body().collect().await.unwrap().to_bytes();
        (status, serde_json::from_slice(&bytes).unwrap())
    }

    async fn get(&mut self, path: &str) -> (u16, Value) {
        self.send(Request::get(path).body(Body::empty()).unwrap()).await
    }

    async fn post(&mut self, path: &str, body: Value) -> (u16, Value) {
        self.send(Request::post(path).body(Body::from(body.to_string())).unwrap()).await
    }
}

fn keys(value: &Value) -> Vec<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

#[tokio::test]
async fn each_path_has_the_shape_that_its_clients_know() {
    let mut server = CompatServer::new();
    let (status, health) = server.get("/health").await;
    assert_eq!((status, keys(&health)), (200, vec!["calibrated", "count", "snapshot", "status", "version"]));
    assert_eq!((&health["count"], &health["snapshot"]), (&json!(0), &json!(false)));
    assert_eq!(server.get("/snapshot").await.0, 404);

    let (status, stored) = server.post("/store", json!({"text": " The api listens on 8080 ", "id": "n-1"})).await;
    assert_eq!((status, &stored["id"], &stored["text"]), (200, &json!("n-1"), &json!("The api listens on 8080")));
    let (status, added) = server.post("/add", json!({"text": "Deploys run on green CI"})).await;
    assert_eq!((status, &added["count"], &added["memories"]), (200, &json!(1), &json!(["Deploys run on green CI"])));
    assert_eq!(keys(&added), ["count", "memories", "method", "note", "status"]);
    assert!(added["note"].as_str().unwrap().contains("word for word"));
    // The same text is stored once, and the same id keeps the last text.
    server.post("/add", json!({"text": "Deploys run on green CI"})).await;
    server.post("/store", json!({"text": "The api listens on 9090", "id": "n-1"})).await;
    assert_eq!(server.get("/health").await.1["count"], json!(2));

    let (status, snapshot) = server.get("/snapshot").await;
    assert_eq!((status, keys(&snapshot)), (200, vec!["path", "snapshot"]));
    assert!(snapshot["snapshot"].as_str().unwrap().contains("9090"));
    let asked = json!({"text": "where does the api listen", "limit": 50, "threshold": 400.0});
    let (status, found) = server.post("/recall", asked.clone()).await;
    assert_eq!(
        (status, keys(&found)),
        (200, vec!["by_meaning", "memories", "method", "note", "probability", "verdict"])
    );
    assert_eq!(found["method"], "fallback_no_endpoint");
    assert_eq!(keys(&found["memories"][0]), ["score", "text"]);
    assert_eq!(found["memories"][0]["text"], "The api listens on 9090");
    let (_, found) = server.post("/recall_b", asked.clone()).await;
    assert!(found["method"].as_str().unwrap().starts_with("decompose_"));
    let (_, found) = server.post("/query", asked).await;
    assert_eq!((found.get("method"), &found["memories"][0]["text"]), (None, &json!("The api listens on 9090")));
    let (_, empty) = server.post("/recall", json!({"text": "  "})).await;
    assert_eq!(empty, json!({"memories": [], "method": "empty_query"}));
}

const CHAT: &str =
    "Morning! Invoices are kept in Postgres.\nHow was the trip?\n- Nobody edits an invoice, e.g. after it was sent.";

async fn added(says: impl Fn(&str) -> Result<Vec<f32>, InferError> + Send + Sync + 'static) -> (Value, Value) {
    let models = FakeModels::new().answering(move |prompt, answers| {
        assert_eq!(answers, ["Yes", "No"]);
        says(&prompt.text)
    });
    let mut server = CompatServer::with(Arc::new(models));
    let (status, added) = server.post("/add", json!({"text": CHAT})).await;
    assert_eq!((status, &added["status"]), (200, &json!("stored")));
    let asked = json!({"text": "invoices", "limit": 50});
    (added, server.post("/recall_b", asked).await.1["memories"].clone())
}

fn texts(memories: &Value) -> Vec<&str> {
    memories.as_array().unwrap().iter().map(|memory| memory["text"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn a_language_model_points_at_the_sentences_that_are_kept_as_they_were_written() {
    let (answer, stored) = added(|asked| {
        assert_eq!(asked.lines().count(), 1, "{asked}");
        Ok(if asked.contains("nvoice") { vec![-0.1, -3.0] } else { vec![-2.0, -0.2] })
    })
    .await;
    let kept = ["Invoices are kept in Postgres.", "Nobody edits an invoice, e.g. after it was sent."];
    assert_eq!((&answer["memories"], &answer["count"]), (&json!(kept), &json!(2)));
    assert_eq!(
        (&answer["method"], &answer["note"]),
        (&json!("extract"), &json!("kept 2 of 4 sentences, word for word"))
    );
    let mut stored = texts(&stored);
    stored.sort_unstable();
    assert_eq!(stored, kept);
}

#[tokio::test]
async fn where_no_model_can_choose_the_text_is_kept_whole_and_the_answer_says_why() {
    let refused = || InferError::Refused("no".into());
    let ended = || InferError::Crashed { role: ModelRole::Llm, why: "ended".into() };
    let cases: [(Result<Vec<f32>, InferError>, &str); 5] = [
        (Ok(vec![f32::NAN, 0.0]), "fallback_parse_error"),
        (Ok(vec![-1.0]), "fallback_parse_error"),
        (Ok(Vec::new()), "fallback_parse_error"),
        (Err(refused()), "fallback_error"),
        (Err(ended()), "fallback_unreachable"),
    ];
    for (reply, method) in cases {
        let (answer, stored) = added(move |_| reply.clone()).await;
        assert_eq!((&answer["method"], &answer["memories"]), (&json!(method), &json!([CHAT])));
        assert!(
            answer["note"]
                .as_str()
                .unwrap()
                .starts_with("stored the whole text word for word; no sentences were selected (")
        );
        assert_eq!(texts(&stored), [CHAT], "{method}");
    }
    let mut server = CompatServer::new();
    let (_, answer) = server.post("/add", json!({"text": CHAT})).await;
    assert_eq!(answer["method"], "fallback_no_endpoint");
    // The language model is not asked about a text that is too long to be divided.
    let long = "A sentence. ".repeat(61);
    let (_, answer) = server.post("/add", json!({"text": long.trim()})).await;
    assert_eq!((&answer["method"], &answer["memories"]), (&json!("verbatim"), &json!([long.trim()])));
}

#[tokio::test]
async fn a_chat_line_that_holds_no_fact_stores_none_and_says_so() {
    let (answer, stored) = added(|_| Ok(vec![-3.0, -0.1])).await;
    assert_eq!((&answer["count"], &answer["memories"], &answer["method"]), (&json!(0), &json!([]), &json!("extract")));
    assert!(answer["note"].as_str().unwrap().starts_with("nothing was stored: "), "{answer}");
    assert_eq!(stored, json!([]));
    // A question has no facts, with or without a language model.
    let mut server = CompatServer::new();
    let (_, answer) = server.post("/add", json!({"text": "Hi, how are you?"})).await;
    assert_eq!((&answer["count"], &answer["method"]), (&json!(0), &json!("question")));
    assert_eq!(server.get("/health").await.1["count"], json!(0));
}

#[tokio::test]
async fn scores_are_distances_and_a_threshold_leaves_out_what_is_farther() {
    let mut server = CompatServer::new();
    for text in ["The api listens on 9090", "The api has a nightly build", "Doors are blue"] {
        server.post("/store", json!({"text": text})).await;
    }
    let ask = |threshold: f64| json!({"text": "where does the api listen", "threshold": threshold});
    let distances = |found: &Value| -> Vec<f64> {
        found["memories"].as_array().unwrap().iter().map(|memory| memory["score"].as_f64().unwrap()).collect()
    };
    let (_, all) = server.post("/recall_b", ask(501.0)).await;
    let all = distances(&all);
    assert!(all.len() == 2 && all.is_sorted() && all.iter().all(|far| (0.0..=MAX_DISTANCE).contains(far)), "{all:?}");
    let (_, near) = server.post("/recall_b", ask(f64::midpoint(all[0], all[1]))).await;
    assert_eq!(distances(&near), all[..1]);
    let (_, none) = server.post("/recall_b", ask(1.0)).await;
    assert!(distances(&none).is_empty(), "{none}");
}

#[tokio::test]
async fn a_question_that_nothing_answers_says_so() {
    let mut server = CompatServer::new();
    server.post("/store", json!({"text": "The api listens on 9090"})).await;
    let asked = json!({"text": "which insurance covers the vans of the api team", "threshold": 501.0});
    let (_, answer) = server.post("/recall_b", asked).await;
    let method = answer["method"].as_str().unwrap();
    assert!(method.ends_with("|nearest") || method.ends_with("|nothing"), "{answer}");
    assert!(answer["verdict"] != json!("known") && answer["note"].as_str().unwrap().contains("acme/agent"), "{answer}");
    let (_, answer) = server.post("/recall", json!({"text": "zebra"})).await;
    assert_eq!((&answer["memories"], &answer["verdict"]), (&json!([]), &json!("nothing")), "{answer}");
}

#[tokio::test]
async fn what_is_wrong_is_reported_as_its_clients_know_it() {
    let mut server = CompatServer::new();
    assert_eq!(server.get("/nothing").await, (404, json!({"error": "not found"})));
    let (status, body) = server.send(Request::post("/recall").body(Body::from("{")).unwrap()).await;
    assert_eq!((status, body), (400, json!({"error": "invalid json"})));
    assert_eq!(server.post("/store", json!({"text": "ab"})).await, (400, json!({"error": "no text"})));
    assert_eq!(server.post("/add", json!({})).await, (400, json!({"error": "no text"})));
    let page = Request::get("/health").header("origin", "https://evil.example").body(Body::empty()).unwrap();
    assert_eq!(server.send(page).await.0, 403);
    let bent = Request::get("/health").header("host", "evil.example").body(Body::empty()).unwrap();
    assert_eq!(server.send(bent).await.0, 403);
    let large = json!({"text": "x".repeat(MAX_BODY)});
    assert_eq!(server.post("/store", large).await.0, 413);
}
