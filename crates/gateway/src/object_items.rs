//! Items in objects as clients name and read them, from the newest state of their world.
//!
//! Requests are judged here as far as they only read. The world judges those that change or move an item, by its own state.

use crate::places::Place;
use grid::contents::{ItemReader, may_read};
use grid::inventory::{AssetType, NotecardPlace};
use ids::{AgentId, Uuid};
use prim::ContentItem;
use prim::receiver_flags::MODIFY;
use std::sync::Arc;

/// An item in a prim, for a user.
#[derive(Clone, Debug)]
pub(crate) struct FoundItem {
    /// The item as it is there.
    pub(crate) item: Arc<ContentItem>,
    /// True if the user may change the prim.
    pub(crate) may_modify: bool,
    /// True if the user may read the content of the item.
    pub(crate) may_read: bool,
}

/// An item in a prim of this id. None in an instance, which keeps no objects, and for static objects, which have no contents.
pub(crate) fn find_item(place: &Place, agent: AgentId, object: Uuid, item: Uuid) -> Option<FoundItem> {
    if !place.scene.is_shared {
        return None;
    }
    let replica = place.scene.feed.current();
    let entry = replica.objects().of_id(object).and_then(|id| replica.objects().get(id))?;
    let item = Arc::clone(entry.body.contents.as_ref()?.item(item)?);
    let may_modify = entry.flags_for(agent) & MODIFY != 0;
    let may_read = may_read(&item, ItemReader { agent, may_modify });
    Some(FoundItem { item, may_modify, may_read })
}

/// A notecard as a user has named it, with its asset if it is in an object and the user may read it there.
pub(crate) fn find_notecard(place: &Place, agent: AgentId, named: NotecardPlace) -> NotecardPlace {
    let NotecardPlace { item, object, .. } = named;
    let is_notecard = |found: &FoundItem| found.may_read && found.item.asset_type == AssetType::NOTECARD;
    let found = if object.is_nil() { None } else { find_item(place, agent, object, item) };
    let asset = found.filter(is_notecard).map(|found| found.item.asset);
    NotecardPlace { asset, ..named }
}
