//! Bodies of event-queue events. Numbers wider than 31 bits travel as big-endian binary.

use crate::places::{PARCEL_LOCAL_ID, Place};
use ids::AgentId;
use std::net::Ipv4Addr;
use wire::llsd::Llsd;

/// SimAccess of a general region.
const ACCESS_GENERAL: i32 = 13;

/// Parcel flags: fly, other's scripts, landmarks, public objects' scripts; no push restriction (libomv ParcelFlags).
const PARCEL_FLAGS: u32 = 0x1 | 0x2 | 0x8 | 0x0200_0000;

/// Metres that a bit of the parcel bitmap covers.
const BITMAP_SQUARE_M: u32 = 4;

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

/// The parcel that is the whole region: public land without an owner.
pub(super) fn parcel_properties(place: &Place, sequence_id: i32, population: u32) -> Llsd {
    let squares = place.ground().size_m / BITMAP_SQUARE_M;
    let area = (place.ground().size_m * place.ground().size_m) as i32;
    let nil = || Llsd::Uuid(ids::Uuid::nil());
    let zero = || Llsd::Integer(0);
    let (capacity, n_objects) = (place.ground().object_capacity(), place.ground().n_objects());
    let (capacity, n_objects) = (capacity.cast_signed(), n_objects.cast_signed());
    let vector = |x: f64, y: f64, z: f64| Llsd::Array(vec![x.into(), y.into(), z.into()]);
    let far = f64::from(place.ground().size_m);
    let mut parcel = vec![
        ("AABBMax", vector(far, far, 4_096.0)),
        ("AABBMin", vector(0.0, 0.0, 0.0)),
        ("AnyAVSounds", true.into()),
        ("Area", area.into()),
        ("AuctionID", u32_binary(0)),
        ("AuthBuyerID", nil()),
        ("Bitmap", Llsd::Binary(vec![0xFF; (squares * squares / 8) as usize])),
        ("Category", zero()),
        ("ClaimDate", zero()),
        ("ClaimPrice", zero()),
        ("Desc", "".into()),
        ("GroupAVSounds", true.into()),
        ("GroupID", nil()),
        ("GroupPrims", zero()),
        ("IsGroupOwned", false.into()),
        ("LandingType", 2.into()),
        ("LocalID", PARCEL_LOCAL_ID.into()),
        ("MaxPrims", capacity.into()),
        ("MediaAutoScale", false.into()),
        ("MediaID", nil()),
        ("MediaURL", "".into()),
        ("MusicURL", "".into()),
        ("Name", place.name().into()),
        ("OtherCleanTime", zero()),
        ("OtherCount", zero()),
        ("OtherPrims", n_objects.into()),
        ("OwnerID", nil()),
        ("OwnerPrims", zero()),
        ("ParcelFlags", u32_binary(PARCEL_FLAGS)),
        ("ParcelPrimBonus", 1.0.into()),
        ("PassHours", 0.0.into()),
        ("PassPrice", zero()),
        ("Privacy", false.into()),
        ("PublicCount", (population as i32).into()),
        ("RegionDenyAnonymous", false.into()),
        ("RegionDenyIdentified", false.into()),
        ("RegionDenyTransacted", false.into()),
        ("RegionPushOverride", false.into()),
        ("RentPrice", zero()),
        ("RequestResult", zero()),
        ("SalePrice", zero()),
        ("SeeAVs", true.into()),
        ("SelectedPrims", zero()),
        ("SelfCount", zero()),
        ("SequenceID", sequence_id.into()),
        ("SimWideMaxPrims", capacity.into()),
        ("SimWideTotalPrims", n_objects.into()),
        ("SnapSelection", false.into()),
        ("SnapshotID", nil()),
        ("Status", zero()),
        ("TotalPrims", n_objects.into()),
        ("UserLocation", vector(far / 2.0, far / 2.0, f64::from(place.ground().landing.z))),
        ("UserLookAt", vector(1.0, 0.0, 0.0)),
    ];
    parcel.sort_by_key(|&(key, _)| key);
    Llsd::map([
        ("ParcelData", Llsd::Array(vec![Llsd::map(parcel)])),
        (
            "MediaData",
            Llsd::Array(vec![Llsd::map([
                ("MediaDesc", "".into()),
                ("MediaHeight", zero()),
                ("MediaLoop", zero()),
                ("MediaType", "".into()),
                ("MediaWidth", zero()),
                ("ObscureMedia", false.into()),
                ("ObscureMusic", false.into()),
            ])]),
        ),
        ("AgeVerificationBlock", Llsd::Array(vec![Llsd::map([("RegionDenyAgeUnverified", false.into())])])),
        (
            "RegionAllowAccessBlock",
            Llsd::Array(vec![Llsd::map([("RegionAllowAccessOverride", true.into())])]),
        ),
    ])
}

/// An event body with one block of one row, as messages are written in LLSD.
fn single(block: &str, row: Llsd) -> Llsd {
    Llsd::map([(block, Llsd::Array(vec![row]))])
}

fn u32_binary(value: u32) -> Llsd {
    Llsd::Binary(value.to_be_bytes().to_vec())
}
