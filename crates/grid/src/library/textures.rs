//! Textures of the library's own. `textures.py` draws them.

use super::asset_id;
use crate::asset_sources::codestreams::codestreams;
use uuid::Uuid;

/// One behind the other as those of the ground, in the order of [`DRAWN`].
const CODESTREAMS: &[u8] = include_bytes!("textures.j2cs");
/// Their numbers, names and descriptions.
const DRAWN: [(u64, &str, &str); 3] = [
    (0x07, "Bricks", "A square metre of a wall"),
    (0x08, "Roof Tiles", "Eight courses"),
    (0x09, "Water", "Waves in the sun"),
];
/// Two of them, for objects.
pub(super) const BRICKS: Uuid = asset_id(DRAWN[0].0);
pub(super) const ROOF_TILES: Uuid = asset_id(DRAWN[1].0);

/// All of them: number, name and description, and the codestream.
pub(super) fn drawn() -> impl Iterator<Item = ((u64, &'static str, &'static str), &'static [u8])> {
    DRAWN.into_iter().zip(codestreams(CODESTREAMS))
}
