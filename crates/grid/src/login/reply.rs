//! Reply to an entering client: its identity, the address for datagrams, its inventory.
//!
//! Every field that a client reads is here, in the one form that all of them accept: whole numbers as integers, booleans as text, names
//! without quotes. Missing services are left out rather than sent empty, since clients check for presence: OpenID, server-side baking,
//! snapshot upload, a list of banned messages.

use crate::inventory::{FolderType, LIBRARY_OWNER, library_folders};
use glam::Vec3;
use ids::{AgentId, CircuitCode, RegionHandle, SessionId};
use std::net::SocketAddrV4;
use store::{ActiveGesture, Folder, Location};
use uuid::{Uuid, uuid};
use wire::llsd::Llsd;

/// Groups of an avatar at most, stated at login and in SimulatorFeatures.
pub const AGENT_GROUPS_MAX: i32 = 42;

/// Textures of the sky, which viewers ship (`global-textures` of the reply).
const SUN_TEXTURE: Uuid = uuid!("cce0f112-878f-4586-a2e2-a8f104bba271");
const MOON_TEXTURE: Uuid = uuid!("ec4b9f0b-d008-45c6-96a4-01dd947ac621");
const CLOUD_TEXTURE: Uuid = uuid!("dc4b9f0b-d008-45c6-96a4-01dd947ac621");

/// Access level of all accounts until the grid knows ages: adult, so that no client hides a region.
const ACCESS: &str = "A";

/// Fields that the gateway fills in for a new session.
#[derive(Clone, Debug)]
pub struct LoginReply {
    /// Account.
    pub agent: AgentId,
    /// First name as shown.
    pub first: String,
    /// Last name as shown.
    pub last: String,
    /// The session's public id.
    pub session: SessionId,
    /// The session's secret id, part of asset ids that the client makes.
    pub secure_session: Uuid,
    /// 1 to 2³¹ − 1: XML-RPC has no unsigned numbers, and one client fails at negative ones.
    pub circuit_code: CircuitCode,
    /// Source of the region's datagrams. It must be their real source address, or clients drop them.
    pub simulator: SocketAddrV4,
    /// URL for capabilities.
    pub seed_capability: String,
    /// Port of the HTTP server.
    pub http_port: u16,
    /// Position of the region on the grid.
    pub region: RegionHandle,
    /// Edge of the region in metres.
    pub region_size_m: u32,
    /// Direction that the avatar faces.
    pub look_at: Vec3,
    /// Choice of the place.
    pub started_at: StartedAt,
    /// Home, if it is set.
    pub home: Option<Location>,
    /// All folders of the inventory, the root first.
    pub folders: Vec<Folder>,
    /// Gestures that are switched on; clients play them from the start.
    pub gestures: Vec<ActiveGesture>,
    /// A greeting that the client shows.
    pub message: String,
    /// Seconds since 1970.
    pub unix_s: i64,
    /// Web services beside the grid.
    pub links: Links,
    /// Objects that an avatar wears at most.
    pub attachments_max: u32,
}

/// Choice of the place of arrival; clients show it and fall back accordingly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StartedAt {
    /// Last place of the avatar.
    Last,
    /// At home.
    Home,
    /// Place named by the request.
    Url,
    /// Somewhere else, since the wish could not be fulfilled.
    Safe,
}

impl StartedAt {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Last => "last",
            Self::Home => "home",
            Self::Url => "url",
            Self::Safe => "safe",
        }
    }
}

/// Web services that a grid may have; each is sent only when there is one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Links {
    /// Tiles of the world map.
    pub map_server: Option<String>,
    /// Search page.
    pub search: Option<String>,
    /// Destination guide.
    pub destination_guide: Option<String>,
    /// Sign of the currency.
    pub currency: Option<String>,
}

