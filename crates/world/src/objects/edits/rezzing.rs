//! Objects that come out of the contents of a prim.
//!
//! The item and its object are in the same world, so that no ticket is needed: the tick that has the object has the item no more, unless its owner may copy it, and
//! the save of its frame has both. The rights are those of an item that is taken into the inventory.

use super::editor::ObjectEditor;
use glam::Vec3;
use ids::LocalId;
use link::{ContentRezzing, ContentsOutcome, EditRefusal, Event};
use prim::{ContentItem, Edit, Mask};
use std::sync::Arc;

impl ObjectEditor<'_> {
    /// Puts the object of an item into the world, with its root at a place if there is one, and answers. An order that comes again gets the same answer. A reason to refuse the order may be known already.
    pub(super) fn rez_content(
        &mut self,
        order: &ContentRezzing,
        at: Option<Vec3>,
        verdict: Result<(), EditRefusal>,
    ) {
        let (ids, id) = (order.restoration.ids, self.store.local_id(order.holder));
        let mut left = None;
        let answer = self.answer_once(ids, |editor| {
            verdict?;
            left = editor.try_rez_content(order, id.ok_or(EditRefusal::Unknown)?, at)?;
            Ok(())
        });
        self.events.push(Event::Rezzed { order: ids, refusal: answer.err() });
        // The user of a refused order is shown the contents with the notice, by the end of the order.
        if let Some(left) = left {
            let outcome = ContentsOutcome::Removed(left);
            self.report_contents(self.actor.session, (id, order.holder), Ok(outcome));
        }
    }

    /// The item, if it has left the prim.
    fn try_rez_content(
        &mut self,
        order: &ContentRezzing,
        id: LocalId,
        at: Option<Vec3>,
    ) -> Result<Option<Arc<ContentItem>>, EditRefusal> {
        let ContentRezzing { restoration, item, .. } = order;
        self.charge(1)?;
        self.charge_items(&[id])?;
        let judged = self.need(id, Edit::TakeItem)?;
        let (place, contents) = self.find(id, item.id)?;
        // The object was made of it as it was: with its name, and its masks.
        if contents.items[place] != *item {
            return Err(EditRefusal::NoItem);
        }
        let stays = item.owner_rights().has(Mask::COPY);
        if !stays && !judged.allows(Edit::Modify) {
            return Err(EditRefusal::Rights);
        }
        let linksets = self.linksets_of(restoration, at)?;
        self.add_together(linksets, restoration.place.is_selected())?;
        if stays {
            return Ok(None);
        }
        self.edit_contents(id, |contents| contents.items.retain(|other| other.id != item.id));
        Ok(Some(Arc::clone(item)))
    }
}
