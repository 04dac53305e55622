//! Destination of a teleport: the TeleportFinish event.

use ids::RegionHandle;
use std::net::{Ipv4Addr, SocketAddrV4};
use wire::llsd::Llsd;

/// The name of the event.
pub const TELEPORT_FINISH: &str = "TeleportFinish";

/// A region that a session is sent to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Destination {
    /// Address of the region's server.
    pub simulator: SocketAddrV4,
    /// Position on the grid.
    pub region: RegionHandle,
    /// Edge of the region in metres; 256 if the server does not say.
    pub region_size_m: u32,
    /// URL that grants the capabilities of the region.
    pub seed_capability: String,
}

impl Destination {
    /// Reads the body of a TeleportFinish event. `None` if a part is missing that no client can do without.
    #[must_use]
    pub fn from_event(body: &Llsd) -> Option<Self> {
        let info = body.get("Info").at(0);
        let &[a, b, c, d] = info.get("SimIP").as_binary()? else { return None };
        let port = u16::try_from(info.get("SimPort").as_i32()?).ok()?;
        let size_m = info.get("RegionSizeX").as_u32().filter(|&metres| metres > 0);
        Some(Self {
            simulator: SocketAddrV4::new(Ipv4Addr::new(a, b, c, d), port),
            region: RegionHandle(info.get("RegionHandle").as_u64()?),
            region_size_m: size_m.unwrap_or(RegionHandle::GRID_M),
            seed_capability: info.get("SeedCapability").as_str()?.to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(without: &str) -> Llsd {
        let region = RegionHandle::from_grid(1001, 1000);
        let fields = [
            ("SimIP", Llsd::Binary(vec![127, 0, 0, 1])),
            ("SimPort", Llsd::from(9001)),
            ("RegionHandle", Llsd::from_u64(region.0)),
            ("SeedCapability", Llsd::from("http://127.0.0.1/seed")),
            ("RegionSizeX", Llsd::from(512)),
        ];
        let info = Llsd::map(fields.into_iter().filter(|(key, _)| *key != without));
        Llsd::map([("Info", Llsd::Array(vec![info]))])
    }

    #[test]
    fn an_event_gives_address_place_and_seed() {
        let destination = Destination::from_event(&event("")).expect("complete");
        assert_eq!(destination.simulator, "127.0.0.1:9001".parse().expect("an address"));
        assert_eq!(destination.region, RegionHandle::from_grid(1001, 1000));
        assert_eq!(destination.region_size_m, 512);
        assert_eq!(Destination::from_event(&event("RegionSizeX")).map(|d| d.region_size_m), Some(256));
    }

    #[test]
    fn an_event_without_a_needed_part_leads_nowhere() {
        for key in ["SimIP", "SimPort", "RegionHandle", "SeedCapability"] {
            assert_eq!(Destination::from_event(&event(key)), None, "{key}");
        }
    }
}
