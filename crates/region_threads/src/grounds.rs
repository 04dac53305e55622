//! Grounds of the shared worlds as their frames have them, and the outcomes of the node's own orders to them. The `replica` thread fills it, and the
//! operator's address asks it.

use ids::{SessionKey, WorldId};
use link::{Event, Frame, GroundPatch, LandEvent, LandRefusal, Terrain};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::oneshot;
use workplace::world_map::WorldMap;

/// Outcome of an order.
pub type LandOutcome = Result<(), LandRefusal>;

/// Grounds of all shared worlds.
#[derive(Debug)]
pub struct Grounds {
    worlds: WorldMap<Mutex<ShownGround>>,
}

#[derive(Debug)]
struct ShownGround {
    described: Arc<Terrain>,
    /// By column and row.
    patches: BTreeMap<(u8, u8), GroundPatch>,
    /// Orders under way, by the numbers of their commands.
    orders: BTreeMap<u64, oneshot::Sender<LandOutcome>>,
}

impl Grounds {
    /// Grounds that worlds begin with: the described one of each, and the patches that are other than in it.
    pub fn new(first: impl IntoIterator<Item = (WorldId, Arc<Terrain>, Vec<GroundPatch>)>) -> Self {
        let shown = |(world, described, patches): (WorldId, Arc<Terrain>, Vec<GroundPatch>)| {
            let patches = patches.into_iter().map(|patch| ((patch.column(), patch.row()), patch)).collect();
            (world, Mutex::new(ShownGround { described, patches, orders: BTreeMap::new() }))
        };
        Self { worlds: first.into_iter().map(shown).collect() }
    }

    /// Takes note of a frame. One without anything of the ground costs a look at its events.
    pub(super) fn note(&self, frame: &Frame) {
        let whole = frame.snapshot.as_ref().filter(|part| part.index == 0 && part.land.is_some());
        let mut outcomes = frame.events.iter().filter_map(outcome_of).peekable();
        if frame.ground.is_empty() && whole.is_none() && outcomes.peek().is_none() {
            return;
        }
        let Some(mut ground) = self.lock(frame.world) else { return };
        if whole.is_some() {
            ground.patches.clear();
        }
        // A snapshot holds the state after its frame's changes.
        let patches = whole.map_or(&frame.ground, |part| &part.ground);
        for patch in patches {
            ground.patches.insert((patch.column(), patch.row()), patch.clone());
        }
        for (sequence, outcome) in outcomes {
            if let Some(order) = ground.orders.remove(&sequence) {
                // It may have been given up.
                let _ = order.send(outcome);
            }
        }
    }

    /// The present ground of a world.
    pub fn ground(&self, world: WorldId) -> Option<Terrain> {
        let ground = self.lock(world)?;
        let mut present = Terrain::clone(&ground.described);
        ground.patches.values().for_each(|patch| present.set_patch(patch));
        Some(present)
    }

    /// Announces an order of the node to a world; its outcome comes by this.
    pub(super) fn expect(&self, world: WorldId, sequence: u64) -> Option<oneshot::Receiver<LandOutcome>> {
        let mut ground = self.lock(world)?;
        // Of orders that were given up.
        ground.orders.retain(|_, order| !order.is_closed());
        let (order, outcome) = oneshot::channel();
        ground.orders.insert(sequence, order);
        Some(outcome)
    }

    fn lock(&self, world: WorldId) -> Option<MutexGuard<'_, ShownGround>> {
        let ground = self.worlds.get(world)?;
        Some(ground.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Number and outcome of an order of the node.
const fn outcome_of(event: &Event) -> Option<(u64, LandOutcome)> {
    match event {
        Event::Land(SessionKey::NODE, LandEvent::Done { sequence }) => Some((*sequence, Ok(()))),
        Event::Land(SessionKey::NODE, LandEvent::Refused { sequence, reason }) => {
            Some((*sequence, Err(*reason)))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use link::{Estate, LandState, PATCH_SAMPLES, SnapshotChunk};

    const WORLD: WorldId = WorldId(1);

    fn grounds() -> Grounds {
        Grounds::new([(WORLD, Arc::new(Terrain::flat(256, 21.0)), vec![patch(3, 40.0)])])
    }

    fn patch(column: u8, height: f32) -> GroundPatch {
        GroundPatch::new(column, 0, [height; PATCH_SAMPLES]).expect("a height")
    }

    fn frame() -> Frame {
        Frame { world: WORLD, ..Frame::empty() }
    }

    fn heights(grounds: &Grounds) -> [f32; 4] {
        let ground = grounds.ground(WORLD).expect("a shared world");
        [0, 1, 2, 3].map(|column| ground.patch(column, 0)[0])
    }

    #[test]
    fn the_ground_is_the_described_one_with_the_patches_of_frames() {
        let grounds = grounds();
        assert_eq!(heights(&grounds), [21.0, 21.0, 21.0, 40.0]);
        grounds.note(&Frame { ground: vec![patch(0, 30.0), patch(1, 31.0)], ..frame() });
        grounds.note(&Frame { ground: vec![patch(1, 32.0)], ..frame() });
        assert_eq!(heights(&grounds), [30.0, 32.0, 21.0, 40.0]);
        // A world that has begun again.
        let land =
            LandState::of_one_parcel(256, ids::Uuid::from_u128(1), Estate::new("Hills", None, 20.0), 0);
        let part =
            SnapshotChunk { ground: vec![patch(2, 25.0)], land: Some(land), ..SnapshotChunk::default() };
        grounds.note(&Frame { ground: vec![patch(0, 1.0)], snapshot: Some(part), ..frame() });
        assert_eq!(heights(&grounds), [21.0, 21.0, 25.0, 21.0]);
        assert!(grounds.ground(WorldId(2)).is_none());
    }

    #[test]
    fn outcomes_reach_the_orders_that_wait_for_them() {
        let grounds = grounds();
        let mut first = grounds.expect(WORLD, 7).expect("a shared world");
        let mut second = grounds.expect(WORLD, 8).expect("a shared world");
        let reason = LandRefusal::Busy;
        let events = [
            (SessionKey(5), LandEvent::Done { sequence: 8 }),
            (SessionKey::NODE, LandEvent::Done { sequence: 6 }),
            (SessionKey::NODE, LandEvent::Refused { sequence: 7, reason }),
        ];
        let events = events.map(|(session, event)| Event::Land(session, event)).into();
        grounds.note(&Frame { events, ..frame() });
        assert_eq!(first.try_recv(), Ok(Err(reason)));
        assert!(second.try_recv().is_err(), "that of a session");
        drop(second);
        let third = grounds.expect(WORLD, 9);
        let n_orders = grounds.lock(WORLD).expect("a shared world").orders.len();
        assert_eq!((third.is_some(), n_orders), (true, 1), "without those that were given up");
    }
}
