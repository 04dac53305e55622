//! Owners of linksets: orders of operators, offers for sale and purchases.

use super::editor::{ObjectEditor, hand_over};
use ids::{AgentId, LocalId, Uuid};
use link::{DerezKind, EditRefusal, ObjectMask, Offer};
use prim::{Edit, Sale, SaleKind};

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

    /// Buys a linkset or a copy of it at the offer that the client shows. There is no money, so that the price is 0.
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
            // Prims have no contents yet.
            SaleKind::Contents => Err(EditRefusal::Unsupported),
            SaleKind::Copy => self.hold(judged.root, buyer, DerezKind::TakeCopy, (Uuid::nil(), Uuid::nil())),
            SaleKind::Original => {
                self.change_hands(judged.root, buyer, group)?;
                // It offered to be bought by a click.
                self.edit_body(judged.root, ObjectMask::FLAGS, |body| body.click_action = 0);
                Ok(())
            }
        }
    }

    fn change_hands(&mut self, root: LocalId, owner: AgentId, group: Uuid) -> Result<(), EditRefusal> {
        for prim in self.linkset(root)? {
            self.edit_body(prim, ObjectMask::FLAGS, |body| hand_over(body, owner, group));
        }
        self.judged = None;
        Ok(())
    }
}
