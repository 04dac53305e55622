//! Bytes of a login: a viewer's XML-RPC call, and the parsed reply. Sending them is [`crate::driver`]'s part.

use crate::identity::Identity;
use ids::{AgentId, CircuitCode, RegionHandle, SessionId, Uuid};
use md5::{Digest, Md5};
use std::fmt::Write as _;
use std::net::{Ipv4Addr, SocketAddrV4};
use wire::Malformed;
use wire::llsd::{Limits, Llsd};
use wire::xmlrpc::{self, MethodCall, Response};

/// Characters of a password that clients hash.
const PASSWORD_CHARS_MAX: usize = 16;

/// Type of the folder for rubbish.
const TRASH: i32 = 14;

/// Edge of a region if the server does not state it.
const REGION_SIZE_M: u32 = 256;

/// Options that viewers request in a login reply.
const OPTIONS: [&str; 20] = [
    "inventory-root",
    "inventory-skeleton",
    "inventory-lib-root",
    "inventory-lib-owner",
    "inventory-skel-lib",
    "initial-outfit",
    "gestures",
    "display_names",
    "event_categories",
    "event_notifications",
    "classified_categories",
    "adult_compliant",
    "buddy-list",
    "newuser-config",
    "ui-config",
    "max-agent-groups",
    "map-server-url",
    "login-flags",
    "global-textures",
    "tutorial_setting",
];

/// Everything a bot needs from a login reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Credentials {
    /// Identity of the bot on its circuits.
    pub identity: Identity,
    /// Address of the region's server.
    pub simulator: SocketAddrV4,
    /// Position of the region on the grid.
    pub region: RegionHandle,
    /// Edge of the region in metres.
    pub region_size_m: u32,
    /// URL that grants the other capabilities.
    pub seed_capability: String,
    /// Folder that holds all others.
    pub inventory_root: Uuid,
    /// Folder for rubbish; nil if the reply has none.
    pub trash_folder: Uuid,
    /// Secret of the session, of which ids of uploads in messages are made; nil if the reply has none.
    pub secure_session: Uuid,
}

