//! The example behaviours do what their files say, on a plane with walking players.

mod documented;
mod plane;
mod stories;
mod village;
mod wrong;
