//! The example behaviours do what their files say, on a plane with players who walk about.

mod documented;
mod plane;
mod stories;
mod village;
mod wrong;