impl LoginReply {
    /// The value of the XML-RPC response; `wire::xmlrpc` writes it.
    ///
    /// # Panics
    /// When the circuit code is outside its range or the inventory is empty: the caller made both.
    #[must_use]
    pub fn to_llsd(&self) -> Llsd {
        let circuit_code = i32::try_from(self.circuit_code.0).expect("circuit codes are below 2^31");
        assert!(circuit_code > 0, "a circuit code of 0 means a failed login to viewers");
        let root = self.folders.first().expect("an inventory has a root");
        let outfit = self.folders.iter().find(|folder| folder.type_default == FolderType::CURRENT_OUTFIT);
        let library = library_folders();
        let mut reply = vec![
            ("login", Llsd::from("true")),
            ("agent_id", self.agent.0.into()),
            ("session_id", self.session.0.into()),
            ("secure_session_id", self.secure_session.into()),
            ("first_name", self.first.as_str().into()),
            ("last_name", self.last.as_str().into()),
            ("circuit_code", circuit_code.into()),
            ("sim_ip", self.simulator.ip().to_string().into()),
            ("sim_port", i32::from(self.simulator.port()).into()),
            ("http_port", i32::from(self.http_port).into()),
            ("seed_capability", self.seed_capability.as_str().into()),
            ("region_x", integer(self.region.x_m())),
            ("region_y", integer(self.region.y_m())),
            ("region_size_x", integer(self.region_size_m)),
            ("region_size_y", integer(self.region_size_m)),
            ("look_at", look_at(self.look_at).into()),
            ("start_location", self.started_at.as_str().into()),
            ("message", self.message.as_str().into()),
            ("seconds_since_epoch", i32::try_from(self.unix_s).unwrap_or(i32::MAX).into()),
            ("agent_access", ACCESS.into()),
            ("agent_access_max", ACCESS.into()),
            ("agent_region_access", ACCESS.into()),
            ("agent_flags", 0.into()),
            ("max-agent-groups", AGENT_GROUPS_MAX.into()),
            ("account_level_benefits", benefits(self.attachments_max)),
            ("cof_version", outfit.map_or(0, |folder| folder.version).into()),
            ("inventory-root", row([("folder_id", root.id.into())])),
            ("inventory-skeleton", skeleton(&self.folders)),
            ("inventory-lib-root", row([("folder_id", library[0].id.into())])),
            ("inventory-lib-owner", row([("agent_id", LIBRARY_OWNER.into())])),
            ("inventory-skel-lib", skeleton(library)),
            // Accounts begin dressed, so the viewer must not choose an outfit for a newcomer: "ever logged in".
            (
                "login-flags",
                row([
                    ("ever_logged_in", "Y".into()),
                    ("stipend_since_login", "N".into()),
                    ("daylight_savings", "N".into()),
                    ("gendered", "Y".into()),
                ]),
            ),
            (
                "global-textures",
                row([
                    ("sun_texture_id", SUN_TEXTURE.into()),
                    ("moon_texture_id", MOON_TEXTURE.into()),
                    ("cloud_texture_id", CLOUD_TEXTURE.into()),
                ]),
            ),
            ("ui-config", row([("allow_first_life", "Y".into())])),
        ];
        reply.push(("gestures", gestures(&self.gestures)));
        let empty = ["event_categories", "event_notifications", "classified_categories"];
        reply.extend(empty.map(|name| (name, Llsd::Array(Vec::new()))));
        reply.extend(["buddy-list", "initial-outfit"].map(|name| (name, Llsd::Array(Vec::new()))));
        if let Some(home) = &self.home {
            reply.push(("home", home_text(home).into()));
        }
        let links = &self.links;
        for (name, link) in [
            ("map-server-url", &links.map_server),
            ("search", &links.search),
            ("destination_guide_url", &links.destination_guide),
            ("currency", &links.currency),
        ] {
            reply.extend(link.as_deref().map(|link| (name, link.into())));
        }
        Llsd::map(reply)
    }
}

/// An array of one struct, the form of most lists in the reply.
fn row<const N: usize>(fields: [(&str, Llsd); N]) -> Llsd {
    Llsd::Array(vec![Llsd::map(fields)])
}

