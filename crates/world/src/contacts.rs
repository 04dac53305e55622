//! Contact between avatars: no avatar walks into another.
//!
//! Avatars are upright cylinders. A moving avatar slides around one obstacle and squeezes slowly between two or more: a crowd cannot
//! wall it in. A resting avatar is never pushed, so a crowd at rest has no jitter and costs nothing. Avatars that overlap already (a
//! squeeze, a fall onto a head, a crowded arrival) may stay so and walk apart: a step is turned aside only where it would
//! bring the two closer.
//!
//! Neighbours come from a grid of cells, folded like a torus onto a few buckets, so that its size goes with the number of avatars and
//! not with the region. It is rebuilt each tick and updated as avatars move; the order in which a cell lists its avatars depends on
//! slots and moves alone.

use glam::{UVec2, Vec2, Vec3};

/// Half of an avatar's width, metres. Viewers' default box is 0.45 × 0.6 m.
pub(crate) const RADIUS_M: f32 = 0.3;

/// Two avatars touch at this distance between their axes.
const CONTACT_M: f32 = 2.0 * RADIUS_M;

/// A slide ends this much outside of contact, so that rounding does not make it a new contact.
const SKIN_M: f32 = 1e-3;

/// Width of a cell: a query for neighbours in reach touches one to four of them.
const CELL_M: f32 = 2.0;

/// Pace of a squeeze between others, as a share of the preferred one: slow enough to be worth walking around.
const SQUEEZE: f32 = 0.25;

/// Cosine of the angle above which a contact is head-on: the avatar sidesteps to the right, or both would block each other.
const HEAD_ON: f32 = 0.9;

/// Share of a blocked step that becomes a sidestep.
const SIDESTEP: f32 = 0.7;

const NO_BODY: u32 = u32::MAX;

/// Grid of all avatars, by cell.
#[derive(Debug, Default)]
pub(crate) struct Contacts {
    /// First slot of each bucket, row by row.
    buckets: Vec<u32>,
    /// Columns and rows of buckets, less one: a mask of a cell's coordinates, as they are a power of two.
    mask: u32,
    /// By slot.
    bodies: Vec<ContactBody>,
}

#[derive(Clone, Copy, Debug)]
struct ContactBody {
    centre: Vec3,
    half_height: f32,
    cell: UVec2,
    /// Next slot in the bucket.
    next: u32,
}

const ABSENT: ContactBody =
    ContactBody { centre: Vec3::ZERO, half_height: 0.0, cell: UVec2::MAX, next: NO_BODY };

impl Contacts {
    /// Removes all avatars and reserves `n_slots` slots.
    pub(crate) fn clear(&mut self, n_slots: usize) {
        let mut side: u32 = 8;
        while (side as usize).pow(2) < 2 * n_slots {
            side *= 2;
        }
        self.mask = side - 1;
        self.buckets.clear();
        self.buckets.resize((side as usize).pow(2), NO_BODY);
        self.bodies.clear();
        self.bodies.resize(n_slots, ABSENT);
    }

    /// Adds an avatar.
    pub(crate) fn insert(&mut self, slot: u32, centre: Vec3, half_height: f32) {
        let cell = cell_of(centre.truncate());
        let bucket = self.bucket(cell);
        let next = std::mem::replace(&mut self.buckets[bucket], slot);
        self.bodies[slot as usize] = ContactBody { centre, half_height, cell, next };
    }

    /// Updates the position of an avatar.
    pub(crate) fn relocate(&mut self, slot: u32, centre: Vec3) {
        let body = &mut self.bodies[slot as usize];
        body.centre = centre;
        let half_height = body.half_height;
        if cell_of(centre.truncate()) != body.cell {
            self.unlink(slot);
            self.insert(slot, centre, half_height);
        }
    }

    /// True if a newcomer can stand here without contact.
    pub(crate) fn is_free(&self, centre: Vec3, half_height: f32) -> bool {
        self.first_hit(NO_BODY, Vec3::INFINITY, half_height, centre).is_none()
    }

