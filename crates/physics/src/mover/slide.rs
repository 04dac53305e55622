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
/// An overlap below this is allowed: a disc that goes around a corner may cut it.
const OVERLAP_MAX_M: f32 = 0.02;
/// Pushes of one slide at most, each by the nearest wall. Two walls stop a disc, the third push is for corners.
const PASSES: u32 = 3;
/// A disc that overlaps a wall moves by at most this share of the distance from its axis to the wall, so that it never comes out on the other side.
const STRIDE_SHARE: f32 = 0.5;

/// Walls are collected for the way and this much around it, metres: pushes rarely lead farther.
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

/// True if a move of length `way` leads out of a solid: clearance < before − way. The distance to a wall in front of the disc shrinks by `way` at most, so a
/// wall that is nearer at the end did not count at the begin: the disc was behind it, in its solid. `before` is the clearance at the begin, up to radius + way.
pub(super) fn comes_out(clearance: f32, before: f32, way: f32) -> bool {
    clearance < before - way - CONTACT_SKIN_M
}

/// Moves a disc from a place to another, `way` further, around the pieces within a range of heights. Its displacement is at most
/// |way|, or |way| + [`PUSH_M`] if it overlapped a wall before or came out of a solid. `memory` is scratch.
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
