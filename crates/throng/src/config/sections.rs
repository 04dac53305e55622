//! Every key of the configuration, by subject. The doc comments are the operator's documentation (`throng config docs`): the first paragraph states
//! the key's effect, the second the trade-off of a change.

mod clients;
mod content;
mod diagnosis;
mod process;
mod worlds;

pub use clients::{AgentUpdateFilter, Gateway, LoginSection, Page, PublicChatAudience};
pub use content::{
    AssetsSection, AvatarSection, BackupSection, HttpSection, InventorySection, ObjectsSection,
};
pub use diagnosis::{CapturesSection, DiagnoseSection, RecorderSection};
pub use process::{Database, ServerSection};
pub(crate) use worlds::hz_or;
pub use worlds::{
    InstancesSection, PortalSection, RegionSection, TemplateSection, TerrainShape, WorldSection,
};