/// Metres and counts are far below 2³¹.
fn integer(value: u32) -> Llsd {
    i32::try_from(value).unwrap_or(i32::MAX).into()
}

fn skeleton(folders: &[Folder]) -> Llsd {
    let row = |folder: &Folder| {
        Llsd::map([
            ("folder_id", Llsd::from(folder.id)),
            ("parent_id", folder.parent.into()),
            ("name", folder.name.as_str().into()),
            ("type_default", i32::from(folder.type_default).into()),
            ("version", folder.version.into()),
        ])
    };
    Llsd::array(folders.iter().map(row))
}

fn gestures(active: &[ActiveGesture]) -> Llsd {
    let row = |gesture: &ActiveGesture| {
        Llsd::map([("item_id", Llsd::from(gesture.item)), ("asset_id", gesture.asset.into())])
    };
    Llsd::array(active.iter().map(row))
}

/// Nothing costs anything, and the limits are the usual ones.
fn benefits(attachments_max: u32) -> Llsd {
    Llsd::map([
        ("animated_object_limit", Llsd::from(1)),
        ("animation_upload_cost", 0.into()),
        ("attachment_limit", integer(attachments_max)),
        ("create_group_cost", 0.into()),
        ("group_membership_limit", AGENT_GROUPS_MAX.into()),
        ("picks_limit", 10.into()),
        ("sound_upload_cost", 0.into()),
        ("texture_upload_cost", 0.into()),
    ])
}

/// `[r1.0,r0.0,r0.0]`.
fn look_at(direction: Vec3) -> String {
    let [x, y, z] = finite(direction, Vec3::X).to_array();
    format!("[r{x:.4},r{y:.4},r{z:.4}]")
}

/// `{'region_handle':[r256000, r256000], 'position':[r128, r128, r25], 'look_at':[r1, r0, r0]}`: one client turns it into JSON by
/// swapping quotes and stops when that fails, and needs the blank after the comma.
fn home_text(home: &Location) -> String {
    let vector = |vector: Vec3| {
        let [x, y, z] = vector.to_array();
        format!("[r{x}, r{y}, r{z}]")
    };
    format!(
        "{{'region_handle':[r{}, r{}], 'position':{}, 'look_at':{}}}",
        home.handle.x_m(),
        home.handle.y_m(),
        vector(finite(home.position, Vec3::new(128.0, 128.0, 25.0))),
        vector(finite(home.look_at, Vec3::X)),
    )
}

