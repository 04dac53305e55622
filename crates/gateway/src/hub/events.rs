//! Bodies of event-queue events. Numbers wider than 31 bits travel as big-endian binary.

use crate::places::Place;
use ids::AgentId;
use std::net::Ipv4Addr;
use wire::llsd::Llsd;

/// SimAccess of a general region.
const ACCESS_GENERAL: i32 = 13;

/// Sends the client to another region. node-metaverse ignores it without LocationID.
pub(super) fn teleport_finish(
    agent: AgentId,
    place: &Place,
    server_ip: Ipv4Addr,
    port: u16,
    seed_url: &str,
    flags: u32,
) -> Llsd {
    single(
        "Info",
        Llsd::map([
            ("AgentID", agent.0.into()),
            ("LocationID", u32_binary(4)),
            ("SimIP", Llsd::Binary(server_ip.octets().to_vec())),
            ("SimPort", i32::from(port).into()),
            ("RegionHandle", Llsd::Binary(place.handle.0.to_be_bytes().to_vec())),
            ("SeedCapability", seed_url.into()),
            ("SimAccess", ACCESS_GENERAL.into()),
            ("TeleportFlags", u32_binary(flags)),
            ("RegionSizeX", (place.ground().size_m as i32).into()),
            ("RegionSizeY", (place.ground().size_m as i32).into()),
        ]),
    )
}

/// The avatar stays where it is. All blocks of the message are there, the second without rows.
pub(super) fn teleport_failed(agent: AgentId, why: &str) -> Llsd {
    let info = Llsd::map([("AgentID", agent.0.into()), ("Reason", why.into())]);
    Llsd::map([("Info", Llsd::Array(vec![info])), ("AlertInfo", Llsd::Array(Vec::new()))])
}

/// An event body with one block of one row, as messages are written in LLSD.
fn single(block: &str, row: Llsd) -> Llsd {
    Llsd::map([(block, Llsd::Array(vec![row]))])
}

fn u32_binary(value: u32) -> Llsd {
    Llsd::Binary(value.to_be_bytes().to_vec())
}
