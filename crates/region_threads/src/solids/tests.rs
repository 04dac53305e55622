//! The thread's work with a real pool of long tasks, and inboxes of worlds that do not run.

use super::*;
use assets::NewAsset;
use flate2::Compression;
use flate2::write::ZlibEncoder;
use ids::{AgentId, Instant, Tick, Uuid};
use schedule::{Pool, StepStart, Task};
use std::io::Write as _;
use workplace::inboxes::Waiting;

const WORLD: WorldId = WorldId(1);
const OTHER: WorldId = WorldId(2);
const MESH: Uuid = Uuid::from_u128(1);
const COPY: Uuid = Uuid::from_u128(2);
const SOUND: Uuid = Uuid::from_u128(3);
const DAMAGED: Uuid = Uuid::from_u128(4);
const LATE: Uuid = Uuid::from_u128(5);

struct Idle;

impl Task for Idle {
    fn is_quiet(&mut self) -> bool {
        true
    }

    fn step(&mut self, _: &StepStart) {}
}

struct Stage {
    finder: Finder,
    pool: Pool,
    now_s: Arc<AtomicU64>,
    inboxes: WorldMap<Inbox>,
    /// Kept, so that the thread's end of the channel is connected.
    _stop: Sender<()>,
    stopped: Receiver<()>,
}

impl Stage {
    fn new(inbox_max: usize) -> Self {
        let pool = Pool::start(1, || Instant::ZERO).expect("threads");
        let inbox = || {
            let waker = pool.add(Box::new(Idle), Duration::from_millis(50), Tick(0));
            Inbox { waiting: Waiting::new(inbox_max), waker }
        };
        let inboxes: WorldMap<Inbox> = [(WORLD, inbox()), (OTHER, inbox())].into_iter().collect();
        let now_s = Arc::new(AtomicU64::new(0));
        let clock: Clock = {
            let now_s = Arc::clone(&now_s);
            Arc::new(move || Instant::from_millis(now_s.load(Ordering::Relaxed) * 1_000))
        };
        let assets = Arc::new(AssetSources::in_memory());
        let (desk, _) = SolidDesk::new(&clock);
        let finder = Finder::new(Arc::new(desk), inboxes.clone(), assets, pool.long());
        let (stop, stopped) = bounded(0);
        Self { finder, pool, now_s, inboxes, _stop: stop, stopped }
    }

    fn store(&self, id: Uuid, kind: AssetKind, bytes: Vec<u8>) {
        let new = NewAsset {
            id,
            kind,
            bytes: bytes.into(),
            creator: AgentId(Uuid::nil()),
            origin: "test".into(),
            is_temporary: false,
        };
        self.finder.assets.stored().add(new, Box::new(move |stored| assert_eq!(stored, Ok(id))));
    }

    fn want(&self, world: WorldId, assets: &[Uuid]) {
        self.finder.desk.note(world, &assets.iter().map(|&asset| key(asset)).collect::<Vec<_>>());
    }

    /// Serves all that is due after some seconds; the time until the next.
    fn serve(&mut self, after_s: u64) -> Duration {
        self.now_s.fetch_add(after_s, Ordering::Relaxed);
        self.finder.serve_due(&self.stopped).expect("the server runs")
    }

    /// Solids that a world has got: the asset, and the number of triangles.
    fn got(&self, world: WorldId) -> Vec<(Uuid, usize)> {
        let mut commands = Vec::new();
        self.inboxes.get(world).expect("an inbox").waiting.drain_commands(&mut commands);
        let solid = |command: Command| {
            assert!(command.is_permitted() && command.sequence >= CommandSeries::Solids.first());
            let Action::PutSolid(known) = command.action else { panic!("{:?}", command.action) };
            (known.key.asset, known.solid.n_triangles())
        };
        commands.into_iter().map(solid).collect()
    }

    fn count(&self, of: impl Fn(&SolidFigures) -> &AtomicU64) -> u64 {
        of(&self.finder.desk.figures).load(Ordering::Relaxed)
    }
}

fn key(asset: Uuid) -> SolidKey {
    SolidKey { asset, part: SolidPart::MeshHull }
}

