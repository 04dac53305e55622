//! RequestTaskInventory: the contents of an object, from the newest state of the client's world.

use super::reply::{error, llsd};
use crate::hub::Holder;
use crate::object_items::find_item;
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

/// An item of an object, for an upload of its content.
pub(super) fn task_item(holder: &Holder, object: Uuid, item: Uuid) -> Option<TaskItem> {
    let found = find_item(&holder.place, holder.agent, object, item)?;
    let may_modify = found.may_modify && found.item.owner_rights().has(Mask::MODIFY);
    let (region, session) = (holder.place.world(), holder.circuit.session);
    Some(TaskItem { region, session, asset_type: found.item.asset_type, may_modify })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{DiskRows, HARBOUR, Node, Setup, agent};
    use ::assets::SizeLimits;
    use glam::Vec3;
    use grid::inventory::{WorldOrder, WorldOrderEnd, WorldOrderKind};
    use grid::uploads::{ContentOrder, UploadCall};
    use ids::LocalId;
    use link::{
        Action, Derez, DerezKind, EditRefusal, InsertedLinkset, Insertion, ItemEdit, Motion, ObjectCommand,
        Offer, PrimMotion, plain_texture,
    };
    use prim::{Body, Carried, ContentItem, Ownership, Permissions, Sale, Shape};
    use std::sync::Arc;
    use wire::llsd::{Limits, Llsd, xml};
    use wire::messages::Message;
    use wire::text::from_wire;

    const OBJECT: Uuid = Uuid::from_u128(0xB0);
    const NOTE: Uuid = Uuid::from_u128(1);
    const NOTECARD: &str =
        "Linden text version 2\n{\nLLEmbeddedItems version 1\n{\ncount 0\n}\nText length 5\nHello}";

    /// A prim of Ada's with one notecard in it.
    fn object() -> ObjectCommand {
        let ada = agent("Ada");
        let (group, permissions) = (Uuid::nil(), Permissions::NEW);
        let item = ContentItem {
            id: NOTE,
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

    /// The local id of the prim, if it is there.
    fn local_id(node: &Node) -> Option<LocalId> {
        node.places.get(HARBOUR).scene.feed.current().objects().of_id(OBJECT)
    }

    /// A server that saves the harbour, in which the prim lies, and clients of Ada and Bea.
    fn saved_node() -> (Node, usize, usize) {
        let setup = Setup { keeps_assets: true, ..Setup::default() };
        let mut node = Node::on_disk(setup, DiskRows::default());
        let (ada, bea) = (node.enter("Ada"), node.enter("Bea"));
        node.order(HARBOUR, Action::Object(Box::new(object())));
        node.run_ms(500);
        (node, ada, bea)
    }

    /// Uploads other content for the notecard, with a change of its object by the server between the two steps. The asset that it has then, or the refusal.
    fn upload(node: &mut Node, client: usize, meanwhile: Option<ObjectCommand>) -> Result<Uuid, String> {
        let holder = node.hub.holder(node.clients[client].seed).expect("its secret");
        let call = UploadCall::of_capability("UpdateNotecardTaskInventory").expect("a capability");
        let request = Llsd::map([("item_id", Llsd::from(NOTE)), ("task_id", OBJECT.into())]);
        let find = |object, item| task_item(&holder, object, item);
        let limits = SizeLimits::default();
        let begun = call.begin(node.store(), holder.agent, &find, request, &limits, 0);
        let begun = begun.map_err(|why| why.to_string())?;
        if let Some(command) = meanwhile {
            node.order(HARBOUR, Action::Object(Box::new(command)));
            node.run_ms(500);
        }
        let finished = begun.purpose.finish(holder.agent, NOTECARD.into(), &limits).expect("a notecard");
        let asset = finished.assets.assets[0].id;
        let ContentOrder { region, order } = finished.order.expect("an order for the region");
        let (owner, kind, at) = (holder.agent, WorldOrderKind::PutItem, node.now);
        let end = WorldOrderEnd { owner, item: None, is_marked: false, prim: None, kind, at };
        node.clients[client].inbox.clear();
        node.order_in_worlds(holder.circuit, vec![WorldOrder { region, order, end }]);
        node.run_ms(1_500);
        let alert = node.clients[client].inbox.iter().find_map(|message| match message {
            Message::AlertMessage(m) => Some(from_wire(&m.alert_data.message)),
            _ => None,
        });
        match alert {
            Some(why) => Err(why),
            None => Ok(asset),
        }
    }

    /// The asset of the notecard.
    fn content(node: &Node) -> Option<Uuid> {
        let place = node.places.get(HARBOUR);
        find_item(place, agent("Ada"), OBJECT, NOTE).map(|found| found.item.asset)
    }

    /// A change of the notecard that takes the right to change it.
    fn lock(id: LocalId) -> ObjectCommand {
        let masks = Permissions { owner: !Mask::MODIFY, ..Permissions::NEW };
        let (name, description) = ("Note".to_owned(), String::new());
        let offer = Offer { kind: 0, price: 0 };
        ObjectCommand::EditItem(id, Box::new(ItemEdit { item: NOTE, name, description, masks, offer }))
    }

    #[test]
    fn a_notecard_in_an_object_gets_the_uploaded_content() {
        let (mut node, ada, _) = saved_node();
        let asset = upload(&mut node, ada, None).expect("it may be changed");
        assert_eq!(content(&node), Some(asset));
    }

    #[test]
    fn a_notecard_that_may_not_be_changed_gets_no_content() {
        let (mut node, ada, bea) = saved_node();
        let id = local_id(&node).expect("the prim");
        let before = content(&node);
        let foreign = upload(&mut node, bea, None).expect_err("an object of another user");
        assert!(foreign.contains("not allowed"), "{foreign}");
        // The right goes between the two steps, and is missing from then on.
        assert_eq!(upload(&mut node, ada, Some(lock(id))), Err(EditRefusal::Rights.text().to_owned()));
        let locked = upload(&mut node, ada, None).expect_err("a notecard without the right");
        assert!(locked.contains("not allowed"), "{locked}");
        assert_eq!(content(&node), before);
    }

    #[test]
    fn content_for_a_notecard_or_a_prim_that_goes_meanwhile_is_refused() {
        let removal = |id| ObjectCommand::RemoveItem(id, NOTE);
        let deletion = |id| {
            let (kind, folder, transaction) = (DerezKind::Delete, Uuid::nil(), Uuid::nil());
            ObjectCommand::Derez(Derez { objects: vec![id], kind, folder, transaction })
        };
        let cases: [(&dyn Fn(LocalId) -> ObjectCommand, EditRefusal); 2] =
            [(&removal, EditRefusal::NoItem), (&deletion, EditRefusal::Unknown)];
        for (change, reason) in cases {
            let (mut node, ada, _) = saved_node();
            let id = local_id(&node).expect("the prim");
            assert_eq!(upload(&mut node, ada, Some(change(id))), Err(reason.text().to_owned()));
            assert_eq!(content(&node), None);
            let again = upload(&mut node, ada, None).expect_err("it is gone");
            assert!(again.contains("there is no item"), "{again}");
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
