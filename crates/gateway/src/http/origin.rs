//! Requests that another site's page makes in a visitor's browser: refused.
//!
//! A browser on the operator's machine reaches addresses that the page's author cannot reach. It sends a page's source in `Origin`, and
//! only the server can refuse a foreign page's WebSocket. `Origin` alone does not help against a name that resolves to this machine
//! after the page was loaded (DNS rebinding): then page and request agree. So the live feed and everything at the operator's address
//! also require a `Host` outside any foreign name server's control: an address, a name without a dot, or one that the configuration
//! lists.

use super::reply;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::Response;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

/// The names under which this server is reached, besides addresses and names without a dot.
#[derive(Clone, Debug, Default)]
pub struct Hostnames(Arc<[String]>);

/// Reasons for refusing a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
enum ForeignRequest {
    #[error("Pages of other sites may not ask for this.")]
    Origin,
    #[error("This server does not go by that name; if it should, list it in `server.hostnames`.")]
    Host,
}

impl ForeignRequest {
    const fn status(self) -> StatusCode {
        match self {
            Self::Origin => StatusCode::FORBIDDEN,
            Self::Host => StatusCode::MISDIRECTED_REQUEST,
        }
    }
}

impl Hostnames {
    /// These, regardless of case.
    #[must_use]
    pub fn new(names: &[String]) -> Self {
        Self(names.iter().map(|name| name.to_ascii_lowercase()).collect())
    }

    /// True if no foreign name server can control this host.
    fn is_own(&self, host: &str) -> bool {
        let host = host.to_ascii_lowercase();
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        bare.parse::<IpAddr>().is_ok()
            || !host.contains('.') && !host.is_empty()
            || host.ends_with(".localhost")
            || self.0.contains(&host)
    }

    /// Checks that the requesting page, if any, is our own.
    fn check_origin(&self, method: &Method, headers: &HeaderMap) -> Result<(), ForeignRequest> {
        let is_read = matches!(*method, Method::GET | Method::HEAD);
        if !is_read && headers.get("sec-fetch-site").is_some_and(|site| site == "cross-site") {
            return Err(ForeignRequest::Origin);
        }
        let Some(origin) = headers.get(header::ORIGIN) else { return Ok(()) };
        let origin = origin.to_str().ok().and_then(|origin| origin.split_once("://"));
        let Some((scheme, origin)) = origin else { return Err(ForeignRequest::Origin) };
        let usual_port = match scheme {
            "http" => 80,
            "https" => 443,
            _ => return Err(ForeignRequest::Origin),
        };
        let host = host_of(headers).ok_or(ForeignRequest::Origin)?;
        let (origin, host) = (split_port(origin, usual_port), split_port(host, usual_port));
        if origin.is_none() || origin != host {
            return Err(ForeignRequest::Origin);
        }
        self.check_host(headers)
    }

    fn check_host(&self, headers: &HeaderMap) -> Result<(), ForeignRequest> {
        let host = host_of(headers).and_then(|host| split_port(host, 80));
        match host {
            Some((host, _)) if self.is_own(&host) => Ok(()),
            _ => Err(ForeignRequest::Host),
        }
    }
}

fn host_of(headers: &HeaderMap) -> Option<&str> {
    headers.get(header::HOST)?.to_str().ok()
}

/// Host in lower case and port of `host`, `host:port`, `[::1]` or `[::1]:port`.
fn split_port(authority: &str, usual: u16) -> Option<(String, u16)> {
    let authority = authority.to_ascii_lowercase();
    if let Ok(address) = authority.parse::<SocketAddr>() {
        return Some((address.ip().to_string(), address.port()));
    }
    let bare = authority.trim_start_matches('[').trim_end_matches(']');
    if let Ok(ip) = bare.parse::<IpAddr>() {
        return Some((ip.to_string(), usual));
    }
    match authority.split_once(':') {
        None => Some((authority, usual)),
        Some((host, port)) => Some((host.to_owned(), port.parse().ok()?)),
    }
}

