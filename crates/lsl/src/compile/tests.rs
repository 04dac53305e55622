//! Scripts that are compiled and run.
//!
//! | subject | module |
//! |---|---|
//! | compilation and runs for tests | `run`, `solo` |
//! | order of evaluation | `order` |
//! | values known at compile time | `folding` |
//! | numbers, by dialect | `numbers` |
//! | strings, keys, lists, conditions | `values` |
//! | statements | `flow` |
//! | states, values of globals, places | `programs` |
//! | instructions | `instructions` |
//! | bounds: depth, size, memory, slices | `bounds` |
//! | functions of values, each by its name | `functions` |
//! | small scripts; random arguments | `sources`, `properties` |

mod bounds;
mod flow;
mod folding;
mod functions;
mod instructions;
mod numbers;
mod order;
mod programs;
mod properties;
mod run;
mod solo;
mod sources;
mod values;
