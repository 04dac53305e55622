//! The configuration as what it describes: grounds of regions and templates, settings of keepers, and the data of a server. The server uses them, and so do commands on
//! the data directory of a server that is stopped.

mod ground;
mod keeper;
mod stored_data;

pub(crate) use ground::{Ground, RegionGround, grounds};
pub(crate) use keeper::{is_new, keeper_config, new_land};
pub(crate) use stored_data::{ConfiguredServer, stored_data};
