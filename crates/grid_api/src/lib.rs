//! Handlers of the operator's API for what a grid has: regions with their objects and land, instances and templates, and accounts with their inventories.
//!
//! They translate between HTTP and the running server: replicas that clients are shown, the handles of `region_threads`, `workplace::instances`, and the store.
//! Access is checked before a handler runs (`gateway::http::admin`). Diagnosis is `operator_api`, jobs are `job_desk`, assets and archives `content_threads`.
//! Start with the `router` function of each module.

pub mod instances;
pub mod regions;
pub mod terrain;
pub mod users;
