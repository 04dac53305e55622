//! Recordings are replayed, and incomplete ones are refused with the reason.

use behavior::{Kind, Vocabulary};
use glam::{Quat, Vec3};
use ids::{AgentId, Epoch, Instant, SessionKey, Tick, Uuid, WorldId};
use link::{Action, Command, Control, ControlFlags, Enter, Frame, Scenery, Terrain};
use proptest::prelude::*;
use record::RecordError;
use recording::{
    About, Ending, QUEUE_STEPS_MAX, Recording, RecordingError, Reel, Replay, Tape, WriteError, Writer, write,
};
use std::io::{self, Cursor, Write};
use std::sync::Arc;
use std::time::Duration;
use world::{Actor, CastReload, NpcCast, Script, Spawn, World, WorldConfig};

const TICK: Duration = Duration::from_millis(50);

fn config() -> WorldConfig {
    WorldConfig {
        id: WorldId(2),
        epoch: Epoch(3),
        size_m: 256,
        local_ids: 1..100_000,
        terrain: Arc::new(Terrain::hills(256, 5)),
        scenery: Arc::default(),
        objects: None,
        land: None,
        cast: None,
        water_m: 20.0,
        max_avatars: 100,
        seed: 9,
    }
}

fn about() -> About {
    About::new("Harbour", "test", 1_700_000_000, &config())
}

/// A world that is stepped along with a tape, at virtual time.
struct Stage {
    world: World,
    tick: u64,
    tape: Option<Tape>,
    /// State with which the recording began.
    begun: Option<Vec<u8>>,
    /// Ordered in the next step.
    reload: Option<Arc<CastReload>>,
    hashes: Vec<u64>,
}

impl Stage {
    fn new() -> Self {
        let mut stage = Self {
            world: World::new(config()),
            tick: 0,
            tape: None,
            begun: None,
            reload: None,
            hashes: Vec::new(),
        };
        // Something has happened before.
        (0..20).for_each(|_| stage.step());
        stage
    }

    fn now(&self) -> Instant {
        Instant::ZERO + TICK * u32::try_from(self.tick).unwrap()
    }

    fn record_for(&mut self, steps: u32) -> Reel {
        let (tape, reel) = Tape::new(self.now() + TICK * (steps - 1));
        tape.begin(&self.world);
        self.begun = Some(self.world.snapshot());
        self.tape = Some(tape);
        self.hashes.clear();
        reel
    }

    fn commands(&self) -> Vec<Command> {
        let session = SessionKey(1 + self.tick % 7);
        let enter = Enter {
            agent: AgentId(Uuid::from_u128(session.0.into())),
            first_name: format!("Ada{session:?}"),
            last_name: "Resident".into(),
            position: Vec3::splat(100.0 + self.tick as f32),
            look_at: Vec3::X,
            flying: false,
            appearance: None,
        };
        let body_rotation = Quat::from_rotation_z(self.tick as f32);
        let walk = Control { flags: ControlFlags::AT_POS, body_rotation };
        [Action::Control(walk), Action::Enter(Box::new(enter))]
            .into_iter()
            .zip([2 * self.tick + 1, 2 * self.tick])
            .map(|(action, sequence)| Command::by_session(session, sequence, action))
            .collect()
    }

    fn step(&mut self) {
        let mut commands = self.commands();
        let (tick, now) = (Tick(self.tick), self.now());
        let reload = self.reload.take();
        if let Some(reload) = &reload {
            commands.push(reload.command(tick.0));
            self.world.offer_reload(Arc::clone(reload));
        }
        if let Some(tape) = &mut self.tape {
            tape.record_step(now, tick, TICK, 0.9, &commands);
            if let Some(reload) = &reload {
                tape.record_cast(reload.to());
            }
        }
        let mut frame = Frame::empty();
        self.world.step(tick, TICK, 0.9, &mut commands, &mut frame);
        self.tick += 1;
        self.hashes.push(frame.state_hash);
        if self.tape.as_mut().is_some_and(|tape| !tape.came_to(now, frame.state_hash)) {
            self.tape = None;
        }
    }
}

fn written(reel: &Reel) -> Vec<u8> {
    write(reel, &about(), &config().terrain, &config().scenery, Vec::new()).unwrap().0
}

