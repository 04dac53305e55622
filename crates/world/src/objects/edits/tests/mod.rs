//! Requests through whole worlds, by family; the state is checked after each step.

mod appearance;
mod clearing;
mod contents;
mod creating;
mod flags;
mod full_prims;
mod inserting;
mod limits;
mod linking;
mod materials;
mod media;
mod on_land;
mod ownership;
mod placing;
mod random;
mod removing;
mod restoring;
mod rezzing;
mod sizes;
mod stage;
mod strangers;
mod wearing;