    /// The point to which a step leads, at or near `to`: around an avatar in the way, or a little further into a press.
    pub(crate) fn slide(&self, slot: u32, from: Vec3, half_height: f32, to: Vec2) -> Vec2 {
        let step = to - from.truncate();
        let Some(hit) = self.first_hit(slot, from, half_height, to.extend(from.z)) else { return to };
        let beside = hit.around(from.truncate(), to, step);
        match self.first_hit(slot, from, half_height, beside.extend(from.z)) {
            None => beside,
            Some(_) => from.truncate() + step * SQUEEZE,
        }
    }

    /// The deepest contact of a body that moves from `from` to `to`.
    fn first_hit(&self, slot: u32, from: Vec3, half_height: f32, to: Vec3) -> Option<Hit> {
        let low = cell_of(to.truncate() - CONTACT_M);
        let high = cell_of(to.truncate() + CONTACT_M);
        let mut deepest: Option<(f32, Hit)> = None;
        for y in low.y..=high.y {
            for x in low.x..=high.x {
                let cell = UVec2::new(x, y);
                let mut other = self.buckets[self.bucket(cell)];
                while let Some(body) = self.bodies.get(other as usize) {
                    if body.cell == cell
                        && other != slot
                        && let Some((depth, hit)) = body.hit(from, half_height, to)
                        && deepest.as_ref().is_none_or(|(most, _)| depth > *most)
                    {
                        deepest = Some((depth, hit));
                    }
                    other = body.next;
                }
            }
        }
        deepest.map(|(_, hit)| hit)
    }

    fn unlink(&mut self, slot: u32) {
        let ContactBody { cell, next, .. } = self.bodies[slot as usize];
        let bucket = self.bucket(cell);
        if self.buckets[bucket] == slot {
            self.buckets[bucket] = next;
            return;
        }
        let mut before = self.buckets[bucket] as usize;
        while self.bodies[before].next != slot {
            before = self.bodies[before].next as usize;
        }
        self.bodies[before].next = next;
    }

    fn bucket(&self, cell: UVec2) -> usize {
        let folded = cell & UVec2::splat(self.mask);
        (folded.y * (self.mask + 1) + folded.x) as usize
    }
}

impl ContactBody {
    /// Depth of a body that comes from `from` inside this one at `to`, if they touch.
    fn hit(&self, from: Vec3, half_height: f32, to: Vec3) -> Option<(f32, Hit)> {
        let axis = self.centre.truncate();
        let near = axis.distance_squared(to.truncate());
        if near >= CONTACT_M * CONTACT_M || (self.centre.z - to.z).abs() >= self.half_height + half_height {
            return None;
        }
        let contact = CONTACT_M.min(axis.distance(from.truncate()));
        let depth = contact - libm::sqrtf(near);
        (depth > 0.0).then_some((depth, Hit { axis, contact }))
    }
}

/// An avatar in the way.
#[derive(Clone, Copy, Debug)]
struct Hit {
    axis: Vec2,
    /// Distance to keep.
    contact: f32,
}

impl Hit {
    /// The point beside the other to which a step from `from` to `to` slides off.
    fn around(&self, from: Vec2, to: Vec2, step: Vec2) -> Vec2 {
        let away = (to - self.axis)
            .try_normalize()
            .or_else(|| (from - self.axis).try_normalize())
            .unwrap_or(Vec2::X);
        let ahead = step.normalize_or_zero();
        let away = if ahead.dot(-away) > HEAD_ON {
            let right = Vec2::new(ahead.y, -ahead.x) * step.length() * SIDESTEP;
            (away * self.contact + right).normalize()
        } else {
            away
        };
        self.axis + away * (self.contact + SKIN_M)
    }
}

/// Positions lie within the region; a reach across its border ends in the first row.
fn cell_of(at: Vec2) -> UVec2 {
    (at / CELL_M).as_uvec2()
}

#[cfg(test)]
mod tests {
    use super::*;

    const HALF: f32 = 0.95;

    fn standing(at: &[(f32, f32)]) -> Contacts {
        let mut contacts = Contacts::default();
        contacts.clear(at.len() + 1);
        for (slot, &(x, y)) in (0..).zip(at) {
            contacts.insert(slot, Vec3::new(x, y, 1.0), HALF);
        }
        contacts
    }