/// A recording of some steps.
fn recording(steps: u32) -> (Vec<u8>, Vec<u64>) {
    let mut stage = Stage::new();
    let reel = stage.record_for(steps);
    (0..steps).for_each(|_| stage.step());
    assert!(stage.tape.is_none(), "its time is over");
    (written(&reel), stage.hashes)
}

fn open(bytes: &[u8]) -> Result<Recording<Cursor<&[u8]>>, RecordingError> {
    Recording::read(Cursor::new(bytes))
}

#[test]
fn a_replay_comes_to_the_same_states_as_often_as_it_is_made() {
    let (bytes, hashes) = recording(150);
    let mut recording = open(&bytes).unwrap();
    assert_eq!((recording.end().steps, recording.end().commands), (150, 300));
    assert_eq!(recording.end().ending, Ending::Complete);
    assert_eq!(format!("{:?}", recording.about()), format!("{:?}", about()));
    assert_eq!(recording.about().name, "Harbour");
    for _ in 0..2 {
        let mut replay = Replay::new(&recording).unwrap();
        let mut found = Vec::new();
        for (step, tick) in recording.steps().unwrap().zip(20..) {
            let step = step.unwrap();
            assert_eq!((step.tick, step.dt, step.dilation), (Tick(tick), TICK, 0.9));
            let expected = step.state_hash;
            found.push(replay.step(step).state_hash);
            assert_eq!(found.last().copied(), expected);
        }
        assert_eq!(found, hashes);
    }
}

#[test]
fn a_file_is_a_recording_as_well() {
    let (bytes, _) = recording(3);
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("harbour.throngrec");
    std::fs::write(&path, bytes).unwrap();
    assert_eq!(Recording::open(&path).unwrap().end().steps, 3);
    let missing = Recording::open(&directory.path().join("nowhere")).unwrap_err();
    assert!(matches!(missing, RecordingError::Open { .. }), "{missing}");
}

#[test]
fn a_world_that_is_stopped_or_panics_leaves_a_recording_up_to_there() {
    let mut stage = Stage::new();
    let reel = stage.record_for(1_000);
    (0..5).for_each(|_| stage.step());
    drop(stage.tape.take());
    assert_eq!(open(&written(&reel)).unwrap().end().ending, Ending::Stopped);

    let reel = stage.record_for(1_000);
    (0..5).for_each(|_| stage.step());
    let mut tape = stage.tape.take().unwrap();
    tape.record_step(stage.now(), Tick(stage.tick), TICK, 1.0, &stage.commands());
    tape.panicked();
    let bytes = written(&reel);
    let mut recording = open(&bytes).unwrap();
    assert_eq!(recording.end().ending, Ending::Panicked);
    let last = recording.steps().unwrap().last().unwrap().unwrap();
    assert_eq!((last.tick, last.commands.len(), last.state_hash), (Tick(stage.tick), 2, None));
}

#[test]
fn a_writer_that_falls_behind_ends_the_recording_and_never_holds_the_world_up() {
    let mut stage = Stage::new();
    let reel = stage.record_for(100_000);
    // There is no reader.
    (0..QUEUE_STEPS_MAX + 10).for_each(|_| stage.step());
    assert!(stage.tape.is_none());
    let end = *open(&written(&reel)).unwrap().end();
    assert_eq!((end.ending, end.steps), (Ending::QueueFull, QUEUE_STEPS_MAX as u64));
}

/// A disk with room for this number of bytes.
struct Disk(usize);

