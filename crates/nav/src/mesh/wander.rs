//! Somewhere to go: a random spot not far away.

use super::{MeshPoint, NavMesh, PolyRef};
use crate::ground::GroundHeights;
use glam::Vec2;
use state_hash::mix;

/// Points tried before the last one is made do with.
const TRIES: u64 = 8;

impl NavMesh {
    /// A spot within `radius_m` of another one as the crow flies, on the same island, evenly spread; the same for the same seed. On narrow
    /// paths, where hardly any point is on the mesh, one in sight. `None` from a spot that is none.
    #[must_use]
    pub fn random_near(
        &self,
        ground: GroundHeights<'_>,
        from: MeshPoint,
        radius_m: f32,
        seed: u64,
    ) -> Option<MeshPoint> {
        if !self.holds(from) || !radius_m.is_finite() {
            return None;
        }
        let height = self.height(ground, from);
        let mut at = from.at;
        for n in 0..TRIES {
            let (far, round) = (share(mix(seed ^ n << 56)), share(mix(!seed ^ n << 56)));
            let (sin, cos) = libm::sincosf(round * core::f32::consts::TAU);
            at = from.at + Vec2::new(cos, sin) * (radius_m * libm::sqrtf(far));
            let mut best: Option<(f32, PolyRef)> = None;
            self.each_at(at, |poly| {
                let spot = MeshPoint { poly, at };
                let off = (self.height(ground, spot) - height).abs();
                if self.are_connected(from, spot) && best.is_none_or(|(least, _)| off < least) {
                    best = Some((off, poly));
                }
            });
            if let Some((_, poly)) = best {
                return Some(MeshPoint { poly, at });
            }
        }
        let seen = self.ray(from, at).spot;
        // Down a ledge there may be no way back.
        Some(if self.are_connected(from, seen) { seen } else { from })
    }
}

/// 0…1 of 24 bits, which a float holds exactly.
fn share(random: u64) -> f32 {
    (random >> 40) as f32 / (1u32 << 24) as f32
}
