//! Judgement of a request: its item, the content, the mark.

use super::super::notecard::NotecardPlace;
use super::super::permissions::{self, SharedMasks};
use super::super::{ChangeInventoryError, InventoryParts, items, notecard, text};
use super::{
    ContentRez, NewScript, PutRequest, RezRequest, WorldOrder, WorldOrderEnd, WorldOrderKind, WorldRefusal,
    WorldRequest,
};
use crate::asset_sources::FIRST_SCRIPT;
use crate::inventory::{AssetType, InventoryType, library_item};
use assets::AssetKind;
use ids::{AgentId, HeldKey, Uuid};
use keeper::{
    ItemOrder, Order, RestoreOrder, RestoreSource, RezTerms, content_of, item_of_content, object_of_item,
};
use link::{HeldObject, ItemRestoration, RestorePlace};
use std::sync::Arc;
use store::{Item, MarkItem, Sale, StoreError};

/// An order, or the reason for which none is given.
type Judged<T> = Result<Result<T, WorldRefusal>, ChangeInventoryError>;

/// Facts by which a request is judged.
#[derive(Clone, Copy)]
pub(super) struct Judge<'a> {
    pub(super) parts: InventoryParts<'a>,
    pub(super) agent: AgentId,
    pub(super) request: &'a WorldRequest,
    /// Now, in seconds since 1970.
    pub(super) unix_s: i64,
}

/// An item that a request names.
struct Source {
    item: Item,
    /// The item is in the user's inventory.
    is_own: bool,
}