impl Write for Disk {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 = self.0.checked_sub(bytes.len()).ok_or(io::ErrorKind::StorageFull)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_full_disk_ends_the_recording_with_the_reason_and_the_world_goes_on() {
    let mut stage = Stage::new();
    let reel = stage.record_for(1_000);
    (0..150).for_each(|_| stage.step());
    let error = write(&reel, &about(), &config().terrain, &config().scenery, Disk(1_000)).err().unwrap();
    assert!(matches!(&error, WriteError::Io(io) if io.kind() == io::ErrorKind::StorageFull), "{error}");
    drop(reel);
    stage.step();
    assert!(stage.tape.is_none(), "it notices that there is no writer");
}

#[test]
fn a_tape_that_never_began_is_no_recording() {
    let (tape, reel) = Tape::new(Instant::ZERO);
    drop(tape);
    let result = write(&reel, &about(), &config().terrain, &config().scenery, Vec::new());
    assert!(matches!(result, Err(WriteError::NeverBegan)));
}

#[test]
fn a_file_that_is_no_recording_is_refused_with_the_reason() {
    let (bytes, _) = recording(10);
    let refused = |bytes: &[u8]| open(bytes).err().unwrap().to_string();
    assert_eq!(refused(b""), "not a recording");
    assert_eq!(refused(b"THRW\x01\0\0\0"), "not a recording");
    let mut other = bytes.clone();
    other[4] = 9;
    assert_eq!(refused(&other), "recording version 9, this build reads 4 and 5");
    let mut longer = bytes.clone();
    longer.extend_from_slice(&bytes[8..]);
    assert!(refused(&longer).ends_with("is damaged"), "{}", refused(&longer));
}

#[test]
fn other_ground_or_scenery_than_the_worlds_is_refused() {
    let stage = Stage::new();
    let ground = Terrain::flat(256, 21.0);
    let writer =
        Writer::begin(Vec::new(), &about(), &ground, &Scenery::default(), &stage.world.snapshot()).unwrap();
    let (bytes, ..) = writer.finish(Ending::Complete).unwrap();
    let error = open(&bytes).err().unwrap();
    assert!(matches!(error, RecordingError::OtherTerrain { .. }), "{error}");

    let boxes = Scenery::boxes(1, &config().terrain, 1);
    let writer =
        Writer::begin(Vec::new(), &about(), &config().terrain, &boxes, &stage.world.snapshot()).unwrap();
    let (bytes, ..) = writer.finish(Ending::Complete).unwrap();
    let error = open(&bytes).err().unwrap();
    assert!(matches!(error, RecordingError::OtherScenery { .. }), "{error}");

    // The file agrees with itself, and the snapshot does not.
    let other = WorldConfig { terrain: Arc::new(Terrain::flat(256, 21.0)), ..config() };
    let about = About::new("Harbour", "test", 0, &other);
    let writer =
        Writer::begin(Vec::new(), &about, &other.terrain, &other.scenery, &stage.world.snapshot()).unwrap();
    let (bytes, ..) = writer.finish(Ending::Complete).unwrap();
    let error = open(&bytes).unwrap().world().err().unwrap();
    assert!(matches!(error, RecordingError::Restore(world::RestoreError::OtherTerrain { .. })), "{error}");
}

/// The same world with an NPC in it.
fn inhabited() -> WorldConfig {
    let config = WorldConfig { terrain: Arc::new(Terrain::flat(256, 21.0)), ..config() };
    let kind = |name: &str| Kind { name: name.into(), ..Kind::default() };
    let spawn = |n: u16| Spawn {
        kind: "folk".into(),
        behavior: "stroll".into(),
        first_name: format!("Folk{n}"),
        last_name: "Npc".into(),
        position: Vec3::new(100.0 + 2.0 * f32::from(n), 100.0, 21.0),
        look_at: Vec3::X,
    };
    let script = Script {
        vocabulary: Vocabulary { kinds: vec![kind("folk")], ..Vocabulary::default() },
        actors: vec![Actor::default()],
        files: vec![("folk.behaviour".into(), b"behaviour stroll: wander within 9 m".to_vec())],
        spawns: (0..5).map(spawn).collect(),
        ..Script::default()
    };
    let cast = NpcCast::new(script, &config.terrain, &config.scenery, config.water_m, &mut || true);
    WorldConfig { cast: Some(Arc::new(cast.unwrap())), ..config }
}

#[test]
fn a_world_with_npcs_is_replayed_with_them() {
    let config = inhabited();
    let mut stage = Stage { world: World::new(config.clone()), ..Stage::new() };
    (0..30).for_each(|_| stage.step());
    let reel = stage.record_for(120);
    (0..120).for_each(|_| stage.step());
    let about = About::new("Village", "test", 0, &config);
    let (bytes, ..) = write(&reel, &about, &config.terrain, &config.scenery, Vec::new()).unwrap();
    let mut recording = open(&bytes).unwrap();
    let mut replay = Replay::new(&recording).unwrap();
    assert_eq!(replay.world().n_npcs(), 5);
    let steps: Vec<_> = recording.steps().unwrap().map(Result::unwrap).collect();
    let hashes: Vec<u64> = steps.into_iter().map(|step| replay.step(step).state_hash).collect();
    assert_eq!(hashes, stage.hashes);
    assert!(replay.world().npc_counts().moving > 0);

    // Another build that makes something else of the same files says so.
    let mut about = about;
    about.inhabitants.as_mut().unwrap().fingerprint ^= 1;
    let finish = |about: &About| {
        let snapshot = stage.world.snapshot();
        let writer = Writer::begin(Vec::new(), about, &config.terrain, &config.scenery, &snapshot);
        writer.unwrap().finish(Ending::Complete).unwrap().0
    };
    let error = open(&finish(&about)).err().unwrap();
    assert!(matches!(error, RecordingError::OtherCast { .. }), "{error}");
    about.inhabitants.as_mut().unwrap().script.files[0].1 = b"behaviour stroll: fly".to_vec();
    let error = open(&finish(&about)).err().unwrap();
    assert!(matches!(error, RecordingError::Cast(_)) && error.to_string().contains("fly"), "{error}");
}

/// The cast of these folk with another behaviour, and the way there.
fn reload(config: &WorldConfig, behavior: &str) -> Arc<CastReload> {
    let from = config.cast.as_ref().unwrap();
    let files = vec![("folk.behaviour".into(), format!("behaviour stroll: {behavior}").into())];
    let to = from.with_script(Script { files, ..from.script().clone() }, &config.terrain).unwrap();
    Arc::new(CastReload::new(Arc::clone(from), Arc::new(to)).unwrap())
}

#[test]
fn a_reload_of_behaviours_is_recorded_and_replayed() {
    let config = inhabited();
    let mut stage = Stage { world: World::new(config.clone()), ..Stage::new() };
    (0..30).for_each(|_| stage.step());
    let reel = stage.record_for(160);
    (0..60).for_each(|_| stage.step());
    let sit = reload(&config, "sit");
    stage.reload = Some(Arc::clone(&sit));
    (0..40).for_each(|_| stage.step());
    let moved = stage.world.npc_counts().moving;
    (0..60).for_each(|_| stage.step());
    assert!(stage.world.cast().is_some_and(|cast| Arc::ptr_eq(cast, sit.to())));
    assert_eq!(stage.world.npc_counts().moving, moved, "they sit");
    let about = About::new("Village", "test", 0, &config);
    let (bytes, ..) = write(&reel, &about, &config.terrain, &config.scenery, Vec::new()).unwrap();
    let mut recording = open(&bytes).unwrap();
    let casts: Vec<u64> = recording.later_casts().iter().map(|cast| cast.fingerprint()).collect();
    assert_eq!(casts, [sit.to().fingerprint()]);
    let mut replay = Replay::new(&recording).unwrap();
    let steps: Vec<_> = recording.steps().unwrap().map(Result::unwrap).collect();
    let hashes: Vec<u64> = steps.iter().map(|step| replay.step(step.clone()).state_hash).collect();
    assert_eq!(hashes, stage.hashes);
    assert_eq!(replay.world().counters().reload_behaviors, 1);

    // Without the cast that the command names, the states part there.
    let begun = stage.begun.as_ref().unwrap();
    let mut writer = Writer::begin(Vec::new(), &about, &config.terrain, &config.scenery, begun).unwrap();
    steps.iter().for_each(|step| writer.step(step).unwrap());
    let (bytes, ..) = writer.finish(Ending::Complete).unwrap();
    let mut replay = Replay::new(&open(&bytes).unwrap()).unwrap();
    let mut hashes = steps.into_iter().map(|step| replay.step(step).state_hash).zip(&stage.hashes);
    assert_eq!(hashes.position(|(found, expected)| found != *expected), Some(60));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn a_recording_that_was_cut_off_anywhere_is_refused(at in any::<prop::sample::Index>()) {
        let (bytes, _) = recording(10);
        let error = open(&bytes[..at.index(bytes.len())]).err().unwrap();
        prop_assert!(matches!(error, RecordingError::Bytes(RecordError::CutOff { .. } | RecordError::OtherFormat { .. })), "{}", error);
    }

    #[test]
    fn a_bit_that_flipped_anywhere_is_noticed(at in any::<prop::sample::Index>(), bit in 0..8_u32) {
        let (mut bytes, _) = recording(10);
        let at = at.index(bytes.len());
        bytes[at] ^= 1_u8 << bit;
        prop_assert!(open(&bytes).is_err());
    }
}
