//! Avatars among prims, and linksets that physics moves.

mod bodies;
mod bodies_determinism;
mod determinism;
mod random_prims;
mod region;
mod scene;
mod walking;
