//! Questions about writes, and pairs of claims that wait for a verdict.

use super::{
    Client, LONG_DEADLINE, Request,
    typed::{ClientResult, encode, name_op, post_request},
};
use crate::api::{
    Doubts, DoubtsQuery, JudgeNextRequest, JudgePairsRequest, JudgeRequest, JudgedNext, JudgedPairs, Questions,
    QuestionsQuery, ReadStoryRequest, StoryProgress, WriteOutcome,
};

impl Client {
    /// `POST /judge`: the verdicts on a write that waits.
    pub async fn judge(&self, request: &JudgeRequest) -> ClientResult<WriteOutcome> {
        let mut request = request.clone();
        name_op(&mut request.caller)?;
        self.post("/judge", &request).await
    }

    /// `GET /questions`: writes that wait for verdicts.
    pub async fn questions(&self, query: &QuestionsQuery) -> ClientResult<Questions> {
        self.get("/questions", &encode(query)?).await
    }

    /// `GET /doubts`: pairs of claims that wait for a verdict.
    pub async fn doubts(&self, query: &DoubtsQuery) -> ClientResult<Doubts> {
        self.get("/doubts", &encode(query)?).await
    }

    /// `POST /doubts`: verdicts on pairs that wait.
    pub async fn judge_pairs(&self, request: &JudgePairsRequest) -> ClientResult<JudgedPairs> {
        let mut request = request.clone();
        name_op(&mut request.caller)?;
        self.post("/doubts", &request).await
    }

    /// `POST /story/read`: has a language model read the next part of a whole story.
    pub async fn read_story(&self, request: &ReadStoryRequest) -> ClientResult<StoryProgress> {
        self.value(Request { deadline: LONG_DEADLINE, ..post_request("/story/read", request)? }).await
    }

    /// `POST /doubts/judge`: has a language model judge the next pairs.
    pub async fn judge_next(&self, request: &JudgeNextRequest) -> ClientResult<JudgedNext> {
        self.value(Request { deadline: LONG_DEADLINE, ..post_request("/doubts/judge", request)? }).await
    }
}
