//! Access: users that the estate does not admit leave the world, and avatars leave parcels that they may not be on.
//!
//! Runs behind the movement of each tick, so that no frame shows an avatar where it may not be: a closed parcel is a wall for its feet. An avatar that stays
//! on a square of a parcel with lists is checked once a second, and when lists change: a crowd at a place with one banned user costs a load for each.

use super::parcels::square_of;
use super::part::Land;
use crate::{
    arrivals::stand_up,
    ground::SolidGround,
    presence::{Presence, Stance},
    roster::Roster,
};
use glam::{Vec2, Vec3};
use ids::{AgentId, LocalId, SessionKey};
use link::{EntryRefusal, Estate, Event, LandEvent, ParcelNumber, RegionFlags, SQUARE_M};
use std::collections::BTreeMap;

/// Distance from the border of a closed parcel at which avatars are put down, metres.
const MARGIN_M: f32 = 0.05;
/// Height above the ground up to which an avatar that walked is put on it, metres.
const STEP_M: f32 = 1.0;

impl Land {
    /// Removes avatars that may not be where they are. Returns those that left the world, whose rights and attachments end.
    pub(crate) fn put_out(
        &mut self,
        roster: &mut Roster,
        ground: &SolidGround,
        departures: &mut Vec<LocalId>,
        events: &mut Vec<Event>,
    ) -> Vec<(SessionKey, LocalId)> {
        let has_new_lists = std::mem::take(&mut self.has_new_lists);
        let mut leaving = self.sessions_to_leave(roster, has_new_lists);
        if !self.restrictions.is_empty() {
            let checks_all = has_new_lists || self.has_new_second;
            for (_, presence) in roster.iter_mut() {
                let is_restricted = self.is_restricted_at(presence.motion.position.truncate());
                if is_restricted && (checks_all || !self.has_stayed(presence)) {
                    self.put_out_of_parcel(presence, ground, events, &mut leaving);
                }
            }
        }
        let mut gone = Vec::new();
        for (session, reason) in leaving {
            let Some(presence) = roster.remove(session) else { continue };
            events.push(Event::Refused { session, reason });
            if !presence.dirty.created {
                departures.push(presence.id);
            }
            gone.push((session, presence.id));
        }
        gone
    }

    /// Sessions that the estate does not admit: newcomers, or all after a change of lists.
    fn sessions_to_leave(&self, roster: &Roster, checks_all: bool) -> Vec<(SessionKey, EntryRefusal)> {
        let Estate { region, banned, .. } = self.estate();
        let mut n_surplus = roster.len().saturating_sub(region.agent_limit as usize);
        let mut leaving = Vec::new();
        let is_open = banned.is_empty() && region.flags.any(RegionFlags::PUBLIC);
        if is_open && n_surplus == 0 {
            return leaving;
        }
        for (_, presence) in roster.iter() {
            let is_new = presence.dirty.created;
            if !is_new && !checks_all {
                continue;
            }
            let (session, agent) = (presence.identity.session, presence.identity.agent);
            if !self.estate().admits(agent) {
                leaving.push((session, EntryRefusal::NotAdmitted));
                n_surplus = n_surplus.saturating_sub(1);
            } else if is_new && n_surplus > 0 && !self.estate().is_managed_by(agent) {
                leaving.push((session, EntryRefusal::Full));
                n_surplus -= 1;
            }
        }
        leaving
    }

    /// True if an avatar on the ground is on the square where the last frame has shown it.
    fn has_stayed(&self, presence: &Presence) -> bool {
        let (now, shown) = (presence.motion.position, presence.shown.position);
        let square = |at: Vec3| square_of(self.parcels.side(), at.x, at.y);
        presence.stance.is_grounded()
            && !presence.dirty.created
            && (now.z - shown.z).abs() < SQUARE_M as f32
            && square(now) == square(shown)
    }

    /// Moves an avatar out of a parcel that it may not be on, to the nearest point where it may. Without one it leaves.
    fn put_out_of_parcel(
        &self,
        presence: &mut Presence,
        ground: &SolidGround,
        events: &mut Vec<Event>,
        leaving: &mut Vec<(SessionKey, EntryRefusal)>,
    ) {
        let (session, agent) = (presence.identity.session, presence.identity.agent);
        let position = presence.motion.position;
        let here = position.truncate();
        let above_m = position.z - presence.half_height() - ground.height(here);
        if self.may_be_at(agent, here, above_m) {
            return;
        }
        let Some(parcel) = self.parcel_at(here) else { return };
        let shown = presence.shown.position;
        let stood_inside =
            presence.dirty.created || self.parcels.parcel_of_point(shown.x, shown.y) == Some(parcel.number);
        let Some(at) = self.nearest_open(agent, here) else {
            leaving.push((session, EntryRefusal::NotAdmitted));
            return;
        };
        set_down(presence, ground.within(at), ground);
        if stood_inside {
            events.push(Event::Land(session, LandEvent::PutOut(parcel.number)));
        }
    }

    /// The nearest point of a square that this user may be on. Searches in rings around the point.
    fn nearest_open(&self, agent: AgentId, from: Vec2) -> Option<Vec2> {
        let side = i32::from(self.parcels.side());
        let (column, row) = ((from.x / SQUARE_M as f32) as i32, (from.y / SQUARE_M as f32) as i32);
        let mut known: BTreeMap<ParcelNumber, bool> = BTreeMap::new();
        let mut nearest: Option<(f32, Vec2)> = None;
        for ring in 1..side {
            // Squares of a ring are farther away than those of the rings inside it.
            if nearest.is_some_and(|(distance, _)| distance < (ring - 1) as f32 * SQUARE_M as f32) {
                break;
            }
            for (x, y) in squares_of_ring(column, row, ring) {
                if x < 0 || y < 0 || x >= side || y >= side {
                    continue;
                }
                let number = self.parcels.number_at(x as u16, y as u16);
                let is_open = *known.entry(number).or_insert_with(|| {
                    self.parcels.get(number).is_some_and(|parcel| self.may_be_on(agent, parcel))
                });
                if !is_open {
                    continue;
                }
                let corner = Vec2::new(x as f32, y as f32) * SQUARE_M as f32;
                let inside = from.clamp(corner + MARGIN_M, corner + (SQUARE_M as f32 - MARGIN_M));
                let distance = inside.distance(from);
                if nearest.is_none_or(|(least, _)| distance < least) {
                    nearest = Some((distance, inside));
                }
            }
        }
        nearest.map(|(_, at)| at)
    }
}

/// Squares whose greater distance along an axis is `ring`, row by row.
fn squares_of_ring(column: i32, row: i32, ring: i32) -> impl Iterator<Item = (i32, i32)> {
    (-ring..=ring).flat_map(move |y| {
        let step = if y.abs() == ring { 1 } else { 2 * ring };
        (-ring..=ring).step_by(step as usize).map(move |x| (column + x, row + y))
    })
}

/// Puts an avatar at another point, at rest.
fn set_down(presence: &mut Presence, at: Vec2, ground: &SolidGround) {
    presence.leave_seat();
    presence.motion.position = at.extend(presence.motion.position.z);
    presence.motion.velocity = Vec3::ZERO;
    if presence.stance == Stance::Sitting {
        stand_up(presence, ground);
    }
    let lowest = ground.height(at) + presence.half_height();
    let z = &mut presence.motion.position.z;
    if presence.stance.is_grounded() && *z > lowest + STEP_M {
        presence.stance = Stance::Airborne { jumped: false, sub_steps: 0 };
    } else if presence.stance.is_grounded() || *z < lowest {
        *z = lowest;
    }
    presence.dirty.touched = true;
}
