//! The address of a request's client: the peer of its connection, or, behind a trusted proxy, the address seen by the proxy.
//!
//! A proxy appends its own peer to `X-Forwarded-For` or `Forwarded`; anything further to the left is that peer's claim. So the list is
//! read from the right, past trusted proxies, to the first address of another kind: the last one seen by a trusted peer. Only the
//! configured header is read, since a proxy passes the other one on unchanged.

use super::Peer;
use axum::http::{HeaderMap, HeaderName, header};
use ipnet::IpNet;
use std::net::{IpAddr, SocketAddr};

const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const X_REAL_IP: HeaderName = HeaderName::from_static("x-real-ip");

/// The header in which proxies name their clients.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ProxyHeader {
    /// `X-Forwarded-For: 192.0.2.1, 10.0.0.7`.
    #[default]
    XForwardedFor,
    /// `Forwarded: for=192.0.2.1;proto=https, for=10.0.0.7` (RFC 7239).
    Forwarded,
}

/// The proxies in front of the server.
#[derive(Clone, Debug, Default)]
pub struct Proxies {
    trusted: Vec<IpNet>,
    header: ProxyHeader,
}

impl Proxies {
    /// Trusted proxies at these addresses, which name their clients in this header.
    #[must_use]
    pub const fn new(trusted: Vec<IpNet>, header: ProxyHeader) -> Self {
        Self { trusted, header }
    }

    /// True if this address is a trusted proxy's.
    #[must_use]
    pub fn trusts(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        self.trusted.iter().any(|network| network.contains(&address))
    }

    /// Both ends of a request that came over a connection from `remote`.
    #[must_use]
    pub fn peer(&self, remote: SocketAddr, local: SocketAddr, headers: &HeaderMap) -> Peer {
        if !self.trusts(remote.ip()) {
            // Any client can send these headers; but a request with them came through an undeclared proxy.
            let is_direct = ![X_FORWARDED_FOR, X_REAL_IP, header::FORWARDED, header::VIA]
                .iter()
                .any(|name| headers.contains_key(name));
            return Peer { remote, local, is_direct };
        }
        Peer { remote: SocketAddr::new(self.client(remote.ip(), headers), 0), local, is_direct: false }
    }

    /// The last address on the way to the proxy at `nearest` that a trusted proxy has seen.
    fn client(&self, nearest: IpAddr, headers: &HeaderMap) -> IpAddr {
        let name = match self.header {
            ProxyHeader::XForwardedFor => X_FORWARDED_FOR,
            ProxyHeader::Forwarded => header::FORWARDED,
        };
        let mut client = nearest;
        for value in headers.get_all(name).into_iter().collect::<Vec<_>>().into_iter().rev() {
            let Ok(text) = value.to_str() else { return client };
            // Also inside quotes: a client could open one that the proxy's own element does not close.
            for hop in text.rsplit(',') {
                let address = match self.header {
                    ProxyHeader::XForwardedFor => node_address(hop.trim()),
                    ProxyHeader::Forwarded => forwarded_for(hop),
                };
                // An unreadable element ends the chain: left of it nothing is known.
                let Some(address) = address else { return client };
                client = address.to_canonical();
                if !self.trusts(client) {
                    return client;
                }
            }
        }
        client
    }
}

/// The address in `for=` of one element of `Forwarded`.
fn forwarded_for(element: &str) -> Option<IpAddr> {
    let mut named = element.split(';').filter_map(|pair| pair.split_once('='));
    let (_, node) = named.find(|(name, _)| name.trim().eq_ignore_ascii_case("for"))?;
    node_address(node.trim().trim_matches('"'))
}

