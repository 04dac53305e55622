//! Contents of prims: items that come, change and go.
//!
//! The rules are OpenSimulator's. Items belong to the owner of their prim: an item of another user comes in with the masks of its next owner. Names differ
//! within a prim. Undo does not concern items.

use super::appearance::cut;
use super::editor::{Judgement, ObjectEditor};
use ids::{AgentId, LocalId, SessionKey, Uuid};
use link::{
    ContentReplacement, ContentsEvent, ContentsOutcome, EditRefusal, Event, HeldItem, ItemEdit,
    ItemRestoration, PrimFlags,
};
use prim::body::{DESCRIPTION_MAX, NAME_MAX};
use prim::{
    Body, CONTENT_ITEMS_MAX, ContentItem, Contents, Edit, ItemDrop, Mask, Ownership, Permissions, Sale,
    SaleKind, item_flags,
};
use std::sync::Arc;

/// Items of all prims of a region: about 100 MB.
pub const REGION_ITEMS_MAX: usize = 1 << 18;
/// Bytes of data of archives in all prims of a region, and in their items.
pub const REGION_CARRIED_MAX: usize = 64 << 20;
/// Items, and bytes of data of archives, that take as long as one prim in the rate of a session.
const ITEMS_PER_PRIM: usize = 32;
const CARRIED_PER_PRIM: usize = 16 * 1_024;