    fn walk(contacts: &Contacts, slot: u32, mut at: Vec2, step: Vec2, n: u32) -> Vec2 {
        for _ in 0..n {
            at = contacts.slide(slot, at.extend(1.0), HALF, at + step);
        }
        at
    }

    #[test]
    fn a_walker_passes_an_avatar_straight_ahead_on_the_right() {
        let contacts = standing(&[(10.0, 10.0)]);
        let mut at = Vec2::new(8.0, 10.0);
        let mut least_y = at.y;
        for _ in 0..200 {
            at = contacts.slide(1, at.extend(1.0), HALF, at + Vec2::new(0.05, 0.0));
            assert!(at.distance(Vec2::splat(10.0)) >= CONTACT_M, "inside at {at}");
            least_y = least_y.min(at.y);
        }
        assert!(at.x > 12.0, "stuck at {at}");
        assert!(least_y < 9.5, "walking east, the right hand is south");
    }

    #[test]
    fn a_wall_of_people_slows_a_walker_down_but_lets_it_through() {
        let wall: Vec<(f32, f32)> = (0..60).map(|i| (10.0, i as f32 * 0.5)).collect();
        let (from, step) = (Vec2::new(8.0, 15.1), Vec2::new(0.05, 0.0));
        let freely = from.x + 80.0 * step.x;
        let at = walk(&standing(&wall), 60, from, step, 80);
        assert!(at.x < freely - 0.5, "as without an obstacle: {at}");
        let at = walk(&standing(&wall), 60, from, step, 200);
        assert!(at.x > 11.0, "held by the wall at {at}");
    }

    #[test]
    fn an_avatar_is_not_walled_in_by_its_neighbours() {
        let ring: Vec<(f32, f32)> = (0..8)
            .map(|i| {
                let (sin, cos) = libm::sincosf(i as f32 * core::f32::consts::FRAC_PI_4);
                (10.0 + 0.65 * cos, 10.0 + 0.65 * sin)
            })
            .collect();
        for degrees in (0..360).step_by(15) {
            let way = Vec2::from_angle((degrees as f32).to_radians());
            let at = walk(&standing(&ring), 8, Vec2::splat(10.0), way * 0.05, 200);
            assert!(at.distance(Vec2::splat(10.0)) > 2.0, "walled in at {at}, going {degrees}°");
        }
    }

    #[test]
    fn overlapping_avatars_can_part_but_not_close_in() {
        let contacts = standing(&[(10.0, 10.0)]);
        let from = Vec2::new(10.2, 10.0);
        let apart = contacts.slide(1, from.extend(1.0), HALF, from + Vec2::new(0.05, 0.0));
        assert_eq!(apart, from + Vec2::new(0.05, 0.0));
        let closer = contacts.slide(1, from.extend(1.0), HALF, from - Vec2::new(0.05, 0.0));
        assert!(closer.distance(Vec2::splat(10.0)) >= 0.2, "closer: {closer}");
    }

    #[test]
    fn an_avatar_overhead_is_not_in_the_way() {
        let contacts = standing(&[(10.0, 10.0)]);
        let to = Vec2::new(10.0, 10.0);
        assert_eq!(contacts.slide(1, Vec3::new(9.5, 10.0, 3.0), HALF, to), to);
    }

    #[test]
    fn an_avatar_that_changes_cells_is_found_in_the_new_one_only() {
        let mut contacts = standing(&[(10.0, 10.0), (10.3, 10.3), (10.6, 10.6)]);
        contacts.relocate(1, Vec3::new(30.0, 30.0, 1.0));
        assert!(!contacts.is_free(Vec3::new(30.0, 30.0, 1.0), HALF));
        contacts.relocate(0, Vec3::new(40.0, 40.0, 1.0));
        assert!(contacts.is_free(Vec3::new(9.9, 9.9, 1.0), HALF));
        assert!(!contacts.is_free(Vec3::new(10.6, 10.6, 1.0), HALF));
    }
}
