//! Bodies that users throw again and again: where a client displays them that has room for one in seven of them in each of its turns.

use glam::{Quat, Vec3};
use ids::{AgentId, Epoch, LocalId, RegionHandle, SessionKey, Tick, Uuid, WorldId};
use link::{
    Action, Command, CopyPlace, Duplicates, Enter, Frame, NewObject, ObjectCommand, ObjectLimits, Placement,
    PrimFlags, Scenery, StoredObjects, Terrain,
};
use prim::Shape;
use replicate::objects::{MoverSend, SeenMovers, SentSet};
use replicate::scenery::{SceneryReplica, StaticObjects};
use replicate::{EncodedFrame, Encoder, Intake, Publisher, Replica};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use wire::terse::{self, Terse};
use world::{World, WorldConfig};

const TICK: Duration = Duration::from_millis(50);
const BODIES: u32 = 100;
const FIRST: LocalId = LocalId(1 << 20);
/// Blocks of a turn: of 500 bodies as many as 64 KiB/s carry beside a scene, at ten turns a second.
const BLOCKS_PER_TURN: usize = 14;
const EYE: Vec3 = Vec3::new(128.0, 128.0, 22.0);
/// Movers that are compared: the nearest ones.
const NEAREST: usize = 20;

/// A client that displays bodies as its last updates lead.
#[derive(Default)]
struct Client {
    sent: SentSet,
    movers: SeenMovers,
    shown: BTreeMap<LocalId, (u64, Terse)>,
    n_blocks: usize,
}

impl Client {
    fn turn(&mut self, tick: u64, replica: &Replica) {
        let (objects, now) = (replica.objects(), tick as u32);
        self.sent.follow(objects, &mut Vec::new());
        for (id, _) in objects.entries().filter(|(id, _)| !self.shown.contains_key(id)).collect::<Vec<_>>() {
            self.sent.mark_sent(id, true);
            self.sent.settle(id, false);
            self.movers.note_full(objects, id, now.wrapping_sub(1));
        }
        self.movers.follow(objects, &self.sent);
        let send = MoverSend { tick: now, tick_s: TICK.as_secs_f32(), eye: EYE };
        let mut due = Vec::new();
        self.movers.choose(objects, &mut self.sent, send, &mut due);
        due.sort_unstable_by(|a, b| b.urgency.total_cmp(&a.urgency).then(a.mover.cmp(&b.mover)));
        for (n, &due) in due.iter().enumerate() {
            if n >= BLOCKS_PER_TURN {
                self.movers.note_held(due);
                continue;
            }
            let mover = &objects.movers()[due.mover as usize];
            let mut message = Vec::new();
            terse::write_prefix(&mut message, RegionHandle::from_grid(1_000, 1_000), 1.0, 1);
            message.extend_from_slice(&mover.terse);
            let block =
                terse::decode(&message[1..]).expect("a prefix").next().expect("one").expect("a block");
            self.shown.insert(mover.id, (tick, block));
            self.movers.note_sent(objects, due, send, false);
            self.n_blocks += 1;
        }
    }

    /// Errors of the nearest bodies in motion, metres.
    fn compare(&self, tick: u64, replica: &Replica, errors_m: &mut Vec<f32>) {
        let moving = replica.objects().entries().map(|(id, entry)| (id, entry.prim.motion));
        let mut moving: Vec<_> = moving.filter(|(_, motion)| !motion.at_rest()).collect();
        moving.sort_by(|a, b| a.1.position.distance(EYE).total_cmp(&b.1.position.distance(EYE)));
        for (id, motion) in moving.into_iter().take(NEAREST) {
            let Some((sent, shown)) = self.shown.get(&id) else { continue };
            let s = (tick - sent) as f32 * TICK.as_secs_f32();
            let place = shown.position + shown.velocity * s + shown.acceleration * (s * s / 2.0);
            errors_m.push(place.distance(motion.position));
        }
    }
}

