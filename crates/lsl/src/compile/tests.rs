//! Scripts that are compiled and run.
//!
//! | subject | module |
//! |---|---|
//! | compilation and runs for tests | `run` |
//! | order of evaluation | `order` |
//! | values known at compile time | `folding` |
//! | numbers, by dialect | `numbers` |
//! | strings, keys, lists, conditions | `values` |
//! | statements | `flow` |
//! | states, values of globals, places | `programs` |
//! | instructions | `instructions` |
//! | bounds: depth, size, memory, slices | `bounds` |

mod bounds;
mod flow;
mod folding;
mod instructions;
mod numbers;
mod order;
mod programs;
mod run;
mod values;
