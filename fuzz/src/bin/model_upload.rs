//! Uploads of models: any bytes are taken or refused, and the assets of one that is taken are those that uploads of their kinds would be, with an object that can be
//! rezzed. The first byte chooses between a whole request, and parts in binary beside a mesh and a texture.
#![no_main]

use assets::{AssetKind, SizeLimits, check_asset};
use grid::uploads::UploadPurpose;
use ids::{AgentId, Uuid};
use keeper::decode_object;
use libfuzzer_sys::fuzz_target;
use std::sync::LazyLock;
use store::{Item, Permissions, Sale};
use wire::llsd::{Limits, Llsd, binary, xml};

static LIMITS: LazyLock<SizeLimits> = LazyLock::new(SizeLimits::default);
static TEXTURE: &[u8] = include_bytes!("../../../crates/grid/src/asset_sources/body/plywood.j2c");
const OWNER: AgentId = AgentId(Uuid::from_u128(0xA));

/// A level of detail whose stream begins as one.
fn mesh() -> Vec<u8> {
    let section = Llsd::map([("offset", Llsd::from(0)), ("size", 4.into())]);
    [binary::encode(&Llsd::map([("high_lod", section)])), b"\x78\xDAab".to_vec()].concat()
}

/// A request with these parts.
fn request(parts: Llsd) -> Vec<u8> {
    let textures = [TEXTURE.to_vec(), Vec::new()].map(Llsd::Binary);
    let resources = Llsd::map([
        ("mesh_list", Llsd::array([Llsd::Binary(mesh())])),
        ("texture_list", Llsd::array(textures)),
        ("instance_list", parts),
    ]);
    xml::encode(&resources).into_bytes()
}

fn item() -> Item {
    Item {
        id: Uuid::from_u128(1),
        folder: Uuid::from_u128(2),
        asset: Uuid::from_u128(3),
        asset_type: AssetKind::Object.number(),
        inventory_type: AssetKind::Object.number(),
        name: "House".into(),
        description: String::new(),
        flags: 0,
        created_s: 0,
        permissions: Permissions {
            creator: OWNER.0,
            last_owner: OWNER.0,
            group: Uuid::nil(),
            group_owned: false,
            base: 0x7FFF_FFFF,
            owner: 0x7FFF_FFFF,
            group_mask: 0,
            everyone: 0,
            next_owner: 0x0008_E000,
        },
        sale: Sale::default(),
    }
}

fuzz_target!(|bytes: &[u8]| {
    let Some((&mode, content)) = bytes.split_first() else { return };
    let body = if mode & 1 == 0 {
        content.to_vec()
    } else {
        let Ok(parts) = binary::decode(content, Limits::REQUEST) else { return };
        request(parts)
    };
    let finished = match UploadPurpose::Model(Box::new(item())).finish(OWNER, body.into(), &LIMITS) {
        Ok(finished) => finished,
        Err(why) => {
            assert!(!why.to_string().is_empty());
            return;
        }
    };
    for asset in &finished.assets.assets {
        check_asset(asset.kind, &asset.bytes, &LIMITS).expect("an upload of its kind");
        if asset.kind == AssetKind::Object {
            let linksets = decode_object(&asset.bytes).expect("its own object");
            assert!(linksets.len() == 1 && !linksets[0].is_empty());
        }
    }
});