/// Guard of the public address: refuses requests by pages of other sites, and the live feed under foreign names.
pub(super) async fn guard_public(State(names): State<Hostnames>, request: Request, next: Next) -> Response {
    let checked = names.check_origin(request.method(), request.headers()).and_then(|()| {
        let is_live = request.uri().path() == super::live::PATH;
        if is_live { names.check_host(request.headers()) } else { Ok(()) }
    });
    match checked {
        Ok(()) => next.run(request).await,
        Err(foreign) => reply::error(foreign.status(), &foreign.to_string()),
    }
}

/// Of the operator's address: both for everything.
pub(super) async fn guard_operator(State(names): State<Hostnames>, request: Request, next: Next) -> Response {
    let headers = request.headers();
    match names.check_host(headers).and_then(|()| names.check_origin(request.method(), headers)) {
        Ok(()) => next.run(request).await,
        Err(foreign) => reply::refused(foreign.status(), &foreign.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::{HeaderName, HeaderValue};

    const EVIL: &str = "http://evil.example";

    fn names() -> Hostnames {
        Hostnames::new(&["Grid.Example.org".to_owned()])
    }

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        pairs
            .iter()
            .map(|&(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)))
            .collect()
    }

    #[test]
    fn only_our_own_pages_and_clients_without_a_page_are_heard() {
        let own = [
            "127.0.0.1:9000",
            "localhost:9000",
            "[::1]:9000",
            "grid.example.org:9000",
            "GRID.example.org:9000",
        ];
        for host in own {
            let origin = HeaderValue::from_str(&format!("http://{}", host.to_lowercase())).unwrap();
            let mut map = headers(&[]);
            map.insert(header::HOST, HeaderValue::from_static(host));
            for method in [Method::GET, Method::POST] {
                assert_eq!(names().check_origin(&method, &map), Ok(()), "{host}: no page");
            }
            map.insert(header::ORIGIN, origin);
            assert_eq!(names().check_origin(&Method::POST, &map), Ok(()), "{host}: our own");
            map.insert(header::ORIGIN, HeaderValue::from_static(EVIL));
            assert_eq!(names().check_origin(&Method::POST, &map), Err(ForeignRequest::Origin), "{host}");
            assert_eq!(names().check_origin(&Method::GET, &map), Err(ForeignRequest::Origin), "{host}");
        }
        // Behind a proxy with TLS the port is the usual one.
        let https = headers(&[("host", "grid.example.org"), ("origin", "https://grid.example.org")]);
        assert_eq!(names().check_origin(&Method::POST, &https), Ok(()));
    }

    #[test]
    fn pages_in_frames_files_and_other_ports_are_foreign() {
        for origin in
            ["null", "file://", "http://127.0.0.1:8080", "http://127.0.0.1", "ftp://127.0.0.1:9000", ""]
        {
            let map = headers(&[("host", "127.0.0.1:9000"), ("origin", origin)]);
            assert_eq!(names().check_origin(&Method::POST, &map), Err(ForeignRequest::Origin), "{origin:?}");
        }
        let cross_site = headers(&[("host", "127.0.0.1:9000"), ("sec-fetch-site", "cross-site")]);
        assert_eq!(names().check_origin(&Method::POST, &cross_site), Err(ForeignRequest::Origin));
        assert_eq!(names().check_origin(&Method::GET, &cross_site), Ok(()), "a link may lead here");
    }

    #[test]
    fn a_name_that_a_strangers_name_server_answers_for_is_not_ours() {
        for (host, is_own) in [
            ("127.0.0.1:9009", true),
            ("[::1]", true),
            ("localhost", true),
            ("throng:9009", true),
            ("a.localhost:9009", true),
            ("grid.example.org", true),
            ("evil.example:9009", false),
            ("127.0.0.1.evil.example", false),
            ("grid.example.org.evil.example", false),
            ("", false),
        ] {
            assert_eq!(names().check_host(&headers(&[("host", host)])).is_ok(), is_own, "{host:?}");
        }
        assert!(names().check_host(&headers(&[])).is_err());
        // Page and request agree, and yet it is a stranger's page.
        let rebound = headers(&[("host", "evil.example:9000"), ("origin", "http://evil.example:9000")]);
        assert_eq!(names().check_origin(&Method::GET, &rebound), Err(ForeignRequest::Host));
    }
}
