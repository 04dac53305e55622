//! Values of held objects: whatever an object is read from, a world takes it in or answers with a reason.
#![no_main]

use ids::{AgentId, Epoch, HeldKey, SessionKey, Tick, Ticket, Uuid, WorldId};
use keeper::held_object;
use libfuzzer_sys::fuzz_target;
use link::{
    Action, Command, Event, Frame, PrimFlags, Restoration, RestorePlace, StoredObjects, Terrain, Transfer,
};
use std::sync::{Arc, LazyLock};
use std::time::Duration;
use store::HeldRow;
use world::{World, WorldConfig};

static GROUND: LazyLock<Arc<Terrain>> = LazyLock::new(|| Arc::new(Terrain::flat(256, 21.0)));

fuzz_target!(|bytes: &[u8]| {
    let key = HeldKey { region: WorldId(2), ticket: Ticket(7) };
    let (owner, by) = (AgentId(Uuid::nil()), SessionKey::NODE);
    let row = HeldRow { key, owner, kind: 9, by, held_s: 0, value: bytes.into() };
    let Ok(object) = held_object(&row) else { return };
    let n_prims = object.n_prims();
    let is_physical = object.prims().any(|(place, _)| place.flags.any(PrimFlags::PHYSICS));
    let mut world = World::new(WorldConfig {
        id: WorldId(1),
        epoch: Epoch(0),
        size_m: 256,
        local_ids: 1 << 20..2 << 20,
        terrain: Arc::clone(&GROUND),
        scenery: Arc::default(),
        objects: Some(StoredObjects::default()),
        land: None,
        cast: None,
        water_m: 20.0,
        max_avatars: 10,
        seed: 1,
    });
    let (object, place) = (Arc::new(object), RestorePlace::Former);
    let order = Restoration { key: Some(key), object, place, ids: Uuid::from_u128(1 << 64) };
    let mut commands = vec![Command::by_node(SessionKey::NODE, 0, Action::Restore(Box::new(order)))];
    let mut frame = Frame::empty();
    world.step(Tick(0), Duration::from_millis(50), 1.0, &mut commands, &mut frame);
    match frame.events.first() {
        Some(Event::Transfer(Ticket(1), Transfer::Restored(answered))) => {
            assert_eq!(*answered, key);
            // Physics may take it out of the region in the same step.
            assert!(is_physical || frame.objects.len() == n_prims, "it is there whole");
        }
        Some(Event::Transfer(Ticket(1), Transfer::Refused(answered, _))) => {
            assert_eq!((*answered, frame.objects.len()), (key, 0), "nothing of it is there");
        }
        other => panic!("{other:?}"),
    }
});
