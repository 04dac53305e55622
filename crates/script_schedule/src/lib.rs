//! Fuel and time of a world's scripts: whose slice comes next, and at which tick a waiting script is ready.
//!
//! The core knows scripts by numbers only. Their states, events and effects are its caller's, which runs slices for it ([`ScriptSchedule::run`]); so it
//! works for any machine, and has neither a world nor a clock. Fuel and ticks are arguments.
//!
//! # A tick
//!
//! ```text
//! begin_tick(t)   due scripts leave the wheel; nothing was due in idle ticks before
//! wake, set, add  commands and their events: each script that they make ready is fresh
//! run(budget)     due scripts are fresh, in the order of (due, number)
//!                   ┌ fresh: those that start or wake ┐   until an eighth of the fuel is left for
//!                   └ spent: those whose slice is up  ┘   in each: owners in turn, and their scripts in turn
//!                 what a slice makes ready is fresh at its end, in the order of linkset and inventory,
//!                 before what time has made ready
//! quiet_until     the next tick with work: the next one, that of a timer, or none
//! ```
//!
//! Scripts beyond the fuel of their tick stay in their queues, and run late.
//!
//! # Fairness
//!
//! In each queue, owners with ready scripts share the fuel equally, whatever the number of their scripts: two of them differ by less than a slice and a sixteenth of
//! one, and an operation that exceeded its slice. A lone owner has all. Fresh scripts come first, but spent ones have at least an eighth of each tick. The fuel of
//! a tick may be exceeded by a slice of each queue, which the next tick has less.
//!
//! # Time
//!
//! A script that waits says when it is due next ([`Next::At`]): its state has timer and sleep, and the wheel only the earlier tick of both. So there is
//! one truth about times, and a world that is loaded makes the wheel from states. A script is ready at exactly its tick, 1 tick from now at the earliest; a timer whose script
//! runs late is still a multiple of its period away from its beginning, and missed periods are one event (`script::clock`).
//!
//! # Cost
//!
//! A tick visits scripts that are ready, and those that change their level in the wheel, at most ten times for each time that is set. Waking a script and
//! setting its time take constant time and no memory. Adding, moving and removing one takes logarithmic time.
//!
//! Start with [`ScriptSchedule`].

mod budget;
mod figures;
mod instances;
mod links;
mod owners;
mod run_queue;
mod schedule;
mod usage;
mod wheel;

pub use budget::{FuelBudget, VISIT_FUEL};
pub use figures::ScriptFigures;
pub use instances::{Home, INSTANCES_MAX, InstanceNumber};
pub use schedule::{Next, ScheduleError, ScheduleState, ScriptSchedule, SliceResult, SliceStart};
