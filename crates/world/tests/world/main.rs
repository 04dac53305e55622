//! The world seen from outside: commands in, frames out.

mod arriving;
mod built;
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
mod seats;
mod solids;
mod stage;
mod touching;
mod trial;
mod village;
mod walking;