/// Failure of a login.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LoginFailure {
    /// The server said no.
    #[error("refused ({reason}): {message}")]
    Refused {
        /// For programs: `key`, `presence` …
        reason: String,
        /// For people.
        message: String,
    },
    /// The server answered with an XML-RPC fault.
    #[error("fault: {0}")]
    Fault(String),
    /// The reply is no XML-RPC.
    #[error("unreadable reply: {0}")]
    Malformed(#[from] Malformed),
    /// The reply lacks a field, or has it in a form that no client reads.
    #[error("reply without a usable {0}")]
    Field(&'static str),
}

/// The body of the login call, `Content-Type: text/xml`. Logs in where the user was last.
#[must_use]
pub fn request(first: &str, last: &str, password: &str) -> String {
    let text = |value: &str| Llsd::from(value);
    let fields = [
        ("first", text(first)),
        ("last", text(last)),
        ("passwd", Llsd::from(password_digest(password))),
        ("start", text("last")),
        ("channel", text("Throng Bots")),
        ("version", text(env!("CARGO_PKG_VERSION"))),
        ("platform", text("lnx")),
        ("mac", text("00000000000000000000000000000000")),
        ("id0", text("00000000000000000000000000000000")),
        ("agree_to_tos", Llsd::from(1)),
        ("read_critical", Llsd::from(1)),
        ("options", Llsd::array(OPTIONS)),
    ];
    xmlrpc::encode_call(&MethodCall {
        method: "login_to_simulator".to_owned(),
        params: vec![Llsd::map(fields)],
    })
}

/// Reads the body of the reply.
///
/// # Errors
/// [`LoginFailure`] names the cause.
pub fn read_reply(body: &[u8]) -> Result<Credentials, LoginFailure> {
    let reply = match xmlrpc::decode_response(body, Limits::REPLY)? {
        Response::Value(value) => value,
        Response::Fault(fault) => return Err(LoginFailure::Fault(fault.message)),
    };
    if reply.get("login").as_bool() != Some(true) {
        let text = |key: &str| reply.get(key).to_text().unwrap_or_default();
        return Err(LoginFailure::Refused { reason: text("reason"), message: text("message") });
    }
    let uuid = |key| reply.get(key).as_uuid().ok_or(LoginFailure::Field(key));
    let number = |key| reply.get(key).as_i32().ok_or(LoginFailure::Field(key));
    let metres = |key| number(key).and_then(|metres| u32::try_from(metres).or(Err(LoginFailure::Field(key))));
    let ip: Ipv4Addr =
        reply.get("sim_ip").as_str().and_then(|ip| ip.parse().ok()).ok_or(LoginFailure::Field("sim_ip"))?;
    let port = u16::try_from(number("sim_port")?).or(Err(LoginFailure::Field("sim_port")))?;
    let size_m = reply.get("region_size_x").as_i32().and_then(|metres| u32::try_from(metres).ok());
    Ok(Credentials {
        identity: Identity {
            agent: AgentId(uuid("agent_id")?),
            session: SessionId(uuid("session_id")?),
            circuit_code: CircuitCode(number("circuit_code")?.cast_unsigned()),
        },
        simulator: SocketAddrV4::new(ip, port),
        region: RegionHandle(u64::from(metres("region_x")?) << 32 | u64::from(metres("region_y")?)),
        region_size_m: size_m.unwrap_or(REGION_SIZE_M),
        seed_capability: reply
            .get("seed_capability")
            .as_str()
            .ok_or(LoginFailure::Field("seed_capability"))?
            .to_owned(),
        inventory_root: reply
            .get("inventory-root")
            .at(0)
            .get("folder_id")
            .as_uuid()
            .ok_or(LoginFailure::Field("inventory-root"))?,
        trash_folder: folder_of_type(&reply, TRASH).unwrap_or_default(),
        secure_session: reply.get("secure_session_id").as_uuid().unwrap_or_default(),
    })
}

/// A system folder of the skeleton, by its type.
fn folder_of_type(reply: &Llsd, folder_type: i32) -> Option<Uuid> {
    let skeleton = reply.get("inventory-skeleton").as_array().iter();
    let mut of_type = skeleton.filter(|folder| folder.get("type_default").as_i32() == Some(folder_type));
    of_type.next()?.get("folder_id").as_uuid()
}

/// The form in which passwords travel: `$1$` and the MD5 of their first characters in hex.
fn password_digest(password: &str) -> String {
    let hashed: String = password.chars().take(PASSWORD_CHARS_MAX).collect();
    let mut digest = String::from("$1$");
    for byte in Md5::digest(hashed) {
        write!(digest, "{byte:02x}").expect("a string takes everything");
    }
    digest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reply(changes: &[(&str, Llsd)]) -> Llsd {
        let id = |number: u128| Llsd::from(Uuid::from_u128(number).to_string());
        let fields = [
            ("login", Llsd::from("true")),
            ("agent_id", id(1)),
            ("session_id", id(2)),
            ("circuit_code", Llsd::from(-5)),
            ("sim_ip", Llsd::from("127.0.0.1")),
            ("sim_port", Llsd::from(9000)),
            ("region_x", Llsd::from(256_000)),
            ("region_y", Llsd::from(256_256)),
            ("seed_capability", Llsd::from("http://127.0.0.1/seed")),
            ("inventory-root", Llsd::array([Llsd::map([("folder_id", id(3))])])),
        ];
        Llsd::map(fields.into_iter().chain(changes.iter().cloned()))
    }

    fn read(reply: &Llsd) -> Result<Credentials, LoginFailure> {
        read_reply(xmlrpc::encode_response(reply).as_bytes())
    }

    #[test]
    fn a_reply_gives_everything_that_a_bot_needs() {
        let credentials = read(&reply(&[])).expect("complete");
        assert_eq!(credentials.identity.circuit_code, CircuitCode(u32::MAX - 4), "sent as a signed number");
        assert_eq!(credentials.simulator, "127.0.0.1:9000".parse().expect("an address"));
        assert_eq!(credentials.region, RegionHandle::from_grid(1000, 1001));
        assert_eq!(credentials.region_size_m, 256);
        assert_eq!(credentials.inventory_root, Uuid::from_u128(3));
        assert_eq!((credentials.trash_folder, credentials.secure_session), (Uuid::nil(), Uuid::nil()));
        let folder = |number: u128, folder_type| {
            let id = Llsd::from(Uuid::from_u128(number).to_string());
            Llsd::map([("folder_id", id), ("type_default", Llsd::from(folder_type))])
        };
        let skeleton = Llsd::array([folder(3, 8), folder(4, 14), folder(5, 16)]);
        let secret = Llsd::from(Uuid::from_u128(6).to_string());
        let full = [("inventory-skeleton", skeleton), ("secure_session_id", secret)];
        let credentials = read(&reply(&full)).expect("complete");
        let found = (credentials.trash_folder, credentials.secure_session);
        assert_eq!(found, (Uuid::from_u128(4), Uuid::from_u128(6)));
        let large = read(&reply(&[("region_size_x", Llsd::from(512))])).expect("complete");
        assert_eq!(large.region_size_m, 512);
    }

    #[test]
    fn a_refusal_says_why() {
        let refused = Llsd::map(
            [("login", "false"), ("reason", "key"), ("message", "No.")].map(|(k, v)| (k, v.into())),
        );
        let error = LoginFailure::Refused { reason: "key".to_owned(), message: "No.".to_owned() };
        assert_eq!(read(&refused), Err(error));
    }

    #[test]
    fn a_missing_field_is_named() {
        for field in ["agent_id", "circuit_code", "sim_ip", "sim_port", "region_x", "inventory-root"] {
            assert_eq!(read(&reply(&[(field, Llsd::from("?"))])), Err(LoginFailure::Field(field)));
        }
        assert!(matches!(read_reply(b"<html>"), Err(LoginFailure::Malformed(_))));
    }

    #[test]
    fn the_request_carries_the_digest_of_the_first_sixteen_characters() {
        let call = xmlrpc::decode_call(request("Bot0001", "Load", "secret").as_bytes(), Limits::STRANGER)
            .expect("own encoding");
        assert_eq!(call.method, "login_to_simulator");
        let fields = &call.params[0];
        assert_eq!(fields.get("first").as_str(), Some("Bot0001"));
        assert_eq!(fields.get("passwd").as_str(), Some("$1$5ebe2294ecd0e0f08eab7690d2a6ee69"));
        assert_eq!(password_digest("0123456789abcdef"), password_digest("0123456789abcdefg"));
    }
}
