//! Position of a bot, as known to it.
//!
//! Bots that do not observe still need their position to walk, so they search each update for their own block and skip the others: the
//! server sends it first, which makes the search cheap.

use glam::Vec3;
use ids::{AgentId, Instant, LocalId};
use std::time::Duration;
use wire::object_update;
use wire::terse;

/// Time for which a velocity is extrapolated without updates, as viewers do for their own avatar. With more, a bot without updates
/// would believe itself outside the region.
const EXTRAPOLATION_MAX: Duration = Duration::from_secs(2);

/// Bytes of a terse message between its number and its first block: handle, dilation, count.
const TERSE_HEAD_LEN: usize = 11;

/// A bot's idea of its own place.
#[derive(Clone, Debug, PartialEq)]
pub struct Whereabouts {
    agent: AgentId,
    /// Known once the own avatar has been shown.
    local_id: Option<LocalId>,
    position: Vec3,
    velocity: Vec3,
    heard_at: Instant,
    region_size_m: f32,
}

impl Whereabouts {
    /// On the way into a region; in its middle, for want of a better guess.
    #[must_use]
    pub const fn new(now: Instant, agent: AgentId, region_size_m: f32) -> Self {
        let middle = Vec3::new(region_size_m / 2.0, region_size_m / 2.0, 0.0);
        Self { agent, local_id: None, position: middle, velocity: Vec3::ZERO, heard_at: now, region_size_m }
    }

    /// The server has put the avatar here.
    pub const fn place(&mut self, now: Instant, position: Vec3) {
        self.move_to(now, position, Vec3::ZERO);
    }

    /// Metres from the region's corner, extrapolated.
    #[must_use]
    pub fn position(&self, now: Instant) -> Vec3 {
        let seconds = now.since(self.heard_at).min(EXTRAPOLATION_MAX).as_secs_f32();
        self.position + self.velocity * seconds
    }

    /// Edge of the region in metres.
    #[must_use]
    pub const fn region_size_m(&self) -> f32 {
        self.region_size_m
    }

    /// The number of the own avatar, once it has been shown.
    #[must_use]
    pub const fn local_id(&self) -> Option<LocalId> {
        self.local_id
    }

    /// Handles an ObjectUpdate if it may describe the own avatar. Only such ones are decoded: they are long.
    pub fn on_object_update(&mut self, now: Instant, body: &[u8]) {
        let own_id = self.agent.0.as_bytes();
        if !body.windows(own_id.len()).any(|window| window == own_id) {
            return;
        }
        let Ok((_, objects)) = object_update::decode(body) else { return };
        let own = objects
            .iter()
            .find(|object| object.p_code == object_update::PCODE_AVATAR && object.id == self.agent.0);
        if let Some(own) = own {
            self.local_id = Some(own.local_id);
            // On a seat the position is relative to it.
            if own.parent == LocalId(0) {
                self.move_to(now, own.motion.position, own.motion.velocity);
            }
        }
    }

    /// Reads the own block of an ImprovedTerseObjectUpdate, if it has one.
    pub fn on_terse(&mut self, now: Instant, body: &[u8]) {
        let Some(index) = self.local_id.and_then(|own| block_of(body, own)) else { return };
        let Ok(mut blocks) = terse::decode(body) else { return };
        if let Some(Ok(own)) = blocks.nth(index) {
            self.move_to(now, own.position, own.velocity);
        }
    }

    const fn move_to(&mut self, now: Instant, position: Vec3, velocity: Vec3) {
        self.position = position;
        self.velocity = velocity;
        self.heard_at = now;
    }
}

/// Offset of the block with this local id in a terse message, without decoding any. Each block is a length, as many bytes, which begin
/// with the local id, and a texture entry with a length of two bytes.
fn block_of(body: &[u8], local_id: LocalId) -> Option<usize> {
    let (&count, mut blocks) = body.get(TERSE_HEAD_LEN - 1..)?.split_first()?;
    for index in 0..usize::from(count) {
        let (&len, rest) = blocks.split_first()?;
        if *rest.first_chunk::<4>()? == local_id.0.to_le_bytes() {
            return Some(index);
        }
        let rest = rest.get(usize::from(len)..)?;
        let (texture_entry_len, rest) = rest.split_first_chunk::<2>()?;
        blocks = rest.get(usize::from(u16::from_le_bytes(*texture_entry_len))..)?;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene;
    use ids::Uuid;

    const ME: AgentId = AgentId(Uuid::from_u128(7));

    #[test]
    fn the_own_block_is_found_among_others_and_extrapolated() {
        let at = |x| Vec3::new(x, 20.0, 25.0);
        let mut own = Whereabouts::new(Instant::ZERO, ME, 256.0);
        own.on_object_update(
            Instant::ZERO,
            &scene::full_update(AgentId(Uuid::from_u128(8)), LocalId(4), at(1.0)),
        );
        assert_eq!(own.local_id(), None, "another avatar");
        own.on_object_update(Instant::ZERO, &scene::full_update(ME, LocalId(5), at(2.0)));
        assert_eq!(own.position(Instant::ZERO), at(2.0));

        let others = [(LocalId(4), at(9.0), Vec3::ZERO), (LocalId(5), at(3.0), Vec3::X * 3.2)];
        own.on_terse(Instant::from_millis(100), &scene::terse_update(&others));
        assert!((own.position(Instant::from_millis(600)) - at(4.6)).length() < 0.01);
        let late = own.position(Instant::from_millis(60_000));
        assert!((late - at(9.4)).length() < 0.02, "extrapolation ends: {late}");
    }

    #[test]
    fn a_truncated_update_moves_nothing() {
        let mut own = Whereabouts::new(Instant::ZERO, ME, 256.0);
        let update = scene::full_update(ME, LocalId(5), Vec3::ONE);
        let terse =
            scene::terse_update(&[(LocalId(4), Vec3::ONE, Vec3::ZERO), (LocalId(5), Vec3::ONE, Vec3::ZERO)]);
        for len in 0..update.len() {
            own.on_object_update(Instant::ZERO, &update[..len]);
        }
        own.on_object_update(Instant::ZERO, &scene::full_update(ME, LocalId(5), Vec3::splat(2.0)));
        for len in 0..terse.len() - 2 {
            own.on_terse(Instant::ZERO, &terse[..len]);
        }
        assert_eq!(own.position(Instant::ZERO), Vec3::splat(2.0));
    }
}
