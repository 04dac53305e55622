//! The world seen from outside: commands in, frames out.

mod arriving;
mod cast_reload;
mod chatting;
mod determinism;
mod elsewhere;
mod flying;
mod health;
mod missions;
mod npcs;
mod posture;
mod restarting;
mod resync;
mod stage;
mod trial;
mod village;
mod walking;
