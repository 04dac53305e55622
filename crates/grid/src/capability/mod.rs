//! Answers behind the capabilities other than inventory: names, environment, features, materials, assets.
//!
//! Each is a function from a client's request to its reply. The gateway maps URLs to capabilities and sessions.

mod assets;
mod environment;
mod features;
mod materials;
mod names;
mod textures;

pub use assets::{AssetReply, BODY_PARTS, BodyPart, stored_asset, viewer_asset};
pub use environment::environment;
pub use features::{SimulatorFeatures, simulator_features};
pub use materials::no_materials;
pub use names::{AccountName, IDS_MAX, PAGE_MAX, avatar_search, born_s, display_names, names_of, people};
pub use textures::{BAKES_BYTES_MAX, BAKES_PER_AGENT_MAX, HeldTextures, NoCodestream};