/// `192.0.2.1`, `192.0.2.1:5000`, `2001:db8::1`, `[2001:db8::1]` or `[2001:db8::1]:5000`.
fn node_address(node: &str) -> Option<IpAddr> {
    let in_brackets = node.strip_prefix('[').and_then(|node| node.strip_suffix(']'));
    let bare = in_brackets.unwrap_or(node).parse::<IpAddr>().ok();
    bare.or_else(|| node.parse::<SocketAddr>().ok().map(|with_port| with_port.ip()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;
    use proptest::prelude::*;

    fn proxies(header: ProxyHeader) -> Proxies {
        Proxies::new(["127.0.0.1/32", "10.0.0.0/8"].map(|text| text.parse().unwrap()).into(), header)
    }

    fn peer(proxies: &Proxies, remote: &str, headers: &[(&'static str, &str)]) -> (String, bool) {
        let remote = SocketAddr::new(remote.parse().unwrap(), 4_000);
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(*name, HeaderValue::from_str(value).unwrap());
        }
        let peer = proxies.peer(remote, "127.0.0.1:9000".parse().unwrap(), &map);
        (peer.remote.ip().to_string(), peer.is_this_machine())
    }

    #[test]
    fn the_rightmost_address_that_is_no_proxys_is_the_clients() {
        let proxies = proxies(ProxyHeader::XForwardedFor);
        let x = "x-forwarded-for";
        for (headers, expected) in [
            (&[(x, "203.0.113.9")][..], "203.0.113.9"),
            (&[(x, "198.51.100.1, 203.0.113.9, 10.1.2.3")], "203.0.113.9"),
            // The client's claim stands to the left.
            (&[(x, "127.0.0.1, 203.0.113.9")], "203.0.113.9"),
            (&[(x, "198.51.100.1"), (x, "203.0.113.9:5000, 10.0.0.1")], "203.0.113.9"),
            (&[(x, "2001:db8::7")], "2001:db8::7"),
            (&[(x, "[2001:db8::7]:4711")], "2001:db8::7"),
            (&[(x, "::ffff:203.0.113.9")], "203.0.113.9"),
            // Nothing is known beyond an unreadable element.
            (&[(x, "203.0.113.9, unknown, 10.0.0.1")], "10.0.0.1"),
            (&[(x, "unknown")], "127.0.0.1"),
            // The other header is the client's own claim.
            (&[("forwarded", "for=127.0.0.1"), (x, "203.0.113.9")], "203.0.113.9"),
            (&[], "127.0.0.1"),
        ] {
            assert_eq!(peer(&proxies, "127.0.0.1", headers), (expected.to_owned(), false), "{headers:?}");
        }
    }

    #[test]
    fn elements_of_forwarded_are_read_with_their_quotes() {
        let proxies = proxies(ProxyHeader::Forwarded);
        for (value, expected) in [
            ("for=203.0.113.9;proto=https, for=10.0.0.1", "203.0.113.9"),
            ("for=198.51.100.1, proto=http;For=\"[2001:db8::17]:4711\";by=10.0.0.1", "2001:db8::17"),
            ("for=_hidden", "127.0.0.1"),
            ("for=\"_hidden, for=203.0.113.9", "203.0.113.9"),
            ("proto=https", "127.0.0.1"),
        ] {
            let found =
                peer(&proxies, "127.0.0.1", &[("forwarded", value), ("x-forwarded-for", "192.0.2.1")]);
            assert_eq!(found, (expected.to_owned(), false), "{value}");
        }
    }

    #[test]
    fn headers_of_strangers_say_nothing_but_that_there_is_a_proxy() {
        let trusting = proxies(ProxyHeader::XForwardedFor);
        let claim = [("x-forwarded-for", "127.0.0.1")];
        assert_eq!(peer(&trusting, "203.0.113.9", &claim), ("203.0.113.9".to_owned(), false));
        let none = Proxies::default();
        assert_eq!(peer(&none, "127.0.0.1", &[]), ("127.0.0.1".to_owned(), true));
        for header in ["x-forwarded-for", "x-real-ip", "forwarded", "via"] {
            let found = peer(&none, "127.0.0.1", &[(header, "203.0.113.9")]);
            assert_eq!(found, ("127.0.0.1".to_owned(), false), "{header}: a proxy that was not declared");
        }
    }

    proptest! {
        /// The proxy's appended address is found behind any claim of the client.
        #[test]
        fn a_claim_never_hides_the_client(claim in "[ -~]{0,40}", appends in any::<bool>()) {
            for (header, name, seen) in [
                (ProxyHeader::XForwardedFor, "x-forwarded-for", "203.0.113.9"),
                (ProxyHeader::Forwarded, "forwarded", "for=203.0.113.9"),
            ] {
                // A proxy appends to the line or adds one.
                let headers: Vec<(&'static str, String)> = if appends {
                    vec![(name, format!("{claim}, {seen}"))]
                } else {
                    vec![(name, claim.clone()), (name, seen.to_owned())]
                };
                let headers: Vec<(&'static str, &str)> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
                prop_assert_eq!(peer(&proxies(header), "127.0.0.1", &headers).0, "203.0.113.9");
            }
        }
    }
}
