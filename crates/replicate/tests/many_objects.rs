//! A replica of 100,000 objects: it is made whole after a gap, and a reader that holds it for long shares all but what has changed.

use glam::Vec3;
use ids::{AgentId, Epoch, LocalId, SessionKey, Tick, Uuid, WorldId};
use link::{
    Action, Command, Frame, Motion, ObjectCommand, ObjectPage, PAGE_PRIMS, PrimMotion, RestingIds,
    StoredObjects, Terrain, Textures, VersionedBody, plain_texture,
};
use prim::{Body, Shape};
use replicate::scenery::{SceneryReplica, StaticObjects};
use replicate::{EncodedFrame, Encoder, Intake, Publisher, Replica};
use std::sync::Arc;
use std::time::Duration;
use world::{World, WorldConfig};

const TICK: Duration = Duration::from_millis(50);
const N: u32 = 100_000;
const FIRST: u32 = 1 << 20;
/// Ticks until a snapshot is complete: it comes in parts.
const TICKS_MAX: u64 = 200;

/// 100,000 boxes, a metre apart in a few layers.
fn objects() -> StoredObjects {
    let texture: Arc<[u8]> = Arc::new(plain_texture(7));
    let pages = (0..N).step_by(PAGE_PRIMS).map(|begin| {
        let mut page = ObjectPage::empty(LocalId(FIRST + begin));
        let (motions, bodies) = (Arc::make_mut(&mut page.motions), Arc::make_mut(&mut page.bodies));
        for (place, n) in (begin..N.min(begin + PAGE_PRIMS as u32)).enumerate() {
            let position =
                Vec3::new((n % 250) as f32 + 2.0, (n / 250 % 250) as f32 + 2.0, 30.0 + (n / 62_500) as f32);
            motions[place] =
                PrimMotion { motion: Motion { position, ..Motion::default() }, ..PrimMotion::NONE };
            let id = Uuid::from_u128(u128::from(n) + 1);
            let body = Body::new(id, Shape::BOX, Arc::clone(&texture), AgentId(Uuid::from_u128(9)), 0);
            bodies[place] = Some(VersionedBody { version: 1, body: Arc::new(body) });
        }
        page
    });
    let kept = RestingIds { n_used: N, resting: Vec::new() };
    StoredObjects { pages: pages.collect(), kept, ..StoredObjects::default() }
}

/// A world and what follows its frames.
struct Stage {
    world: World,
    encoder: Encoder,
    publisher: Publisher,
    frame: Frame,
    spare: EncodedFrame,
    tick: u64,
}

impl Stage {
    fn new() -> Self {
        let config = WorldConfig {
            id: WorldId(1),
            epoch: Epoch(0),
            size_m: 256,
            local_ids: FIRST..2 << 20,
            terrain: Arc::new(Terrain::flat(256, 21.0)),
            scenery: Arc::default(),
            objects: Some(objects()),
            land: None,
            cast: None,
            water_m: 20.0,
            max_avatars: 20,
            seed: 1,
        };
        let statics = Arc::new(StaticObjects::new(&config.scenery, 256.0));
        let replica = Replica::new(config.id, 256.0, SceneryReplica::new(statics, 1));
        let mut stage = Self {
            world: World::new(config),
            encoder: Encoder::new(TICK),
            publisher: Publisher::new(replica),
            frame: Frame::empty(),
            spare: EncodedFrame::default(),
            tick: 0,
        };
        assert_eq!(stage.step(Vec::new()), Intake::Ready);
        assert_eq!(stage.newest().objects().len(), N as usize);
        stage
    }

    fn newest(&self) -> &Arc<Replica> {
        self.publisher.current()
    }

    /// A step whose frame is lost.
    fn step_unheard(&mut self, actions: Vec<Action>) {
        let tick = self.tick;
        let command = |(n, action)| Command::by_node(SessionKey::NODE, tick << 16 | n, action);
        let mut commands: Vec<Command> = (0..).zip(actions).map(command).collect();
        self.tick += 1;
        self.world.step(Tick(tick), TICK, 1.0, &mut commands, &mut self.frame);
    }

    fn step(&mut self, actions: Vec<Action>) -> Intake {
        self.step_unheard(actions);
        let intake = self.encoder.encode(&self.frame, &mut self.spare);
        if intake == Intake::Ready {
            self.spare = self.publisher.publish(std::mem::take(&mut self.spare));
        }
        intake
    }

    /// Checks that the replica has what the world has.
    fn compare(&self) {
        let stored = self.world.object_counts();
        let objects = self.newest().objects();
        assert_eq!(objects.len(), stored.prims);
    }
}

/// Paints a prim.
fn paint(n: u32) -> Action {
    let textures = Textures { entry: Arc::new(plain_texture(u128::from(n) + 100)), media_url: String::new() };
    Action::Object(Box::new(ObjectCommand::Textures(vec![(LocalId(FIRST + n), textures)])))
}

/// Checksums of all prims.
fn checksums(replica: &Replica) -> Vec<(LocalId, u32)> {
    replica.objects().entries().map(|(id, entry)| (id, entry.crc)).collect()
}

#[test]
fn a_replica_of_100_000_objects_is_made_whole_after_a_gap() {
    let (mut stage, mut witness) = (Stage::new(), Stage::new());
    let edits: Vec<u32> = (0..40).map(|n| n * 2_503).collect();
    for &n in &edits {
        stage.step_unheard(vec![paint(n)]);
        assert_eq!(witness.step(vec![paint(n)]), Intake::Ready);
    }
    assert_ne!(checksums(stage.newest()), checksums(witness.newest()));
    assert_eq!(stage.step(Vec::new()), Intake::NeedsSnapshot);
    let mut asks = vec![Action::Resync];
    let made_whole = (0..TICKS_MAX).any(|_| stage.step(std::mem::take(&mut asks)) == Intake::Ready);
    assert!(made_whole, "no whole snapshot within {TICKS_MAX} ticks");
    assert_eq!(checksums(stage.newest()), checksums(witness.newest()));
    stage.compare();
}

#[test]
fn a_reader_that_is_slow_keeps_its_state_and_shares_what_has_not_changed() {
    let mut stage = Stage::new();
    let held = Arc::clone(stage.newest());
    let before = checksums(&held);
    let edits: Vec<u32> = (0..50).map(|n| n * 1_999).collect();
    for &n in &edits {
        assert_eq!(stage.step(vec![paint(n)]), Intake::Ready);
    }
    assert_eq!(checksums(&held), before, "a reader's state does not change");
    let newest = Arc::clone(stage.newest());
    let pairs = held.objects().entries().zip(newest.objects().entries());
    let apart: Vec<u32> = pairs
        .filter(|((_, old), (_, new))| !Arc::ptr_eq(&old.body, &new.body))
        .map(|((id, old), (_, new))| {
            assert_ne!(old.crc, new.crc);
            id.0 - FIRST
        })
        .collect();
    assert_eq!(apart, edits, "a prim that was not painted is shared");
    stage.compare();
}