#[test]
fn a_client_displays_thrown_bodies_where_they_are() {
    let (terrain, scenery) = (Arc::new(Terrain::flat(256, 21.0)), Arc::new(Scenery::default()));
    let config = WorldConfig {
        id: WorldId(1),
        epoch: Epoch(1),
        size_m: 256,
        local_ids: FIRST.0..FIRST.0 << 1,
        terrain,
        scenery: Arc::clone(&scenery),
        objects: Some(StoredObjects::default()),
        land: None,
        cast: None,
        water_m: 20.0,
        max_avatars: 20,
        seed: 1,
    };
    let scenery = SceneryReplica::new(Arc::new(StaticObjects::new(&scenery, 256.0)), FIRST.0);
    let mut publisher = Publisher::new(Replica::new(config.id, 256.0, scenery));
    let (mut world, mut encoder) = (World::new(config), Encoder::new(TICK));
    let (mut frame, mut commands, mut spare) = (Frame::empty(), Vec::new(), EncodedFrame::default());
    let (mut client, mut errors_m) = (Client::default(), Vec::new());
    let (mut seed, mut n_awake) = (1_u32, 0);
    let mut random = move |from: f32, to: f32| {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        from + (to - from) * (seed >> 8) as f32 / (1 << 24) as f32
    };
    for tick in 0..300 {
        commands.extend(begin(tick));
        if tick >= 20 {
            let throw = |n: u64| {
                let place = Vec3::new(random(120.0, 136.0), random(120.0, 136.0), random(30.0, 38.0));
                let placement = Placement { position: Some(place), ..Placement::default() };
                (LocalId(FIRST.0 + (n % u64::from(BODIES)) as u32), placement)
            };
            // Each body every three seconds.
            let each = u64::from(BODIES) * tick / 60..u64::from(BODIES) * (tick + 1) / 60;
            let request = ObjectCommand::Place(each.map(throw).collect());
            commands.push(Command::by_session(SessionKey(1), tick, Action::Object(Box::new(request))));
        }
        world.step(Tick(tick), TICK, 1.0, &mut commands, &mut frame);
        match encoder.encode(&frame, &mut spare) {
            Intake::Ready => spare = publisher.publish(std::mem::take(&mut spare)),
            Intake::NeedsSnapshot => {
                commands.push(Command::by_node(SessionKey::NODE, tick, Action::Resync));
                continue;
            }
            Intake::Waiting => continue,
        }
        let replica = publisher.current();
        if tick.is_multiple_of(2) {
            client.turn(tick, replica);
        }
        if tick >= 100 {
            client.compare(tick, replica, &mut errors_m);
            n_awake += replica.objects().entries().filter(|(_, entry)| !entry.prim.motion.at_rest()).count();
        }
    }
    assert!(n_awake > 200 * BODIES as usize * 8 / 10, "{n_awake} in 200 ticks");
    assert!(errors_m.len() > 200 * NEAREST / 2);
    errors_m.sort_unstable_by(f32::total_cmp);
    let p95_m = errors_m[errors_m.len() * 95 / 100];
    assert!(p95_m <= 0.3, "{p95_m} m, with {} blocks", client.n_blocks);
}

/// A user with bodies, and room for them.
fn begin(tick: u64) -> Option<Command> {
    let object = ObjectCommand::Create(Box::new(NewObject {
        id: Uuid::from_u128(1),
        created_us: 0,
        p_code: 9,
        state: 0,
        material: 3,
        shape: Shape::BOX,
        scale: Vec3::splat(0.5),
        position: Vec3::new(121.0, 121.0, 30.0),
        ray: None,
        rotation: Quat::IDENTITY,
        group: Uuid::nil(),
        flags: PrimFlags::PHYSICS,
        is_selected: false,
    }));
    let copies = ObjectCommand::Duplicate(Box::new(Duplicates {
        ids: Uuid::from_u128(2),
        group: Uuid::nil(),
        is_selected: false,
        copies: vec![(FIRST, CopyPlace::Offset(Vec3::X)); BODIES as usize - 1],
    }));
    let action = match tick {
        0 => Action::Enter(Box::new(Enter {
            agent: AgentId(Uuid::from_u128(1)),
            first_name: "Ada".into(),
            last_name: "Resident".into(),
            position: EYE,
            look_at: Vec3::X,
            flying: false,
            appearance: None,
        })),
        1 => {
            let limits = ObjectLimits { rez_per_s: 1_000, ..ObjectLimits::default() };
            return Some(Command::by_node(SessionKey::NODE, tick, Action::ObjectLimits(limits)));
        }
        2 => Action::Object(Box::new(object)),
        4 => Action::Object(Box::new(copies)),
        _ => return None,
    };
    Some(Command::by_session(SessionKey(1), tick, action))
}