/// A mesh whose hull is a tetrahedron.
fn tetrahedron() -> Vec<u8> {
    // LLSD: {'BoundingVerts': b(24)}, deflated, behind a header that names it.
    let corners: Vec<u8> = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1_u16]]
        .as_flattened()
        .iter()
        .flat_map(|&share| (share * u16::MAX).to_le_bytes())
        .collect();
    let text = |text: &str| [&(text.len() as u32).to_be_bytes()[..], text.as_bytes()].concat();
    let entry = |name: &str, value: &[u8]| [&b"k"[..], &text(name), value].concat();
    let map = |entries: &[Vec<u8>]| {
        [&b"{"[..], &(entries.len() as u32).to_be_bytes(), &entries.concat(), b"}"].concat()
    };
    let binary = [&b"b"[..], &24_u32.to_be_bytes(), &corners].concat();
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(&map(&[entry("BoundingVerts", &binary)])).expect("a vector takes everything");
    let section = encoder.finish().expect("a vector takes everything");
    let number = |value: usize| [&b"i"[..], &(value as u32).to_be_bytes()].concat();
    let place = map(&[entry("offset", &number(0)), entry("size", &number(section.len()))]);
    [map(&[entry("physics_convex", &place)]), section].concat()
}

#[test]
fn worlds_get_the_solids_of_assets_that_are_there_each_decoded_once() {
    let mut stage = Stage::new(100);
    stage.store(MESH, AssetKind::Mesh, tetrahedron());
    stage.store(COPY, AssetKind::Mesh, tetrahedron());
    stage.want(WORLD, &[MESH, COPY]);
    stage.want(OTHER, &[MESH]);
    assert_eq!(stage.serve(0), IDLE);
    assert_eq!(stage.got(WORLD), [(MESH, 4), (COPY, 4)]);
    assert_eq!(stage.got(OTHER), [(MESH, 4)]);
    assert_eq!(stage.count(|figures| &figures.cached), 1, "the copy has the same content");
    let hulls = SolidSource::ALL.iter().position(|source| *source == SolidSource::Hull).expect("listed");
    assert_eq!(stage.count(|figures| &figures.by_source[hulls]), 2);
    assert_eq!(stage.pool.long().counters().submitted, 1);
    stage.want(OTHER, &[COPY]);
    stage.serve(0);
    assert_eq!((stage.got(OTHER), stage.pool.long().counters().submitted), (vec![(COPY, 4)], 1));
}

#[test]
fn damaged_assets_and_those_of_other_kinds_are_boxes() {
    let mut stage = Stage::new(100);
    stage.store(SOUND, AssetKind::Sound, tetrahedron());
    stage.store(DAMAGED, AssetKind::Mesh, b"no mesh".to_vec());
    stage.want(WORLD, &[SOUND, DAMAGED]);
    assert_eq!(stage.serve(0), IDLE);
    assert_eq!(stage.got(WORLD), [(SOUND, 0), (DAMAGED, 0)]);
    assert_eq!(stage.count(|figures| &figures.damaged), 2);
}

#[test]
fn an_asset_that_comes_later_is_found_then() {
    let mut stage = Stage::new(100);
    stage.want(WORLD, &[LATE]);
    assert_eq!(stage.serve(0), Duration::from_secs(10));
    assert_eq!(stage.serve(10), Duration::from_secs(20));
    assert!(stage.got(WORLD).is_empty());
    stage.store(LATE, AssetKind::Mesh, tetrahedron());
    assert_eq!(stage.serve(19), Duration::from_secs(1));
    assert_eq!(stage.serve(1), IDLE);
    assert_eq!(stage.got(WORLD), [(LATE, 4)]);
    assert_eq!(stage.count(|figures| &figures.missing), 2);
}

#[test]
fn a_world_without_room_gets_its_solids_later_and_others_do_not_wait() {
    let mut stage = Stage::new(1);
    stage.store(MESH, AssetKind::Mesh, tetrahedron());
    stage.store(COPY, AssetKind::Mesh, tetrahedron());
    stage.want(WORLD, &[MESH, COPY]);
    stage.want(OTHER, &[COPY]);
    assert_eq!(stage.serve(0), Duration::from_secs(1));
    assert_eq!((stage.got(WORLD), stage.got(OTHER)), (vec![(MESH, 4)], vec![(COPY, 4)]));
    assert_eq!(stage.serve(1), IDLE);
    assert_eq!((stage.got(WORLD), stage.got(OTHER)), (vec![(COPY, 4)], vec![]));
}

#[test]
fn the_thread_ends_when_it_is_stopped_and_when_long_tasks_end() {
    let mut stage = Stage::new(100);
    stage.store(MESH, AssetKind::Mesh, tetrahedron());
    let (stop, stopped) = bounded(0);
    drop(stop);
    stage.want(WORLD, &[MESH]);
    assert_eq!(stage.finder.serve_due(&stopped), None);
    assert_eq!(stage.finder.desk.wants().len(), 1);
    let Stage { mut finder, pool, stopped, _stop, .. } = stage;
    drop(pool);
    assert_eq!(finder.serve_due(&stopped), None);
}
