//! HTTP requests, as few kinds as the bots need: GET and POST over plain TCP, with a deadline and a bounded answer.

use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Bytes;
use hyper::header::CONTENT_TYPE;
use hyper::{Method, Request, StatusCode, Uri};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use std::time::Duration;
use wire::llsd::Limits;

/// Connections that wait for the next request of any bot; more are closed. Event queues hold one each meanwhile.
const IDLE_MAX: usize = 64;

/// An answer, of any status.
#[derive(Debug)]
pub(super) struct HttpAnswer {
    pub(super) status: StatusCode,
    pub(super) body: Bytes,
}

/// Failure of a request.
#[derive(Debug, thiserror::Error)]
pub(super) enum HttpError {
    /// No listener, or a broken connection.
    #[error("no connection: {0}")]
    Connection(#[from] hyper_util::client::legacy::Error),
    /// The answer broke off or is longer than any that a client takes.
    #[error("broken answer: {0}")]
    Body(Box<dyn std::error::Error + Send + Sync>),
    /// The deadline passed.
    #[error("no answer within {0:?}")]
    Timeout(Duration),
}

/// Makes requests. Clones share their connections.
#[derive(Clone, Debug)]
pub(super) struct Http {
    client: Client<HttpConnector, Full<Bytes>>,
}

impl Http {
    pub(super) fn new() -> Self {
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_max_idle_per_host(IDLE_MAX)
            .build(connector);
        Self { client }
    }

    pub(super) async fn post(
        &self,
        uri: &Uri,
        content_type: &'static str,
        body: impl Into<Bytes>,
        timeout: Duration,
    ) -> Result<HttpAnswer, HttpError> {
        let request = Request::builder()
            .method(Method::POST)
            .uri(uri)
            .header(CONTENT_TYPE, content_type)
            .body(Full::new(body.into()))
            .expect("address and header were checked before");
        self.within(timeout, request).await
    }

    pub(super) async fn get(&self, uri: &Uri, timeout: Duration) -> Result<HttpAnswer, HttpError> {
        let request =
            Request::builder().uri(uri).body(Full::default()).expect("the address was checked before");
        self.within(timeout, request).await
    }

    async fn within(
        &self,
        timeout: Duration,
        request: Request<Full<Bytes>>,
    ) -> Result<HttpAnswer, HttpError> {
        tokio::time::timeout(timeout, self.answer(request)).await.map_err(|_| HttpError::Timeout(timeout))?
    }

    async fn answer(&self, request: Request<Full<Bytes>>) -> Result<HttpAnswer, HttpError> {
        let (head, body) = self.client.request(request).await?.into_parts();
        let body = Limited::new(body, Limits::REPLY.bytes_max).collect().await.map_err(HttpError::Body)?;
        Ok(HttpAnswer { status: head.status, body: body.to_bytes() })
    }
}

/// Reads an absolute `http://` address.
pub(super) fn parse_uri(text: &str) -> Result<Uri, String> {
    let uri: Uri = text.parse().map_err(|error: hyper::http::uri::InvalidUri| error.to_string())?;
    match (uri.scheme_str(), uri.host()) {
        (Some("http"), Some(_)) => Ok(uri),
        (Some(scheme), _) => Err(format!("{scheme} is not supported")),
        _ => Err("it has no scheme and host".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_absolute_plain_addresses_are_taken() {
        assert!(parse_uri("http://127.0.0.1:9000/").is_ok());
        assert!(parse_uri("http://grid.example").is_ok());
        for wrong in ["", "127.0.0.1:9000", "/cap/1", "https://127.0.0.1/", "http://", "a b"] {
            assert!(parse_uri(wrong).is_err(), "{wrong:?}");
        }
    }
}
