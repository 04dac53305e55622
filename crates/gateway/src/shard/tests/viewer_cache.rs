//! A viewer that keeps objects shows what is there, whatever has happened: it follows the rules of viewers for their caches over random edits, losses, panics of
//! the world, switches into an instance, logins, and restarts of the server after SIGKILL.

use crate::places::Scene;
use crate::testing::{Client, DiskRows, HARBOUR, Node, Setup};
use glam::{Quat, Vec3};
use ids::{AgentId, LocalId, Uuid};
use link::{
    Action, Derez, DerezKind, InsertedLinkset, Insertion, Motion, ObjectCommand, Placement, PrimMotion,
    Textures, plain_texture,
};
use prim::{Body, Shape};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// Servers one after the other.
const LIVES: u32 = 3;
const DEEDS_PER_LIFE: u32 = 30;
/// A tenth of a minute in production's terms: a run is short.
const CACHE_AFTER: Duration = Duration::from_millis(1_500);
const CAVE_BOXES: u32 = 3;
/// Time after the last fault within which a viewer shows what is there: what was lost is sent again several times.
const CALM_MS: u64 = 8_000;

/// SplitMix64.
pub(super) struct Dice(pub(super) u64);

impl Dice {
    pub(super) fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ (mixed >> 31)) % n
    }

    /// A place near the place of arrival, from where all of it is seen.
    fn place(&mut self) -> Vec3 {
        let mut metres = || self.below(40) as f32 - 20.0;
        Vec3::new(128.0 + metres(), 128.0 + metres(), 30.0 + metres() / 4.0)
    }
}

/// A server, and a viewer whose cache outlives it.
struct Run {
    seed: u64,
    dice: Dice,
    node: Node,
    cave: Arc<Scene>,
    /// The viewer's client, while it is logged in.
    viewer: Option<usize>,
    cache: BTreeMap<u32, (u32, Vec3)>,
    n_made: u128,
}

impl Run {
    fn new(seed: u64) -> Self {
        let (node, cave) = server(DiskRows::default());
        let dice = Dice(seed.wrapping_mul(0xD6E8_FEB8_6659_FD93));
        Self { seed, dice, node, cave, viewer: None, cache: BTreeMap::new(), n_made: 0 }
    }

    fn scene(&self) -> Arc<Scene> {
        Arc::clone(&self.node.places.get(HARBOUR).scene)
    }

    /// Roots of the region's linksets as its replica has them.
    fn roots(&self) -> Vec<LocalId> {
        let replica = self.scene();
        let replica = replica.feed.current();
        let roots = replica.objects().entries().filter(|(_, entry)| entry.prim.parent == LocalId(0));
        roots.map(|(id, _)| id).collect()
    }

    fn a_root(&mut self) -> Option<LocalId> {
        let roots = self.roots();
        let at = self.dice.below(roots.len().max(1) as u64) as usize;
        roots.get(at).copied()
    }

    fn ask(&mut self, request: ObjectCommand) {
        self.node.order(HARBOUR, Action::Object(Box::new(request)));
    }

    fn deed(&mut self) {
        match self.dice.below(100) {
            0..20 => self.make(),
            20..32 => {
                let position = Some(self.dice.place());
                let Some(root) = self.a_root() else { return };
                self.ask(ObjectCommand::Place(vec![(
                    root,
                    Placement { position, is_linked_set: true, ..Placement::default() },
                )]));
            }
            32..42 => {
                let entry: Arc<[u8]> = plain_texture(self.dice.below(1 << 40).into()).into();
                let Some(root) = self.a_root() else { return };
                let textures = Textures { entry, media_url: String::new() };
                self.ask(ObjectCommand::Textures(vec![(root, textures)]));
            }
            42..50 => {
                let Some(root) = self.a_root() else { return };
                self.ask(ObjectCommand::Derez(Derez {
                    objects: vec![root],
                    kind: DerezKind::Delete,
                    folder: Uuid::nil(),
                    transaction: Uuid::nil(),
                }));
            }
            50..55 => {
                let (one, other) = (self.a_root(), self.a_root());
                let Some((one, other)) = one.zip(other).filter(|(one, other)| one != other) else { return };
                self.ask(ObjectCommand::Link(vec![one, other]));
            }
            55..58 => {
                let Some(root) = self.a_root() else { return };
                self.ask(ObjectCommand::Delink(vec![root]));
            }
            58..78 => {
                let ms = 50 * (1 + self.dice.below(12));
                self.node.run_ms(ms);
            }
            78..84 => self.node.run_for(CACHE_AFTER + Duration::from_millis(600)),
            84..88 => self.node.loss.percent = [0, 10, 30][self.dice.below(3) as usize],
            88..92 => match self.viewer {
                Some(_) => self.log_out(),
                None => self.log_in(),
            },
            92..95 => self.node.panic(HARBOUR),
            _ => self.switch(),
        }
    }