impl ObjectEditor<'_> {
    /// Carries out a request for an item of a prim, and notes its outcome.
    pub(super) fn on_contents(
        &mut self,
        id: LocalId,
        carry_out: impl FnOnce(&mut Self) -> Result<ContentsOutcome, EditRefusal>,
    ) {
        let charged = self.charge(1).and_then(|()| self.charge_items(&[id]));
        let result = charged.and_then(|()| carry_out(self));
        let result = result.map(|outcome| self.outcome.contents = Some(outcome));
        self.settle(Some(id), result);
    }

    /// Takes the items of these prims from the session's rate: all of them are about to change or to be copied.
    pub(super) fn charge_items(&mut self, prims: &[LocalId]) -> Result<(), EditRefusal> {
        let of_prims = prims.iter().map(|&id| self.store.long_data_of(id));
        let (n_items, n_bytes) = of_prims.fold((0, 0), |sum, of| (sum.0 + of.0, sum.1 + of.1));
        self.charge(n_items / ITEMS_PER_PRIM + n_bytes / CARRIED_PER_PRIM)
    }

    /// Refuses more items, or data of archives, than a region may have.
    pub(super) fn check_items(&self, n_more: usize, carried_bytes: usize) -> Result<(), EditRefusal> {
        let has_room = |more, there: usize, most| more == 0 || there + more <= most;
        let are_few = has_room(n_more, self.store.n_items(), REGION_ITEMS_MAX)
            && has_room(carried_bytes, self.store.carried_bytes(), REGION_CARRIED_MAX);
        if are_few { Ok(()) } else { Err(EditRefusal::ContentsFull) }
    }

    pub(super) fn put_item(
        &mut self,
        id: LocalId,
        item: ContentItem,
    ) -> Result<ContentsOutcome, EditRefusal> {
        let judged = self.judge(id)?;
        let is_open =
            self.store.motion(judged.root).is_some_and(|root| root.flags.any(PrimFlags::ALLOW_DROP));
        let is_transferable = item.owner_rights().has(Mask::TRANSFER);
        if !judged.allows_drop(ItemDrop { is_script: item.is_script(), is_transferable, is_open }) {
            return Err(EditRefusal::Rights);
        }
        if item.id.is_nil() {
            return Err(EditRefusal::BadValue);
        }
        self.check_items(1, item.carried.as_bytes().len())?;
        let body = &self.store.body(id).ok_or(EditRefusal::Unknown)?.body;
        let mut contents = body.contents.as_deref().cloned().unwrap_or_default();
        if contents.item(item.id).is_some() {
            return Err(EditRefusal::Twice);
        }
        if contents.items.len() >= CONTENT_ITEMS_MAX {
            return Err(EditRefusal::ContentsFull);
        }
        let item = Arc::new(placed(item, body, &contents));
        contents.items.push(Arc::clone(&item));
        contents.check().map_err(|_| EditRefusal::BadValue)?;
        self.edit_contents(id, |held| held.items = contents.items);
        Ok(ContentsOutcome::Put(item))
    }

    pub(super) fn edit_item(&mut self, id: LocalId, edit: ItemEdit) -> Result<ContentsOutcome, EditRefusal> {
        let kind = SaleKind::of_code(edit.offer.kind).filter(|_| edit.offer.price >= 0);
        let sale = Sale { kind: kind.ok_or(EditRefusal::BadValue)?, price: edit.offer.price };
        let judged = self.need(id, Edit::Modify)?;
        let (place, contents) = self.find(id, edit.item)?;
        let item = changed(&contents, place, &edit, sale, &judged);
        self.edit_contents(id, |contents| contents.items[place] = Arc::new(item));
        Ok(ContentsOutcome::Edited(edit.item))
    }

    pub(super) fn remove_item(&mut self, id: LocalId, item: Uuid) -> Result<ContentsOutcome, EditRefusal> {
        self.need(id, Edit::Modify)?;
        let (place, contents) = self.find(id, item)?;
        self.edit_contents(id, |contents| drop(contents.items.remove(place)));
        Ok(ContentsOutcome::Removed(Arc::clone(&contents.items[place])))
    }

    pub(super) fn read_item(&mut self, id: LocalId, item: Uuid) -> Result<ContentsOutcome, EditRefusal> {
        self.need(id, Edit::TakeItem)?;
        let (place, contents) = self.find(id, item)?;
        Ok(ContentsOutcome::Read(Arc::clone(&contents.items[place])))
    }

    /// Gives an item to the inventory of the acting user. Without the right to copy it, it moves, and the user needs the right to change the prim.
    pub(super) fn take_item(
        &mut self,
        id: LocalId,
        item: Uuid,
        folder: Uuid,
    ) -> Result<ContentsOutcome, EditRefusal> {
        let judged = self.need(id, Edit::TakeItem)?;
        let owner = self.new_owner()?;
        let (place, contents) = self.find(id, item)?;
        let item = &contents.items[place];
        let stays = item.owner_rights().has(Mask::COPY);
        if !stays && !judged.allows(Edit::Modify) {
            return Err(EditRefusal::Rights);
        }
        self.store.escrow().check_room(owner, 1)?;
        let taken = self.give_items(id, owner, &[Arc::clone(item)], (folder, None));
        Ok(ContentsOutcome::Taken(taken.into_iter().next().expect("one was given")))
    }

    /// Gives items of a prim to a user's inventory, each as a transfer of its own: into a folder, or a new one with a name. Those that their owner must not copy
    /// leave the prim. The items as their new owner has them.
    pub(super) fn give_items(
        &mut self,
        id: LocalId,
        owner: AgentId,
        items: &[Arc<ContentItem>],
        (folder, new_folder): (Uuid, Option<&Arc<str>>),
    ) -> Vec<Arc<ContentItem>> {
        let leaves = |item: &ContentItem| !item.owner_rights().has(Mask::COPY);
        let leaving: Vec<Uuid> = items.iter().filter(|item| leaves(item)).map(|item| item.id).collect();
        if !leaving.is_empty() {
            self.edit_contents(id, |contents| contents.items.retain(|item| !leaving.contains(&item.id)));
        }
        let mut given = Vec::with_capacity(items.len());
        for item in items {
            let item = if item.ownership.owner == owner {
                Arc::clone(item)
            } else {
                Arc::new(item.for_next_owner(owner, Uuid::nil()))
            };
            let (by, new_folder) = (self.actor.session, new_folder.cloned());
            let held = HeldItem { owner, by, folder, new_folder, item: Arc::clone(&item) };
            self.transfer(|escrow| escrow.hold_item(held));
            given.push(item);
        }
        given
    }

    /// Puts an item of an inventory into a prim, and answers. As to an order for an object, there is no second answer while the first is not settled, and without a key the
    /// same one. A reason to refuse it may be known already.
    pub(super) fn restore_item(&mut self, order: &ItemRestoration, verdict: Result<(), EditRefusal>) {
        let ItemRestoration { key, session, object, item } = order;
        let is_answered = match *key {
            Some(key) => self.store.escrow().is_answered(key),
            None => self.repeat_answer(item.id),
        };
        if is_answered {
            return;
        }
        let id = self.store.local_id(*object);
        let result = verdict.and_then(|()| {
            let id = id.ok_or(EditRefusal::Unknown)?;
            self.charge(1)?;
            self.charge_items(&[id])?;
            self.put_item(id, (**item).clone())
        });
        let refusal = result.as_ref().err().copied();
        let answer = refusal.map_or(Ok(()), Err);
        match *key {
            Some(key) => self.transfer(|escrow| escrow.answer(key, refusal)),
            None => self.answer_new(item.id, answer),
        }
        self.settle(None, answer);
        self.report_contents(*session, (id, *object), result);
    }

    /// Gives the answer to an order again that had one; false, and nothing, for a new order.
    fn repeat_answer(&mut self, order: Uuid) -> bool {
        let Some(answer) = self.store.orders().answer_to(order) else { return false };
        self.events.push(Event::Rezzed { order, refusal: answer.err() });
        true
    }

    /// Answers a new order that no transfer answers.
    fn answer_new(&mut self, order: Uuid, answer: Result<(), EditRefusal>) {
        self.store.orders_mut().note(order, answer);
        self.events.push(Event::Rezzed { order, refusal: answer.err() });
    }

    /// Gives an item of a prim other content, and answers. The acting user needs the right to change the prim, and its owner that to change the item. An order that was
    /// answered gets the same answer. A reason to refuse it may be known already.
    pub(super) fn replace_content(&mut self, order: &ContentReplacement, verdict: Result<(), EditRefusal>) {
        let ContentReplacement { session, object, item, asset_type, asset } = *order;
        if self.repeat_answer(asset) {
            return;
        }
        let id = self.store.local_id(object);
        let result = verdict.and_then(|()| {
            let id = id.ok_or(EditRefusal::Unknown)?;
            self.charge(1)?;
            self.charge_items(&[id])?;
            self.need(id, Edit::Modify)?;
            let (place, contents) = self.find(id, item)?;
            let former = &contents.items[place];
            if former.asset_type != asset_type {
                return Err(EditRefusal::BadValue);
            }
            if !former.owner_rights().has(Mask::MODIFY) {
                return Err(EditRefusal::Rights);
            }
            let newer = ContentItem { asset, ..(**former).clone() };
            self.edit_contents(id, |contents| contents.items[place] = Arc::new(newer));
            Ok(())
        });
        self.answer_new(asset, result);
        self.settle(None, result);
        self.report_contents(session, (id, object), result.map(|()| ContentsOutcome::Edited(item)));
    }

    /// Reports the outcome of an order of the node for an item to the user for whom it acts. A session that is not in the world gets no report.
    pub(super) fn report_contents(
        &mut self,
        session: SessionKey,
        (id, object): (Option<LocalId>, Uuid),
        result: Result<ContentsOutcome, EditRefusal>,
    ) {
        if self.actor.session == session {
            let outcome = result.unwrap_or_else(ContentsOutcome::Refused);
            let sequence = self.actor.sequence;
            let (id, object) = id.map_or((LocalId(0), Uuid::nil()), |id| (id, object));
            let event = ContentsEvent { session, sequence, id, object, outcome };
            self.events.push(Event::Contents(Arc::new(event)));
        }
    }

    /// Place of an item among those of its prim, and all of these.
    pub(super) fn find(&self, id: LocalId, item: Uuid) -> Result<(usize, Arc<Contents>), EditRefusal> {
        let body = &self.store.body(id).ok_or(EditRefusal::Unknown)?.body;
        let contents = body.contents.as_ref().ok_or(EditRefusal::NoItem)?;
        let place = contents.items.iter().position(|other| other.id == item).ok_or(EditRefusal::NoItem)?;
        Ok((place, Arc::clone(contents)))
    }

    /// Changes the items of a prim that was judged. Rights of its linkset follow from them.
    pub(super) fn edit_contents(&mut self, id: LocalId, edit: impl FnOnce(&mut Contents)) {
        self.store.edit_contents(id, edit).expect("a prim that was judged is there");
        self.judged = None;
    }
}

