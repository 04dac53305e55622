//! The world seen from outside: commands in, frames out.

mod arriving;
mod chatting;
mod determinism;
mod flying;
mod npcs;
mod posture;
mod restarting;
mod resync;
mod stage;
mod walking;
