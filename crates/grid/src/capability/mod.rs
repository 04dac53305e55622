//! Answers behind the capabilities other than inventory: names, environment, features, materials, media.
//!
//! Each is a function from a client's request to its reply, or to the change that it asks for. The gateway maps URLs to capabilities and sessions.

mod environment;
mod features;
mod material_params;
mod materials;
mod names;
mod object_figures;
mod object_media;

pub(crate) use environment::blank_settings;
pub use environment::environment;
pub use features::{SimulatorFeatures, simulator_features};
pub use material_params::{
    BadMaterialCall, MATERIAL_CHANGES_MAX, MaterialChange, OVERRIDES_METHOD, material_answer, overrides_text,
    read_material_changes, read_override,
};
pub use materials::{
    BadMaterials, FaceChange, LegacyMaterial, MATERIALS_MAX, MATERIALS_PER_CALL_MAX, archived_material,
    material_document, materials_answer, read_face_materials, read_material_ids,
};
pub use names::{
    AccountName, IDS_MAX, PAGE_MAX, avatar_search, born_s, display_names, mesh_upload_flag, names_of, people,
};
pub use object_figures::{
    BadFigureCall, FIGURES_MAX, ObjectCost, Selection, WornObject, attachment_resources, object_costs,
    physics_data, physics_properties, read_object_ids, read_selection, selected_cost,
};
pub use object_media::{BadMediaCall, MediaCall, MediaVisit, object_media, visit_denied};
