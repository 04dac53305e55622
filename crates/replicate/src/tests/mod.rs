//! Replicas of real worlds ([`source`]), and what viewers of made-up ones are sent ([`scene`]).

mod publishing;
mod resync;
mod scene;
mod seating;
mod selecting;
mod source;
