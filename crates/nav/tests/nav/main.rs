//! Meshes, paths on them, and walkers that follow these.

mod build;
mod crowd;
mod paths;
mod site;
mod walking;