/// Text like `rNaN` would break clients.
fn finite(vector: Vec3, otherwise: Vec3) -> Vec3 {
    if vector.is_finite() { vector } else { otherwise }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inventory::tests::counted_skeleton;
    use std::net::Ipv4Addr;
    use wire::xmlrpc;

    fn reply() -> LoginReply {
        let agent = AgentId(Uuid::from_u128(0xA));
        LoginReply {
            agent,
            first: "Ada".into(),
            last: "Lovelace".into(),
            session: SessionId(Uuid::from_u128(0xB)),
            secure_session: Uuid::from_u128(0xC),
            circuit_code: CircuitCode(123_456_789),
            simulator: SocketAddrV4::new(Ipv4Addr::LOCALHOST, 9000),
            seed_capability: "http://127.0.0.1:9000/cap/0f".into(),
            http_port: 9000,
            region: RegionHandle::from_grid(1000, 1001),
            region_size_m: 512,
            look_at: Vec3::new(0.0, 1.0, 0.0),
            started_at: StartedAt::Last,
            home: Some(Location {
                region: "Plaza".into(),
                handle: RegionHandle::from_grid(1000, 1000),
                position: Vec3::new(128.0, 64.5, 25.0),
                look_at: Vec3::X,
            }),
            folders: counted_skeleton(agent).folders,
            gestures: Vec::new(),
            message: "Welcome & enjoy <3".into(),
            unix_s: 1_763_700_000,
            links: Links::default(),
            attachments_max: 38,
        }
    }

    /// The whole reply, as bytes on the wire: a change of a field shows in this snapshot.
    #[test]
    fn the_reply_has_every_field_in_the_form_that_all_clients_take() {
        let document = xmlrpc::encode_response(&reply().to_llsd());
        assert!(document.starts_with("<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<methodResponse>"));
        for forbidden in ["<int>", "<boolean>", "<double>", "<nil", "\"Ada"] {
            assert!(!document.contains(forbidden), "{forbidden} in {document}");
        }
        insta::assert_snapshot!(document.replace("<member>", "\n<member>"));
    }

    #[test]
    fn gestures_are_listed_by_item_and_asset() {
        let [item, asset] = [1, 2].map(Uuid::from_u128);
        let reply = LoginReply { gestures: vec![ActiveGesture { item, asset }], ..reply() }.to_llsd();
        let [row] = reply.get("gestures").as_array() else { panic!("one gesture") };
        assert_eq!((row.get("item_id").as_uuid(), row.get("asset_id").as_uuid()), (Some(item), Some(asset)));
    }

    #[test]
    fn the_reply_reads_back_as_it_was_meant() {
        let document = xmlrpc::encode_response(&reply().to_llsd());
        let Ok(xmlrpc::Response::Value(value)) =
            xmlrpc::decode_response(document.as_bytes(), wire::llsd::Limits::REPLY)
        else {
            panic!("no value in {document}");
        };
        assert_eq!(value.get("login").as_str(), Some("true"));
        assert_eq!(value.get("region_x"), &Llsd::Integer(256_000));
        assert_eq!(value.get("region_y"), &Llsd::Integer(256_256));
        assert_eq!(value.get("sim_port"), &Llsd::Integer(9000));
        assert_eq!(value.get("agent_id").as_uuid(), Some(Uuid::from_u128(0xA)));
        assert_eq!(value.get("message").as_str(), Some("Welcome & enjoy <3"));
        let types: Vec<_> = value
            .get("inventory-skeleton")
            .as_array()
            .iter()
            .map(|row| row.get("type_default").as_i32())
            .collect();
        assert!(types.contains(&Some(46)), "one client refuses to start without a Current Outfit");
        assert_eq!(
            value.get("inventory-root").at(0).get("folder_id"),
            value.get("inventory-skeleton").at(0).get("folder_id")
        );
    }

    /// The transformation that node-metaverse makes, followed by a JSON reading of the parts that matter.
    #[test]
    fn home_becomes_valid_json_by_swapping_quotes() {
        let text = home_text(reply().home.as_ref().unwrap());
        let json: String =
            text.chars().map(|c| if matches!(c, '[' | ']' | '\'') { '"' } else { c }).collect();
        assert_eq!(
            json,
            "{\"region_handle\":\"r256000, r256000\", \"position\":\"r128, r64.5, r25\", \"look_at\":\"r1, r0, r0\"}"
        );
    }

    #[test]
    fn a_damaged_place_never_reaches_a_client() {
        let home = Location {
            region: "Plaza".into(),
            handle: RegionHandle::from_grid(1, 1),
            position: Vec3::NAN,
            look_at: Vec3::splat(f32::INFINITY),
        };
        let text = home_text(&home);
        assert!(!text.contains("NaN") && !text.contains("inf"), "{text}");
        assert_eq!(look_at(Vec3::NAN), "[r1.0000,r0.0000,r0.0000]");
    }

    #[test]
    fn links_are_sent_only_when_there_are_any() {
        let mut reply = reply();
        assert!(reply.to_llsd().get("map-server-url").is_undef());
        reply.links.map_server = Some("http://127.0.0.1:9000/map/".into());
        assert_eq!(reply.to_llsd().get("map-server-url").as_str(), Some("http://127.0.0.1:9000/map/"));
    }
}
