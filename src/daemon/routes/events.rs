//! The stream of changes.

use std::{convert::Infallible, time::Duration};

use axum::{
    Extension,
    extract::State,
    response::{
        IntoResponse, Response,
        sse::{Event, KeepAlive, Sse},
    },
};
use futures_util::{
    future::ready,
    stream::{Stream, StreamExt, once, unfold},
};
use serde::Deserialize;
use tokio::sync::broadcast::{Receiver, error::RecvError};
use utoipa::IntoParams;

use super::super::{
    extractors::QueryString, request_checks::RequestSource, response::ErrorResponse, state::SharedState,
};
use crate::api::{ApiError, Change};

/// `GET /events`.
#[derive(Clone, Copy, Debug, Default, Deserialize, IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(in crate::daemon) struct EventsQuery {
    /// Send a comment after this many seconds without an event, so that proxies keep the connection open; by default none is sent.
    keep_alive: Option<u64>,
}

/// Server-sent events: `hello`, then a `change` for each write; `lagged` if some were missed.
#[utoipa::path(get, path = "/events", tag = "daemon", params(EventsQuery), responses(
    (status = 200, description = "Server-sent events; the data of each is a Change", body = Change, content_type = "text/event-stream"),
    (status = 400, body = ApiError),
    (status = 503, description = "Too many streams are open", body = ApiError)))]
pub(in crate::daemon) async fn events(
    State(shared): State<SharedState>,
    Extension(source): Extension<RequestSource>,
    QueryString(query): QueryString<EventsQuery>,
) -> Result<Response, ErrorResponse> {
    let permit = shared.streams.take(source)?;
    let (hello, receiver) = shared.bus.follow();
    let mut ending = shared.ending.subscribe();
    let end = async move {
        // Fails only if the daemon's state was dropped.
        drop(ending.wait_for(|ending| *ending).await);
    };
    let stream = once(ready(hello)).chain(follow(receiver)).take_until(Box::pin(end)).map(move |change| {
        // The stream owns the permit, so that it is released with the response.
        let _held = &permit;
        Ok::<_, Infallible>(encode(change))
    });
    let sse = Sse::new(stream);
    Ok(match query.keep_alive {
        None => sse.into_response(),
        Some(seconds @ 1..=3600) => {
            sse.keep_alive(KeepAlive::new().interval(Duration::from_secs(seconds))).into_response()
        }
        Some(_) => return Err(ApiError::field("keep_alive", "`keep_alive` must be 1 to 3600 seconds").into()),
    })
}

fn follow(receiver: Receiver<Change>) -> impl Stream<Item = Change> {
    unfold(receiver, |mut receiver| async move {
        match receiver.recv().await {
            Ok(change) => Some((change, receiver)),
            Err(RecvError::Lagged(_)) => Some((Change { event: "lagged".to_owned(), ..Change::default() }, receiver)),
            Err(RecvError::Closed) => None,
        }
    })
}

fn encode(change: Change) -> Event {
    let data = serde_json::to_string(&change).unwrap_or_default();
    Event::default().event(change.event).data(data)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::daemon::bus::Bus;

    #[tokio::test]
    async fn changes_are_numbered_and_a_slow_follower_is_notified() {
        let bus = Bus::new();
        bus.send(Change::default());
        let (hello, receiver) = bus.follow();
        assert_eq!((hello.event.as_str(), hello.seq), ("hello", 1));
        let mut stream = Box::pin(follow(receiver));
        bus.send(Change::default());
        let first = stream.next().await.unwrap();
        assert_eq!((first.event.as_str(), first.seq), ("change", 2));
        for _ in 0..5_000 {
            bus.send(Change::default());
        }
        assert_eq!(stream.next().await.unwrap().event, "lagged");
        assert!(stream.next().await.unwrap().seq > first.seq + 1, "and goes on with the newest");
        drop(bus);
        assert_eq!(stream.filter(|change| ready(change.event == "lagged")).count().await, 0, "then it ends");
    }
}