    /// A linkset of one to three prims.
    fn make(&mut self) {
        let place = self.dice.place();
        let n_prims = 1 + self.dice.below(3);
        let prims = (0..n_prims).map(|n| {
            self.n_made += 1;
            let id = Uuid::from_u128(u128::from(self.seed) << 64 | self.n_made);
            let owner = AgentId(Uuid::from_u128(0xada));
            let position = if n == 0 { place } else { Vec3::X * n as f32 };
            let motion = Motion { position, rotation: Quat::IDENTITY, ..Motion::default() };
            let body = Body::new(id, Shape::BOX, Arc::new(plain_texture(9)), owner, 1 << 50);
            (PrimMotion { motion, ..PrimMotion::NONE }, Arc::new(body))
        });
        let linksets = vec![InsertedLinkset { prims: prims.collect() }];
        let ids = Uuid::from_u128(u128::from(self.seed) << 64 | self.n_made << 32 | 0xFE);
        self.ask(ObjectCommand::Insert(Box::new(Insertion { ids, linksets })));
    }

    fn log_in(&mut self) {
        let client = self.node.login("Vera", self.node.spot(HARBOUR, 128.0, 128.0));
        let viewer = &mut self.node.clients[client];
        viewer.cache = std::mem::take(&mut self.cache);
        viewer.manners.cache_flags = 1 | u32::from(viewer.cache.is_empty()) << 1;
        viewer.open();
        self.node.run_until(|node| node.clients[client].sees_itself());
        self.viewer = Some(client);
    }

    fn log_out(&mut self) {
        let Some(client) = self.viewer.take() else { return };
        self.node.clients[client].log_out();
        self.node.run_until(|node| node.hub.session_named("Vera Resident").is_none());
        self.cache = self.node.clients[client].cache.clone();
    }

    /// Logs in again after a quiet time, while datagrams get lost: the viewer is offered what it has kept.
    fn come_back_in_losses(&mut self) {
        self.node.loss.percent = 0;
        self.node.run_for(CACHE_AFTER + Duration::from_millis(600));
        self.log_out();
        self.node.loss.percent = 30;
        self.log_in();
        self.node.run_ms(1_000);
    }

    /// Into the instance, or back. A passage under way is not begun again.
    fn switch(&mut self) {
        let Some(client) = self.viewer else { return };
        let Some(session) = self.node.hub.session_named("Vera Resident") else { return };
        let viewer = &mut self.node.clients[client];
        viewer.manners.cache_flags = 1 | u32::from(viewer.cache.is_empty()) << 1;
        let now = self.node.now;
        let _ = match self.is_inside() {
            true => self.node.hub.leave(now, session),
            false => self.node.hub.enter(now, session, self.cave.world, None),
        };
        self.node.relay();
    }

    fn is_inside(&self) -> bool {
        self.node.hub.n_in(self.cave.world) > 0
    }

    /// Waits until nothing is lost any more, and compares.
    fn compare(&mut self) {
        self.node.loss.percent = 0;
        if self.viewer.is_none() {
            self.log_in();
        }
        self.node.run_ms(CALM_MS);
        let client = &self.node.clients[self.viewer.expect("it has logged in")];
        let about = format!("seed {}", self.seed);
        if self.is_inside() {
            let begin = self.cave.local_ids.start;
            let boxes = begin..begin + CAVE_BOXES;
            let others: Vec<u32> = client.prims.keys().copied().filter(|id| !boxes.contains(id)).collect();
            assert!(others.is_empty(), "{about}, in the instance: {others:?}");
            return;
        }
        let scene = self.scene();
        let replica = scene.feed.current();
        for (id, entry) in replica.objects().entries() {
            let expected = (entry.crc, entry.prim.motion.position);
            let shown = client.prims.get(&id.0);
            let found = shown.map(|prim| (prim.crc, prim.position));
            let form = shown.map(|prim| prim.form);
            assert_eq!(found, Some(expected), "{about}: {id:?}, shown by {form:?}");
        }
        assert_eq!(client.prims.len(), replica.objects().len(), "{about}: {:?}", surplus(client, &scene));
    }

    /// SIGKILL, and another server on what it has left.
    fn restart(&mut self) {
        if let Some(client) = self.viewer.take() {
            self.cache = self.node.clients[client].cache.clone();
        }
        let name = self.scene().cache_id;
        let rows = std::mem::replace(&mut self.node, Node::new()).kill();
        (self.node, self.cave) = server(rows);
        assert_eq!(self.scene().cache_id, name, "the region keeps the name of its caches");
    }
}

/// Prims that are shown and not there.
fn surplus(client: &Client, scene: &Scene) -> Vec<u32> {
    let replica = scene.feed.current();
    client.prims.keys().copied().filter(|&id| replica.objects().get(LocalId(id)).is_none()).collect()
}

fn server(rows: DiskRows) -> (Node, Arc<Scene>) {
    let mut node = Node::on_disk(Setup { cache_after: CACHE_AFTER, ..Setup::default() }, rows);
    let cave = node.instance("Cave", 256, CAVE_BOXES, 10);
    node.run_ms(100);
    (node, cave)
}

fn play(seed: u64) {
    let mut run = Run::new(seed);
    for life in 0..LIVES {
        if life > 0 {
            run.restart();
        }
        run.log_in();
        for _ in 0..DEEDS_PER_LIFE {
            run.deed();
        }
        run.come_back_in_losses();
        run.compare();
        // Edits that are not saved when the server is killed.
        run.make();
        run.node.run_ms(100);
    }
}

#[test]
fn a_viewer_that_keeps_objects_shows_what_is_there() {
    (1..=12).for_each(play);
}

#[test]
#[ignore = "takes minutes: make test STEPS=long"]
fn a_viewer_that_keeps_objects_shows_what_is_there_a_thousand_times() {
    (1..=1_000).for_each(play);
}
