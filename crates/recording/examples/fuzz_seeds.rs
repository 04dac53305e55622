//! Writes the seeds of the fuzz target `recording` anew, for when the format has changed:
//! `cargo run -p recording --example fuzz_seeds -- fuzz/seeds/recording`.
//!
//! `whole` is a recording as it is written, `plain` the same with its records inflated, which a fuzzer can change. (The fuzzed
//! decoder compares no checksums, so those of `plain` need not match.)

use flate2::read::ZlibDecoder;
use glam::Vec3;
use ids::{AgentId, Epoch, Instant, SessionKey, Tick, Uuid, WorldId};
use link::{Action, Command, Enter, Frame, Scenery, Terrain};
use record::{PREAMBLE_LEN, RECORD_HEAD_LEN};
use recording::{About, Ending, Step, Writer};
use std::io::{self, Read};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use world::{World, WorldConfig};

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
        objects: None,
        land: None,
        cast: None,
        terrain,
        water_m: 20.0,
        max_avatars: 100,
        seed: 9,
    };
    let enter = |session| {
        Command::by_session(
            SessionKey(session),
            0,
            Action::Enter(Box::new(Enter {
                agent: AgentId(Uuid::from_u128(session.into())),
                first_name: "Ada".into(),
                last_name: "Resident".into(),
                position: Vec3::splat(50.0),
                look_at: Vec3::X,
                flying: false,
                appearance: None,
            })),
        )
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

/// The same records, not compressed; but the ground, which is a quarter of a megabyte.
fn inflate(whole: &[u8]) -> io::Result<Vec<u8>> {
    let (preamble, mut rest) = whole.split_at(PREAMBLE_LEN);
    let mut plain = preamble.to_vec();
    while let Some((head, behind)) = rest.split_first_chunk::<RECORD_HEAD_LEN>() {
        let stored = u32::from_le_bytes([head[8], head[9], head[10], head[11]]);
        let (body, behind) = behind.split_at(stored as usize);
        rest = behind;
        let is_deflated = head[6] & 1 != 0;
        let mut head = *head;
        let mut inflated = Vec::new();
        if is_deflated && &head[..4] != b"GRND" {
            ZlibDecoder::new(body).read_to_end(&mut inflated)?;
            head[6] &= !1;
            head[8..12].copy_from_slice(&(inflated.len() as u32).to_le_bytes());
        } else {
            inflated.extend_from_slice(body);
        }
        plain.extend_from_slice(&head);
        plain.extend_from_slice(&inflated);
    }
    Ok(plain)
}
