//! Messages between the simulating side (worlds, hosts) and the serving side (gateways, replicas), and what describes a world to
//! both.
//!
//! Plain data: every message has a serde encoding, none holds a running object, a lock or a queue. It simulates nothing, sends
//! nothing and reads no clock. Start with [`Command`], which goes into a world, and [`Frame`], which comes out of it; [`WorldSpec`]
//! describes a world to both sides beforehand, with its ground ([`Terrain`]) and its static objects ([`Scenery`]).

mod census;
mod chat;
mod command;
mod contents;
mod effect;
mod frame;
mod game;
mod gateway;
mod generate;
mod host;
mod land;
mod land_command;
mod looks;
mod motion;
mod name;
mod numbers;
mod object;
mod object_command;
mod object_outcome;
mod scenery;
mod seat;
mod solid;
mod spec;
mod stored_objects;
mod terrain;
mod touch;
mod transfer;
mod travel;

pub use census::WorldCensus;
pub use chat::{CHAT_BYTES_MAX, Chat, ChatKind};
pub use command::{Action, Appearance, Author, Command, Control, ControlFlags, Enter};
pub use contents::{ContentsEvent, ContentsOutcome};
pub use effect::{Effect, EffectEvent, ShownEffect};
pub use frame::{
    Animation, Animations, Audience, Avatar, Change, Entity, EntryRefusal, Event, Frame, SnapshotChunk,
    read_few,
};
pub use game::GameEvent;
pub use gateway::{AdmissionNumber, GatewayNotice, GatewayOrder, OccupantCount};
pub use generate::{PLAZA_M, WATER_M, layered_noise};
pub use host::{
    InstanceRefusal, InstanceReply, InstanceRequest, Maker, NewInstance, RequestId, Shortage, Visitor,
};
pub use land::{
    ACCESS_MAX, AccessEntry, ENVIRONMENT_MAX, Environment, Estate, EstateList, GroundPatch, GroundTextures,
    HEIGHT_LIMIT_M, LandChange, LandEvent, LandRefusal, LandSale, LandState, Landing, LandingKind, Maturity,
    PATCH_M, PATCH_SAMPLES, Parcel, ParcelFlags, ParcelMedia, ParcelNumber, ParcelSettings, Pass, PatchEdit,
    PatchHeights, RegionFlags, RegionOptions, SPAWN_POINTS_MAX, SQUARE_M, SquareSet, StoredLand,
    StoredStroke, Sun, Telehub, WaterAndLimits,
};
pub use land_command::{
    AccessList, Brush, EstateEdit, GroundEdit, LandCommand, LandEdit, LandRect, LandReplacement, ParcelEdit,
    ReplacedGround, ReplacedParcels, ReturnKinds, Stroke, StrokeArea, TelehubEdit,
};
pub use looks::{Looks, LooksError};
pub use motion::Motion;
pub use name::is_misleading;
pub use numbers::{
    CommandSeries, HostNumber, INSTANCE_LOCAL_IDS, INSTANCE_WORLDS_PER_HOST, LOCAL_ID_BLOCK,
    SHARED_WORLDS_MAX, avatar_ids, instance_world, kept_object_ids, shared_local_ids, temporary_object_ids,
};
pub use object::{
    ObjectChange, ObjectMask, ObjectPage, PAGE_PRIMS, PageBodies, PageMotions, PrimFlags, PrimMotion,
    VersionedBody, index_in_page, page_of,
};
pub use object_command::{
    CopyPlace, DEREZ_OBJECTS_MAX, Derez, DerezKind, Duplicates, EDIT_OBJECTS_MAX, EditRights, ExtraParamEdit,
    FaceMaterial, FlagsEdit, INSERT_PRIMS_MAX, InsertedLinkset, Insertion, ItemEdit, MaskEdit, Navigation,
    NewObject, ObjectCommand, ObjectLimits, Offer, PhysicsEdit, Placement, Ray, RenderMaterialEdit, Textures,
};
pub use object_outcome::{EditRefusal, StoppedObject};
pub use scenery::{PlacedBody, Prim, Scenery, SceneryError, StaticObject, is_arch, plain_texture};
pub use seat::{Seat, SitRefusal};
pub use solid::KnownSolid;
pub use spec::{BOX_NAME, GroundSpec, Portal, PortalTo, WorldSpec};
pub use stored_objects::{RestingIds, StoredObjects};
pub use terrain::{CEILING_M, Terrain, TerrainError, is_region_size};
pub use touch::{SurfacePoint, Touch, TouchCommand, TouchPhase};
pub use transfer::{
    ATTACHMENT_POINT_ADDS, ATTACHMENT_POINT_DEFAULT, ATTACHMENT_POINT_MAX, AnsweredOrder, ContentReplacement,
    ContentRezzing, HeldItem, HeldObject, ItemRestoration, PlacedLinkset, Restoration, RestorePlace, Rezzing,
    StoredTransfers, TakeOffOrder, Transfer, WORN_MAX, WearOrder, WornChange, WornItems, WornTransfer,
};
pub use travel::{CircuitKey, Passage, PassageRefusal, TravelOrder};
