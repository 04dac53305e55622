//! RequestTaskInventory: the contents of an object, from the newest state of the client's world.

use super::reply::{error, llsd};
use crate::hub::Holder;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use grid::contents::{ContentsCall, ShownContents, shown_serial};
use grid::uploads::TaskItem;
use ids::Uuid;
use prim::receiver_flags::MODIFY;
use prim::{Contents, Mask};

/// `GET …/RequestTaskInventory?task_id=…&inventory_serial=…`. Static objects have no contents.
pub(super) fn get(holder: &Holder, query: &str) -> Response {
    let Some(ContentsCall { object, known_serial }) = ContentsCall::read(query) else {
        return error(StatusCode::BAD_REQUEST, "The query has to name an object: task_id.");
    };
    let replica = holder.place.scene.feed.current();
    let entry = replica.objects().of_id(object).and_then(|id| replica.objects().get(id));
    let (contents, may_modify) = match entry {
        Some(entry) => (entry.body.contents.clone(), entry.flags_for(holder.agent) & MODIFY != 0),
        None if holder.place.ground().scenery.index_of(object).is_some() => (None, false),
        None => return error(StatusCode::NOT_FOUND, "There is no such object."),
    };
    drop(replica);
    let none = Contents::default();
    let contents = contents.as_deref().unwrap_or(&none);
    if known_serial == Some(shown_serial(contents.serial)) {
        return StatusCode::NOT_MODIFIED.into_response();
    }
    llsd(&ShownContents { object, contents, may_modify }.to_llsd())
}

/// An item of an object, for an upload of its content. None in an instance, which keeps no objects.
pub(super) fn task_item(holder: &Holder, object: Uuid, item: Uuid) -> Option<TaskItem> {
    let place = &holder.place;
    if !place.scene.is_shared {
        return None;
    }
    let replica = place.scene.feed.current();
    let entry = replica.objects().of_id(object).and_then(|id| replica.objects().get(id))?;
    let item = entry.body.contents.as_ref()?.item(item)?;
    let may_modify = entry.flags_for(holder.agent) & MODIFY != 0 && item.owner_rights().has(Mask::MODIFY);
    let (region, session) = (place.world(), holder.circuit.session);
    Some(TaskItem { region, session, asset_type: item.asset_type, may_modify })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{HARBOUR, Node, Setup, agent};
    use glam::Vec3;
    use link::{Action, InsertedLinkset, Insertion, Motion, ObjectCommand, PrimMotion, plain_texture};
    use prim::{Body, Carried, ContentItem, Ownership, Permissions, Sale, Shape};
    use std::sync::Arc;
    use wire::llsd::{Limits, Llsd, xml};

    const OBJECT: Uuid = Uuid::from_u128(0xB0);

    /// A prim of Ada's with one notecard in it.
    fn object() -> ObjectCommand {
        let ada = agent("Ada");
        let (group, permissions) = (Uuid::nil(), Permissions::NEW);
        let item = ContentItem {
            id: Uuid::from_u128(1),
            asset: Uuid::from_u128(2),
            asset_type: 7,
            inventory_type: 7,
            name: "Note".into(),
            description: "".into(),
            flags: 0,
            ownership: Ownership { creator: ada, owner: ada, last_owner: ada, group, permissions },
            sale: Sale::default(),
            created_s: 0,
            carried: Carried::default(),
        };
        let contents = Contents { serial: 5, items: vec![Arc::new(item)] };
        let body = Body::new(OBJECT, Shape::BOX, Arc::new(plain_texture(9)), ada, 0);
        let body = Body { contents: Some(Arc::new(contents)), ..body };
        let motion = Motion { position: Vec3::splat(50.0), ..Motion::default() };
        let prims = vec![(PrimMotion { motion, ..PrimMotion::NONE }, Arc::new(body))];
        let linksets = vec![InsertedLinkset { prims }];
        let insertion = Insertion { ids: Uuid::from_u128(0xFE << 64), linksets };
        ObjectCommand::Insert(Box::new(insertion))
    }

    fn read(response: Response) -> Llsd {
        let body = axum::body::to_bytes(response.into_body(), 1 << 20);
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        xml::decode(&runtime.block_on(body).expect("a body"), Limits::REQUEST).expect("LLSD")
    }

    #[test]
    fn contents_have_assets_for_users_with_the_right_to_change_the_object() {
        let mut node = Node::new();
        let (ada, bea) = (node.enter("Ada"), node.enter("Bea"));
        node.order(HARBOUR, Action::Object(Box::new(object())));
        node.run_ms(500);
        let holder = |node: &mut Node, client: usize| {
            let seed = node.clients[client].seed;
            node.hub.holder(seed).expect("its secret")
        };
        let (ada, bea) = (holder(&mut node, ada), holder(&mut node, bea));
        let of_object = format!("task_id={OBJECT}");
        for (holder, asset) in [(&ada, Uuid::from_u128(2)), (&bea, Uuid::nil())] {
            let answer = read(get(holder, &of_object));
            assert_eq!(answer.get("inventory_serial").as_i32(), Some(5));
            let [row] = answer.get("contents").as_array() else { panic!("{answer:?}") };
            assert_eq!(row.get("name").as_str(), Some("Note"));
            assert_eq!(row.get("asset_id").as_uuid(), Some(asset));
        }
        let status = |query: &str| get(&ada, query).status();
        assert_eq!(status(&format!("{of_object}&inventory_serial=5")), StatusCode::NOT_MODIFIED);
        assert_eq!(status(&format!("{of_object}&inventory_serial=4")), StatusCode::OK);
        assert_eq!(status(&format!("task_id={}", Uuid::from_u128(7))), StatusCode::NOT_FOUND);
        assert_eq!(status("task_id=nonsense"), StatusCode::BAD_REQUEST);
    }

    #[test]
    fn uploads_know_items_and_the_right_to_change_them() {
        let mut node = Node::new();
        let (ada, bea) = (node.enter("Ada"), node.enter("Bea"));
        node.order(HARBOUR, Action::Object(Box::new(object())));
        node.run_ms(500);
        let item = Uuid::from_u128(1);
        for (client, may_modify) in [(ada, true), (bea, false)] {
            let seed = node.clients[client].seed;
            let holder = node.hub.holder(seed).expect("its secret");
            let (region, session) = (holder.place.world(), holder.circuit.session);
            let found = TaskItem { region, session, asset_type: 7, may_modify };
            assert_eq!(task_item(&holder, OBJECT, item), Some(found));
            assert_eq!(task_item(&holder, OBJECT, Uuid::from_u128(3)), None);
            assert_eq!(task_item(&holder, item, item), None);
        }
    }

    #[test]
    fn static_objects_have_no_contents() {
        let mut node = Node::with(Setup { boxes: 1, ..Setup::default() });
        let ada = node.enter("Ada");
        let holder = node.hub.holder(node.clients[ada].seed).expect("its secret");
        let object = node.scenery(HARBOUR).prims()[0].prim.id;
        let answer = read(get(&holder, &format!("task_id={object}")));
        assert_eq!(answer.get("contents").as_array().len(), 0);
        assert_eq!(answer.get("inventory_serial").as_i32(), Some(0));
    }
}
