//! The schedule seen from outside: scripts without a machine, and some with one.

mod fairness;
mod idle;
mod instances;
mod model;
mod order;
mod restoring;
mod timers;
