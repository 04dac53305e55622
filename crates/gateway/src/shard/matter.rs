//! Form and matter of selected prims: a client that builds learns them by an event when it selects the prims, and whenever they change meanwhile.

use super::incoming::{Drop, Handled, Incoming};
use super::{ClientIndex, Shard};
use crate::coverage::MessageOutcome;
use crate::mail::{FromShard, Request};
use grid::capability;
use ids::LocalId;
use prim::PrimPhysics;
use replicate::Replica;
use std::sync::Arc;
use wire::messages::ObjectDeselect;

/// Name of the event.
const PROPERTIES: &str = "ObjectPhysicsProperties";
/// Selected prims of a client that are followed, as many as a message names. Beyond that the ones that were selected first are forgotten.
const SELECTED_MAX: usize = 255;

/// Prims that a client has selected, with the matter that it knows.
#[derive(Debug, Default)]
pub(super) struct SelectedMatter(Vec<(LocalId, PrimPhysics)>);

impl SelectedMatter {
    fn select(&mut self, id: LocalId, physics: PrimPhysics) {
        self.0.retain(|(other, _)| *other != id);
        if self.0.len() == SELECTED_MAX {
            self.0.remove(0);
        }
        self.0.push((id, physics));
    }

    fn deselect(&mut self, is_deselected: impl Fn(LocalId) -> bool) {
        self.0.retain(|(id, _)| !is_deselected(*id));
        if self.0.is_empty() {
            self.clear();
        }
    }

    /// Forgets all of them, with their memory.
    pub(super) fn clear(&mut self) {
        self.0 = Vec::new();
    }

    /// Prims with other matter than the client knows. Those that are gone are forgotten.
    fn poll_changed(
        &mut self,
        physics_of: impl Fn(LocalId) -> Option<PrimPhysics>,
    ) -> Vec<(LocalId, PrimPhysics)> {
        let mut changed = Vec::new();
        self.0.retain_mut(|(id, known)| {
            let now = physics_of(*id);
            if let Some(now) = now
                && now != *known
            {
                *known = now;
                changed.push((*id, now));
            }
            now.is_some()
        });
        changed
    }
}

impl Shard {
    /// Reports the matter of prims that a client has selected, and follows it.
    pub(super) fn select_matter(
        &mut self,
        at: &Incoming<'_>,
        ids: impl Iterator<Item = u32>,
    ) -> Result<(), Drop> {
        let place = Arc::clone(&self.client(at.index).place);
        let replica = place.scene.feed.current();
        let physics_of = |id| Some((id, replica.objects().get(id)?.body.physics));
        let selected: Vec<_> = ids.map(LocalId).filter_map(physics_of).collect();
        if selected.is_empty() {
            return Ok(());
        }
        let body = capability::physics_properties(selected.iter().copied());
        self.request(at, Request::Event { name: PROPERTIES, body })?;
        let known = &mut self.client(at.index).matter;
        selected.into_iter().for_each(|(id, physics)| known.select(id, physics));
        Ok(())
    }

    pub(super) fn on_object_deselect(&mut self, at: &mut Incoming<'_>, m: ObjectDeselect) -> Handled {
        let is_named = |id: LocalId| m.object_data.iter().any(|row| row.object_local_id == id.0);
        self.client(at.index).matter.deselect(is_named);
        Ok(MessageOutcome::Done)
    }

    /// Reports other matter of prims that a client has selected.
    pub(super) fn report_changed_matter(&mut self, index: ClientIndex, replica: &Replica) {
        let client = self.client(index);
        let physics_of = |id| Some(replica.objects().get(id)?.body.physics);
        let changed = client.matter.poll_changed(physics_of);
        if !changed.is_empty() {
            let (key, body) = (client.key(), capability::physics_properties(changed));
            self.mail.push(FromShard::Request(key, Request::Event { name: PROPERTIES, body }));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matter(density: f32) -> PrimPhysics {
        PrimPhysics { density, ..PrimPhysics::default() }
    }

    #[test]
    fn a_change_of_a_selected_prim_is_reported_once() {
        let mut selected = SelectedMatter::default();
        selected.select(LocalId(1), matter(10.0));
        selected.select(LocalId(2), matter(10.0));
        assert_eq!(selected.poll_changed(|_| Some(matter(10.0))), []);
        let one_is_heavy = |LocalId(id)| Some(matter(if id == 1 { 20.0 } else { 10.0 }));
        assert_eq!(selected.poll_changed(one_is_heavy), [(LocalId(1), matter(20.0))]);
        assert_eq!(selected.poll_changed(one_is_heavy), []);
        selected.deselect(|id| id == LocalId(1));
        assert_eq!(selected.poll_changed(|_| Some(matter(30.0))), [(LocalId(2), matter(30.0))]);
    }

    #[test]
    fn prims_that_are_gone_and_those_beyond_the_bound_are_forgotten() {
        let mut selected = SelectedMatter::default();
        (0..300).for_each(|id| selected.select(LocalId(id), matter(10.0)));
        (0..300).for_each(|id| selected.select(LocalId(299 - id), matter(10.0)));
        assert_eq!(selected.0.len(), SELECTED_MAX);
        assert_eq!(selected.poll_changed(|_| None), []);
        assert!(selected.0.is_empty());
    }
}
