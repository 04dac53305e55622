//! Owners of linksets: orders of operators, offers for sale and purchases.

use super::creating::derived_id;
use super::editor::{ObjectEditor, hand_over};
use ids::{AgentId, LocalId, Ticket, Uuid};
use link::{DerezKind, EditRefusal, ObjectMask, Offer};
use prim::{Edit, Mask, Sale, SaleKind};
use std::sync::Arc;

impl ObjectEditor<'_> {
    pub(super) fn set_owner(
        &mut self,
        id: LocalId,
        (owner, group): (AgentId, Uuid),
    ) -> Result<(), EditRefusal> {
        // A client that gives an object to its group names no owner.
        if owner.0.is_nil() {
            return Err(EditRefusal::Unsupported);
        }
        let judged = self.need(id, Edit::SetOwner)?;
        if judged.is_attached {
            return Err(EditRefusal::Attached);
        }
        if judged.owner == owner {
            return self.set_group(id, group);
        }
        self.change_hands(judged.root, owner, group)
    }

    pub(super) fn offer(&mut self, id: LocalId, offer: Offer) -> Result<(), EditRefusal> {
        let kind = SaleKind::of_code(offer.kind).filter(|_| offer.price >= 0).ok_or(EditRefusal::BadValue)?;
        let judged = self.need(id, Edit::SetPermissions)?;
        if judged.is_attached {
            return Err(EditRefusal::Attached);
        }
        if !judged.can_be_sold(kind) {
            return Err(EditRefusal::Rights);
        }
        let sale = Sale { kind, price: offer.price };
        self.edit_body(judged.root, ObjectMask::FLAGS, |body| body.sale = sale);
        Ok(())
    }

    /// Buys a linkset, a copy of it or its contents at the offer that the client shows. There is no money, so that the price is 0.
    pub(super) fn buy(&mut self, id: LocalId, offer: Offer, group: Uuid) -> Result<(), EditRefusal> {
        let buyer = self.new_owner()?;
        let judged = self.judge(id)?;
        let body = &self.store.body(judged.root).ok_or(EditRefusal::Unknown)?.body;
        let is_offered = body.sale.kind as u8 == offer.kind && body.sale.price == offer.price;
        let kind = body.sale.kind;
        let is_free = offer.price == 0 && judged.owner != buyer && !judged.is_attached;
        if !is_offered || !is_free || !judged.can_be_sold(kind) {
            return Err(EditRefusal::NotForSale);
        }
        match kind {
            SaleKind::No => Err(EditRefusal::NotForSale),
            SaleKind::Contents => self.buy_contents(judged.root, buyer),
            SaleKind::Copy => self.hold(judged.root, buyer, DerezKind::TakeCopy, (Uuid::nil(), Uuid::nil())),
            SaleKind::Original => {
                self.change_hands(judged.root, buyer, group)?;
                // It offered to be bought by a click.
                self.edit_body(judged.root, ObjectMask::FLAGS, |body| body.click_action = 0);
                Ok(())
            }
        }
    }

    /// Gives all items of a root to a buyer, or none: into a new folder with the name of the object.
    fn buy_contents(&mut self, root: LocalId, buyer: AgentId) -> Result<(), EditRefusal> {
        let body = &self.store.body(root).ok_or(EditRefusal::Unknown)?.body;
        let (object, name) = (body.id, Arc::clone(&body.names.name));
        let items = body.contents.as_ref().map_or_else(Vec::new, |contents| contents.items.clone());
        if items.is_empty() || !items.iter().all(|item| item.owner_rights().has(Mask::TRANSFER)) {
            return Err(EditRefusal::NotForSale);
        }
        self.store.escrow().check_room(buyer, items.len())?;
        self.charge_items(&[root])?;
        // Another one for each purchase, also after a panic.
        let Ticket(last) = self.store.escrow().last();
        let folder = derived_id(object, u64::from(last) + 1);
        self.give_items(root, buyer, &items, (folder, Some(&name)));
        Ok(())
    }

    fn change_hands(&mut self, root: LocalId, owner: AgentId, group: Uuid) -> Result<(), EditRefusal> {
        let prims = self.linkset(root)?;
        self.charge_items(&prims)?;
        for prim in prims {
            let mask = ObjectMask::FLAGS.union(ObjectMask::CONTENTS);
            self.edit_body(prim, mask, |body| hand_over(body, owner, group));
        }
        self.judged = None;
        Ok(())
    }
}
