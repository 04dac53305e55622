//! Edits of a world's land: ground, parcels, estate, access; random ones; snapshots.

mod access;
mod estate;
mod ground;
mod hostile;
mod parcels;
mod random;
mod replacing;
mod scene;
mod strokes;
