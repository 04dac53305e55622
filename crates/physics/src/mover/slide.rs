//! The way of a disc along walls.

use super::obstacles::Reached;
use super::section::{Contact, FacetSection, Slab};
use glam::Vec2;

/// Push out of an overlapped wall in one slide, metres, at most.
pub(super) const PUSH_M: f32 = 0.1;
/// An overlap below this is rounding.
const CONTACT_SKIN_M: f32 = 1e-3;
/// Clearances that differ by less are equal.
const ROUNDING_M: f32 = 1e-4;
/// An overlap below this is allowed: corners that are rounded in one step.
const OVERLAP_MAX_M: f32 = 0.02;
/// Walls that push one after the other. Two stop a disc, a third one is for corners.
const PASSES: u32 = 3;
/// Beside a wall that it overlaps, an avatar moves by this share of its distance at most, so that it never comes out on the other side.
const STRIDE_SHARE: f32 = 0.5;

/// Walls push an avatar usually no farther beyond its way than this, metres: for these places they are looked up at once.
const SECTION_MARGIN_M: f32 = 0.2;

/// Result of a slide.
pub(super) struct Slid {
    pub(super) at: Vec2,
    /// The first wall in the way.
    pub(super) contact: Option<Contact>,
}

/// True if a place with a clearance is allowed: without overlap, or with none deeper than an overlap `before`.
pub(super) fn is_clear(clearance: f32, radius: f32, before: impl FnOnce() -> f32) -> bool {
    let free = radius - OVERLAP_MAX_M;
    clearance >= free || {
        let before = before();
        before < free && clearance >= before - ROUNDING_M
    }
}

/// True if the nearest wall at the end of a way is that of a solid in which the disc was. `before` is the clearance at its begin, as far as the way can bring a
/// wall within the radius: the distance from a wall in front of the disc changes by no more than the way.
pub(super) fn comes_out(clearance: f32, before: f32, way: f32) -> bool {
    clearance < before - way - CONTACT_SKIN_M
}

/// Moves a disc from a place to another, `way` further, around the pieces within a range of heights. It is nowhere moved farther than `way` is long,
/// unless it overlapped a wall before. `memory` is for the pieces near its way.
pub(super) fn slide(
    obstacles: &Reached<'_>,
    from: Vec2,
    to: Vec2,
    way: Vec2,
    slab: Slab,
    radius: f32,
    memory: &mut Vec<FacetSection>,
) -> Slid {
    let Some(first) = obstacles.deepest(to, slab, radius - CONTACT_SKIN_M) else {
        return Slid { at: to, contact: None };
    };
    let length = way.length();
    let section = obstacles.section(from, length + SECTION_MARGIN_M, slab, radius, memory);
    let contact_at = |at: Vec2| section.deepest(at, radius - CONTACT_SKIN_M);
    let before = section.clearance(from, radius + length);
    let comes_out = comes_out(first.distance, before, length);
    let overlaps = before < radius - OVERLAP_MAX_M;
    let (before, start, most) = if comes_out {
        (first.distance, to, length + PUSH_M)
    } else if overlaps {
        let stride = length.min(before * STRIDE_SHARE);
        (before, from + way.clamp_length_max(stride), stride + PUSH_M)
    } else {
        (before, to, length)
    };
    let shortened = |at: Vec2| {
        let (moved, length) = (at - from, at.distance(from));
        if length <= most { at } else { from + moved * (most / length) }
    };
    let is_allowed = |clearance: f32| is_clear(clearance, radius, || before);
    let at_start = if start == to { Some(first) } else { contact_at(start) };
    let (mut at, mut contact) = (start, at_start);
    for _ in 0..PASSES {
        let Some(nearest) = contact else { break };
        at += nearest.away * (radius - nearest.distance);
        contact = contact_at(at);
    }
    let pushed = shortened(at);
    let is_free = contact.is_none() && pushed == at;
    let at = if is_free || is_allowed(section.clearance(pushed, radius)) {
        pushed
    } else if is_allowed(at_start.map_or(radius, |contact| contact.distance)) {
        start
    } else {
        from
    };
    Slid { at, contact: Some(first) }
}
