//! Parts of the entries of all kinds.

use serde::Deserialize;

/// A part of the file with the line on which it begins.
#[derive(Debug)]
pub(super) struct Placed<T> {
    pub(super) line: u32,
    pub(super) it: T,
}

/// Metres from the corner: two numbers on the ground, or three.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum Point {
    Ground([f32; 2]),
    At([f32; 3]),
}
