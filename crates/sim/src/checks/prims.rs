//! Prims of a world, kept from its frames alone, and clients' views of them.
//!
//! A viewer may lack a change for as long as the network loses it. It must not display a prim that has been gone for long, nor, once the
//! network is calm, another state than the world's.

use super::views::GHOST_MAX;
use super::{Census, Failure, Rule};
use crate::network::Cuts;
use bots::observer::Observer;
use glam::Vec3;
use ids::{Instant, LocalId};
use link::{Frame, ObjectChange, ObjectPage, PrimMotion, VersionedBody};
use replicate::objects::reach_m;
use std::collections::BTreeMap;
use std::time::Duration;

/// Draw distance of the clients, metres.
const DRAW_M: f32 = 128.0;

/// The prims of one world.
#[derive(Debug, Default)]
pub(crate) struct PrimCensus {
    here: BTreeMap<LocalId, (PrimMotion, VersionedBody)>,
    /// Removal times of absent prims.
    gone_at: BTreeMap<LocalId, Instant>,
}

impl PrimCensus {
    /// Applies a frame. A snapshot replaces everything.
    pub(super) fn apply(&mut self, now: Instant, frame: &Frame) {
        for change in &frame.objects {
            match change {
                ObjectChange::Pages(pages) => self.put_pages(pages),
                ObjectChange::Set { id, motion, body, .. } => {
                    self.gone_at.remove(id);
                    self.here.insert(*id, (*motion, body.clone()));
                }
                ObjectChange::Moved(id, motion) => {
                    self.here.entry(*id).and_modify(|(former, _)| *former = *motion);
                }
                ObjectChange::Removed(id) => {
                    self.here.remove(id);
                    self.gone_at.insert(*id, now);
                }
            }
        }
        if let Some(part) = frame.snapshot.as_ref().filter(|part| part.index == 0) {
            let former = std::mem::take(&mut self.here);
            self.put_pages(&part.objects);
            let lost = former.into_keys().filter(|id| !self.here.contains_key(id));
            self.gone_at.extend(lost.map(|id| (id, now)));
        }
    }

    fn put_pages(&mut self, pages: &[ObjectPage]) {
        for (id, motion, body) in pages.iter().flat_map(ObjectPage::prims) {
            self.gone_at.remove(&id);
            self.here.insert(id, (*motion, body.clone()));
        }
    }

    /// Position of a prim's linkset in the region.
    fn place(&self, motion: &PrimMotion) -> Vec3 {
        self.here.get(&motion.parent).map_or(motion.motion.position, |(root, _)| root.motion.position)
    }
}

/// Finds a displayed prim that has been gone for too long, or never was there. Times of cuts and stops do not count.
pub(crate) fn ghost_prims(
    now: Instant,
    observer: &Observer,
    census: &Census,
    pauses: [&Cuts; 2],
) -> Result<(), Failure> {
    let prims = census.prims();
    for (id, _) in observer.prims().prims() {
        if prims.here.contains_key(&id) || census.is_static(id) {
            continue;
        }
        let fail = |found: String| Err(Failure::new(now, Rule::NoGhosts, found));
        let Some(gone_at) = prims.gone_at.get(&id) else {
            return fail(format!("prim {id:?} is shown and was never there"));
        };
        let paused: Duration = pauses.iter().map(|cuts| cuts.cut_between(*gone_at, now)).sum();
        if now.since(*gone_at) > GHOST_MAX + paused {
            return fail(format!("prim {id:?} is shown and is gone since {gone_at:?}"));
        }
    }
    Ok(())
}

/// The first difference between a client's view and the prims of a world in which nothing changes.
pub(crate) fn unlike_prims(observer: &Observer, census: &Census, eye: Vec3) -> Option<String> {
    let prims = census.prims();
    for (id, (motion, body)) in &prims.here {
        let place = prims.place(motion);
        let reach = reach_m(body.body.scale.length() / 2.0).min(DRAW_M);
        match observer.prims().get(*id) {
            Some(seen) if seen.crc != body.crc() || seen.position != motion.motion.position => {
                let (version, at) = (body.version, motion.motion.position);
                return Some(format!(
                    "prim {id:?} is shown at {} with the checksum {:x} by {:?}, and is at {at} in version {version}, {:x}",
                    seen.position,
                    seen.crc,
                    seen.form,
                    body.crc()
                ));
            }
            None if place.distance(eye) <= reach => {
                return Some(format!(
                    "prim {id:?}, {} m away with a reach of {reach} m, is not shown",
                    place.distance(eye)
                ));
            }
            Some(_) | None => {}
        }
    }
    let is_there = |id: &LocalId| prims.here.contains_key(id) || census.is_static(*id);
    let ghost = observer.prims().prims().find(|(id, _)| !is_there(id));
    ghost.map(|(id, _)| format!("prim {id:?} is shown and is not there"))
}