/// An item as it is in a prim that has these other ones.
fn placed(item: ContentItem, body: &Body, contents: &Contents) -> ContentItem {
    let Ownership { owner, group, .. } = *body.ownership;
    let item = if item.ownership.owner == owner { item } else { item.for_next_owner(owner, group) };
    let permissions = movable(item.ownership.permissions).bounded();
    ContentItem {
        name: contents.free_name(&cut(&item.name, NAME_MAX)),
        description: cut(&item.description, DESCRIPTION_MAX),
        ownership: Ownership { group, permissions, ..item.ownership },
        ..item
    }
}

/// Masks of an item, which can be moved in any case.
fn movable(masks: Permissions) -> Permissions {
    Permissions { base: masks.base | Mask::MOVE, ..masks }
}

/// An item with the changes that the acting user may make.
fn changed(
    contents: &Contents,
    place: usize,
    edit: &ItemEdit,
    sale: Sale,
    judged: &Judgement,
) -> ContentItem {
    let item = &contents.items[place];
    let name = cut(&edit.name, NAME_MAX);
    let others = contents.items.iter().filter(|other| other.id != item.id).cloned();
    let others = Contents { serial: 0, items: others.collect() };
    let former = item.ownership.permissions;
    let base = if judged.allows(Edit::SetOwner) { edit.masks.base } else { former.base };
    let wanted = if judged.allows(Edit::SetPermissions) { edit.masks } else { former };
    let permissions = movable(Permissions { base, ..wanted }).bounded();
    ContentItem {
        name: if name.is_empty() { Arc::clone(&item.name) } else { others.free_name(&name) },
        description: cut(&edit.description, DESCRIPTION_MAX),
        flags: item.flags | changed_masks(&former, &permissions),
        ownership: Ownership { permissions, ..item.ownership },
        sale: if judged.allows(Edit::SetPermissions) { sale } else { item.sale },
        ..(**item).clone()
    }
}

/// Flags of an item whose masks were changed in a prim: an object has them in a world instead of its own.
fn changed_masks(former: &Permissions, new: &Permissions) -> u32 {
    let flags = [
        (former.base, new.base, item_flags::OTHER_BASE),
        (former.owner, new.owner, item_flags::OTHER_OWNER),
        (former.group, new.group, item_flags::OTHER_GROUP),
        (former.everyone, new.everyone, item_flags::OTHER_EVERYONE),
        (former.next_owner, new.next_owner, item_flags::OTHER_NEXT_OWNER),
    ];
    let changed = flags.iter().filter(|(former, new, _)| former != new);
    changed.fold(0, |all, (.., flag)| all | flag)
}
