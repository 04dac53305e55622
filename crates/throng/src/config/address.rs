//! The address under which the world outside reaches the server.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::net::Ipv4Addr;
use std::str::FromStr;

/// An advertised address: `203.0.113.7`, `203.0.113.7:9000` or nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct PublicAddress {
    /// Address of regions and capabilities in the login reply; `None` if nothing is advertised.
    pub ip: Option<Ipv4Addr>,
    /// The HTTP port as seen from outside; `None` if it is the bound one. UDP ports are never mapped.
    pub http_port: Option<u16>,
}

/// Text is not a public address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not the IPv4 address of a server, with or without a port")]
pub struct NotAnAddress(String);

impl FromStr for PublicAddress {
    type Err = NotAnAddress;

    fn from_str(text: &str) -> Result<Self, NotAnAddress> {
        if text.is_empty() {
            return Ok(Self::default());
        }
        let (ip, port) = text.split_once(':').map_or((text, None), |(ip, port)| (ip, Some(port)));
        let refuse = || NotAnAddress(text.to_owned());
        let http_port =
            port.map(|port| port.parse().ok().filter(|&port| port != 0).ok_or_else(refuse)).transpose()?;
        let ip: Ipv4Addr = ip.parse().map_err(|_| refuse())?;
        // Addresses at which no client finds a server.
        if ip.is_unspecified() || ip.is_broadcast() || ip.is_multicast() {
            return Err(refuse());
        }
        Ok(Self { ip: Some(ip), http_port })
    }
}

impl fmt::Display for PublicAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.ip, self.http_port) {
            (None, _) => Ok(()),
            (Some(ip), None) => write!(f, "{ip}"),
            (Some(ip), Some(port)) => write!(f, "{ip}:{port}"),
        }
    }
}

impl TryFrom<String> for PublicAddress {
    type Error = NotAnAddress;

    fn try_from(text: String) -> Result<Self, NotAnAddress> {
        text.parse()
    }
}

impl From<PublicAddress> for String {
    fn from(address: PublicAddress) -> Self {
        address.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_parse_and_print_alike() {
        for text in ["", "203.0.113.7", "203.0.113.7:9000"] {
            assert_eq!(text.parse::<PublicAddress>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn names_and_broken_ports_are_refused() {
        for text in [
            "example.org",
            "203.0.113",
            "203.0.113.7:",
            "203.0.113.7:0",
            "203.0.113.7:70000",
            "::1",
            "0.0.0.0",
            "0.0.0.0:9000",
            "255.255.255.255",
            "224.0.0.1",
        ] {
            assert!(text.parse::<PublicAddress>().is_err(), "{text}");
        }
    }
}
