//! Writes the seeds of the fuzz target `recording` anew, for when the format has changed:
//! `cargo run -p recording --example fuzz_seeds -- fuzz/seeds/recording`.
//!
//! `whole` is a recording as it is written, `plain` the same with its chunks inflated, which a fuzzer can change. (The fuzzed
//! decoder compares no checksums, so those of `plain` need not match.)

use flate2::read::ZlibDecoder;
use glam::Vec3;
use ids::{AgentId, Epoch, Instant, SessionKey, Tick, Uuid, WorldId};
use link::{Action, Command, Enter, Frame, Scenery, Terrain};
use recording::{About, Ending, Step, Writer};
use std::io::{self, Read};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use world::{World, WorldConfig};

/// Kind, stored and raw length, checksum: see `recording::format`.
const CHUNK_HEADER_LEN: usize = 20;
const PREAMBLE_LEN: usize = 8;

fn main() -> io::Result<()> {
    let directory: PathBuf =
        std::env::args_os().nth(1).ok_or_else(|| io::Error::other("usage: fuzz_seeds DIRECTORY"))?.into();
    let whole = record()?;
    std::fs::write(directory.join("plain"), inflate(&whole)?)?;
    std::fs::write(directory.join("whole"), whole)
}

fn record() -> io::Result<Vec<u8>> {
    let terrain = Arc::new(Terrain::flat(256, 21.0));
    let config = WorldConfig {
        id: WorldId(2),
        epoch: Epoch(0),
        size_m: 256,
        local_ids: 1..100_000,
        scenery: Arc::new(Scenery::boxes(3, &terrain, 1)),
        cast: None,
        terrain,
        water_m: 20.0,
        max_avatars: 100,
        seed: 9,
    };
    let enter = |session| Command {
        session: SessionKey(session),
        sequence: 0,
        action: Action::Enter(Box::new(Enter {
            agent: AgentId(Uuid::from_u128(session.into())),
            first_name: "Ada".into(),
            last_name: "Resident".into(),
            position: Vec3::splat(50.0),
            look_at: Vec3::X,
            flying: false,
            appearance: None,
        })),
    };
    let mut world = World::new(config.clone());
    let about = About::new("Harbour", "seed", 0, &config);
    let mut writer = Writer::begin(Vec::new(), &about, &config.terrain, &config.scenery, &world.snapshot())?;
    let dt = Duration::from_millis(50);
    for n in 0..30 {
        let commands = if n == 0 { vec![enter(1), enter(2)] } else { Vec::new() };
        let mut frame = Frame::empty();
        world.step(Tick(n), dt, 1.0, &mut commands.clone(), &mut frame);
        let state_hash = Some(frame.state_hash);
        let at = Instant::from_millis(50 * n);
        writer.step(&Step { tick: Tick(n), at, dt, dilation: 1.0, commands, state_hash })?;
    }
    Ok(writer.finish(Ending::Complete)?.0)
}

/// The same chunks, not compressed; but the ground, which is a quarter of a megabyte.
fn inflate(whole: &[u8]) -> io::Result<Vec<u8>> {
    let (preamble, mut rest) = whole.split_at(PREAMBLE_LEN);
    let mut plain = preamble.to_vec();
    while let Some((header, behind)) = rest.split_first_chunk::<CHUNK_HEADER_LEN>() {
        let length =
            |at: usize| u32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
        let (stored, raw) = (length(4), length(8));
        let (body, behind) = behind.split_at(stored as usize);
        rest = behind;
        let mut inflated = Vec::new();
        if stored == raw || header[0] == b'G' {
            inflated.extend_from_slice(body);
        } else {
            ZlibDecoder::new(body).read_to_end(&mut inflated)?;
        }
        plain.extend_from_slice(&header[..4]);
        plain.extend_from_slice(&(inflated.len() as u32).to_le_bytes());
        plain.extend_from_slice(&header[8..]);
        plain.extend_from_slice(&inflated);
    }
    Ok(plain)
}
