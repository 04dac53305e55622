//! Content at rest: the threads that write and verify assets, the jobs that load and save archives, and the files that regions begin with, are exported to and
//! imported from.
//!
//! - [`asset_threads`]: the threads `assets` and `scrub`; [`asset_api`]: their figures and single assets over the operator's address.
//! - [`archives`]: loads and saves of a running server, and the report on assets that nothing names, each a job of `job_desk`.
//! - [`content`]: content of new regions and of templates, from files of regions and from archives.
//! - [`region_transfer`]: files of regions, also for commands on the data directory of a server that is stopped.
//!
//! Archives meet running regions by the handles of `region_threads`. Nothing here reads the configuration; paths, limits and clocks are given.

mod archive_assets;
mod archive_content;
pub mod archives;
pub mod asset_api;
pub mod asset_threads;
pub mod content;
pub mod region_transfer;
#[cfg(test)]
mod testing;

pub use archive_assets::LoadAssetsError;
pub use archive_content::ArchiveContentError;
