//! Programs for tests: small ones made by hand ([`sample`]), any number by chance ([`generator`]), and a host that notes its calls.

pub(crate) mod generator;
pub(crate) mod host;
pub(crate) mod sample;
