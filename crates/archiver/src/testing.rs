//! Parts of tests: objects as archives have them.

use archive::object::{PartPlace, SceneGroup, ScenePart};
use glam::{Quat, Vec3};
use ids::{AgentId, Uuid};
use link::plain_texture;
use prim::{Body, Carried, ContentItem, Contents, Names, Ownership, Permissions, Sale, Shape};
use std::sync::Arc;

pub(crate) fn id(n: u128) -> Uuid {
    Uuid::from_u128(n)
}

pub(crate) fn agent(n: u128) -> AgentId {
    AgentId(id(n))
}

/// A box with this id at a place, made and owned by the user 1.
pub(crate) fn part(n: u128, position: Vec3) -> ScenePart {
    let body = Body::new(id(n), Shape::BOX, Arc::new(plain_texture(9)), agent(1), 1 << 50);
    let names = Names { name: format!("Box {n}").into(), ..Names::default() };
    let place = PartPlace { position, rotation: Quat::IDENTITY, ..PartPlace::default() };
    ScenePart { place, flags: 0, body: Arc::new(Body { names, ..body }) }
}

/// The same with another body.
pub(crate) fn with(mut part: ScenePart, change: impl FnOnce(&mut Body)) -> ScenePart {
    change(Arc::make_mut(&mut part.body));
    part
}

pub(crate) fn group(root: ScenePart, others: Vec<ScenePart>) -> SceneGroup {
    SceneGroup { root, others }
}

/// Contents of notecards with these ids.
pub(crate) fn notecards(ids: &[u128], owner: AgentId) -> Option<Arc<Contents>> {
    let item = |&n: &u128| {
        let ownership = Ownership {
            creator: owner,
            owner,
            last_owner: owner,
            group: id(0x60),
            permissions: Permissions::NEW,
        };
        Arc::new(ContentItem {
            id: id(n),
            asset: id(0xA000 + n),
            asset_type: 7,
            inventory_type: 7,
            name: format!("Note {n}").into(),
            description: "".into(),
            flags: 0,
            ownership,
            sale: Sale::default(),
            created_s: 7,
            carried: Carried::default(),
        })
    };
    Some(Arc::new(Contents { serial: 1, items: ids.iter().map(item).collect() }))
}
