//! Circuits as their users see them: two ends on a virtual clock and a bad network ([`pair`]), or one end and
//! bytes.

mod acks;
mod delivery;
mod late_acks;
mod liveness;
mod pacing;
pub(crate) mod pair;
mod properties;
mod raw;