impl Judge<'_> {
    /// An order for an object, with this id for its first prim.
    pub(super) fn rez(&self, rez: &RezRequest, item: Uuid, ids: Uuid) -> Judged<WorldOrder> {
        let Source { item, is_own } = match self.source(item, rez.notecard)? {
            Ok(source) => source,
            Err(refusal) => return Ok(Err(refusal)),
        };
        let object = match self.object_of(&item, rez.place, rez.group)? {
            Ok(object) => object,
            Err(refusal) => return Ok(Err(refusal)),
        };
        let key = match self.mark(&item, is_own, rez.leaves)? {
            Ok(key) => key,
            Err(refusal) => return Ok(Err(refusal)),
        };
        let end = self.end(is_own.then_some(item.id), key, WorldOrderKind::Rez);
        let source = match key {
            Some(key) => RestoreSource::Item { key, owner: self.agent, item: Box::new(item), object },
            None => RestoreSource::Copy(object),
        };
        let order = Order::Object(RestoreOrder { source, place: rez.place, ids });
        Ok(Ok(WorldOrder { region: self.request.region, order, end }))
    }

    /// The items that a request names, if the avatar wears all of them and nothing is done for them yet: none is marked, and none is refused for another reason. A copy
    /// of such an item has the content from before it was put on.
    pub(super) fn all_worn(
        &self,
        items: Vec<Uuid>,
        orders: &[WorldOrder],
        refused: &[(Uuid, WorldRefusal)],
    ) -> Result<Vec<Uuid>, StoreError> {
        let is_done = orders.iter().any(|order| order.end.is_marked);
        if is_done || refused.iter().any(|(_, why)| *why != WorldRefusal::Worn) {
            return Ok(Vec::new());
        }
        for &item in &items {
            if !self.parts.store.is_worn(self.agent, item)? {
                return Ok(Vec::new());
            }
        }
        Ok(items)
    }

    /// An order for the object of an item in a prim. The world judges whether it may come out.
    pub(super) fn rez_content(&self, rez: &ContentRez) -> Judged<WorldOrder> {
        let item = item_of_content(self.agent, &rez.item);
        let object = match self.object_of(&item, rez.place, rez.group)? {
            Ok(object) => object,
            Err(refusal) => return Ok(Err(refusal)),
        };
        let source = RestoreSource::Content { holder: rez.object, item: Arc::clone(&rez.item), object };
        let order = Order::Object(RestoreOrder { source, place: rez.place, ids: rez.ids });
        let end = self.end(None, None, WorldOrderKind::Rez);
        Ok(Ok(WorldOrder { region: self.request.region, order, end }))
    }

    /// The object of an item, as the user has it.
    fn object_of(&self, item: &Item, place: RestorePlace, group: Uuid) -> Judged<Arc<HeldObject>> {
        if item.asset_type != AssetKind::Object.number() {
            return Ok(Err(WorldRefusal::NotObject));
        }
        let asset = self.parts.assets.read(item.asset)?.filter(|asset| asset.kind == AssetKind::Object);
        let Some(asset) = asset else { return Ok(Err(WorldRefusal::NoContent)) };
        let is_put_back = matches!(place, RestorePlace::Back { .. });
        let terms = RezTerms { by: self.request.session, group, is_put_back };
        Ok(match object_of_item(self.agent, item, &asset.bytes, terms) {
            Ok(object) => Ok(Arc::new(object)),
            Err(why) => Err(WorldRefusal::Unreadable(why.to_string())),
        })
    }

    /// An order for an item of a prim.
    pub(super) fn put(&self, put: &PutRequest) -> Judged<WorldOrder> {
        let Source { item, is_own } = match self.source(put.item, None)? {
            Ok(source) => source,
            Err(refusal) => return Ok(Err(refusal)),
        };
        let refusal = match item.asset_type {
            AssetType::LINK | AssetType::FOLDER_LINK | AssetType::CALLING_CARD => WorldRefusal::NotPuttable,
            kind if put.is_script && kind != AssetType::SCRIPT => WorldRefusal::NotScript,
            _ => match self.mark(&item, is_own, false)? {
                Ok(key) => return Ok(Ok(self.put_order((put.object, put.id), item, is_own, key))),
                Err(refusal) => refusal,
            },
        };
        Ok(Err(refusal))
    }

    /// An order for a new script.
    pub(super) fn new_script(&self, new: &NewScript) -> WorldOrder {
        let [group, everyone, next_owner] = new.masks;
        let masks = SharedMasks { group, everyone, next_owner };
        let item = Item {
            id: Uuid::nil(),
            folder: Uuid::nil(),
            asset: FIRST_SCRIPT,
            asset_type: AssetType::SCRIPT,
            inventory_type: InventoryType::of(AssetKind::Script),
            name: text::name_of(&new.name).unwrap_or_else(|| items::UNNAMED.to_owned()),
            description: text::description_of(&new.description),
            flags: 0,
            created_s: self.unix_s,
            permissions: permissions::with_masks(&permissions::of_new_item(self.agent, next_owner), masks),
            sale: Sale::default(),
        };
        self.put_order((new.object, new.id), item, false, None)
    }

    /// An order for an item in a prim, with this id there.
    fn put_order(
        &self,
        (object, id): (Uuid, Uuid),
        item: Item,
        is_own: bool,
        key: Option<HeldKey>,
    ) -> WorldOrder {
        let content = Arc::new(content_of(self.agent, &item, id));
        let session = self.request.session;
        let restoration = ItemRestoration { key, session, object, item: content };
        let end = self.end(is_own.then_some(item.id), key, WorldOrderKind::PutItem);
        let marked = key.map(|_| (self.agent, Box::new(item)));
        let order = Order::Item(ItemOrder { marked, restoration });
        WorldOrder { region: self.request.region, order, end }
    }

    const fn end(&self, item: Option<Uuid>, key: Option<HeldKey>, kind: WorldOrderKind) -> WorldOrderEnd {
        let WorldRequest { at, .. } = *self.request;
        let (owner, prim, is_marked) = (self.agent, self.request.prim(), key.is_some());
        WorldOrderEnd { owner, item, is_marked, prim, kind, at }
    }

    /// The item, by the user's inventory first. One in a notecard is credible there, and has the masks of the next owner.
    fn source(&self, id: Uuid, in_notecard: Option<NotecardPlace>) -> Judged<Source> {
        if let Some(item) = self.parts.store.item(self.agent, id)? {
            return Ok(Ok(Source { item, is_own: true }));
        }
        let found = match in_notecard {
            None => library_item(id).cloned().ok_or(WorldRefusal::Unknown),
            Some(card) => notecard::embedded_item(self.parts, self.agent, (card, id), self.unix_s)?
                .map_err(WorldRefusal::from),
        };
        Ok(found.map(|item| Source { item, is_own: false }))
    }

    /// Marks an item that does not stay, and returns the key of the mark; no key for an item that stays.
    fn mark(&self, item: &Item, is_own: bool, leaves: bool) -> Judged<Option<HeldKey>> {
        if !is_own {
            return Ok(Ok(None));
        }
        let (store, region) = (self.parts.store, self.request.region);
        // After an error it may be marked, and stays so until the next start: the mark may also belong to an earlier order.
        let marked = if leaves {
            store.mark_leaving(self.agent, item.id, region)?
        } else {
            store.mark_item(self.agent, item.id, region)?
        };
        Ok(match marked {
            MarkItem::Marked { key, item: found } if found == *item => Ok(Some(key)),
            MarkItem::Marked { .. } => {
                // By a request over HTTP, beside the others.
                store.release_item(self.agent, item.id)?;
                Err(WorldRefusal::Changed)
            }
            MarkItem::Copyable(found) if found == *item => Ok(None),
            MarkItem::Copyable(_) => Err(WorldRefusal::Changed),
            MarkItem::Unknown => Err(WorldRefusal::Unknown),
            MarkItem::Busy(_) => Err(WorldRefusal::OnItsWay),
            MarkItem::Worn => Err(WorldRefusal::Worn),
        })
    }
}
