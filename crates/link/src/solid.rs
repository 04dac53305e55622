//! Solids of assets on their way into a world.
//!
//! A world announces the solids that its prims collide as ([`crate::Event::SolidsWanted`]). The node, which has the assets, answers each that it finds with
//! [`crate::Action::PutSolid`].

use prim::{AssetSolid, SolidKey};
use serde::{Deserialize, Serialize};

/// A solid of an asset, with the key that stands for it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KnownSolid {
    /// The asset, and the solid of it.
    pub key: SolidKey,
    /// The solid itself.
    pub solid: AssetSolid,
}
