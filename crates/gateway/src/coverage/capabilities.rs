//! The table of capabilities that clients ask the seed capability for.

/// A row of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capability {
    /// As clients name it.
    pub name: &'static str,
    /// True if the seed's reply names it.
    pub is_granted: bool,
    /// Its service, or the reason for its absence.
    pub text: &'static str,
}

const fn done(name: &'static str, text: &'static str) -> Capability {
    Capability { name, is_granted: true, text }
}

const fn refused(name: &'static str, text: &'static str) -> Capability {
    Capability { name, is_granted: false, text }
}

const BY_MESSAGES: &str = "Messages over UDP change the inventory.";
const NEW_SCRIPT: &str = "New text of a script of the user; scripts do not run.";
const NEW_SCRIPT_IN_OBJECT: &str = "New text of a script in an object; the world judges.";
const NO_EXPERIENCES: &str = "Experiences do not exist.";
const NO_FRIENDS: &str = "Friends do not exist.";
const NO_GROUPS: &str = "Groups do not exist.";
const NO_NAVMESH: &str = "Pathfinding characters do not exist.";
const NO_REPORTS: &str = "Reports are not taken.";
const NO_SCRIPTS: &str = "Scripts do not exist.";
const NO_SETS: &str = "Sets of animations do not exist.";
const NO_STATISTICS: &str = "Statistics of viewers are not kept.";
const NO_VOICE: &str = "Voice chat does not exist.";
const ONE_SETTING: &str = "Preferences stay in the viewer.";

/// Every capability that clients are known to ask for, by name.
pub const CAPABILITIES: &[Capability] = &[
    refused("AbuseCategories", NO_REPORTS),
    refused("AcceptFriendship", NO_FRIENDS),
    refused("AcceptGroupInvite", NO_GROUPS),
    refused("AgentExperiences", NO_EXPERIENCES),
    refused("AgentPreferences", ONE_SETTING),
    refused("AgentProfile", "The message AvatarPropertiesRequest answers."),
    refused("AgentState", NO_NAVMESH),
    done("AttachmentResources", "Worn objects; scripts, which do not exist, use nothing."),
    done("AvatarPickerSearch", "Users by the beginnings of their names."),
    refused("AvatarRenderInfo", NO_STATISTICS),
    refused("CharacterProperties", NO_NAVMESH),
    refused("ChatSessionRequest", "Conferences and chat of groups do not exist."),
    done(
        "CopyInventoryFromNotecard",
        "BulkUpdateInventory: a copy of an embedded item, also of a notecard in an object, or a null item.",
    ),
    done("CreateInventoryCategory", "A new folder; refused (403) as by CreateInventoryFolder."),
    refused("CustomMenuAction", "The server adds no entries to menus."),
    refused("DeclineFriendship", NO_FRIENDS),
    refused("DeclineGroupInvite", NO_GROUPS),
    refused("DirectDelivery", "There is no market."),
    done("DispatchRegionInfo", "Settings of the region, judged by the world."),
    refused("EnvironmentSettings", "ExtEnvironment serves the newer form."),
    done("EstateAccess", "Lists of the estate; refused (403) for users who do not manage it."),
    done("EstateChangeInfo", "Settings of the estate, judged by the world."),
    done("EventQueueGet", "Events that have no message: parcels, teleports."),
    refused("ExperiencePreferences", NO_EXPERIENCES),
    refused("ExperienceQuery", NO_EXPERIENCES),
    done("ExtEnvironment", "The sky of the region and its parcels; PUT and DELETE change it."),
    done("FetchInventory2", "Items of the user."),
    done("FetchInventoryDescendents2", "Folders of the user."),
    done("FetchLib2", "Items of the library."),
    done("FetchLibDescendents2", "Folders of the library."),
    refused("FindExperienceByName", NO_EXPERIENCES),
    refused("GetAdminExperiences", NO_EXPERIENCES),
    refused("GetCreatorExperiences", NO_EXPERIENCES),
    done("GetDisplayNames", "Names of users."),
    refused("GetExperienceInfo", NO_EXPERIENCES),
    refused("GetExperiences", NO_EXPERIENCES),
    done("GetMesh", "Meshes, also in parts."),
    done("GetMesh2", "Meshes, also in parts."),
    refused("GetMetadata", "Assets have no metadata."),
    done("GetObjectCost", "Prims of objects and of their linksets."),
    done("GetObjectPhysicsData", "Form and matter of objects."),
    done("GetTexture", "Textures, also in parts."),
    refused("GroupAPIv1", NO_GROUPS),
    refused("GroupExperiences", NO_EXPERIENCES),
    refused("GroupMemberData", NO_GROUPS),
    refused("GroupProposalBallot", NO_GROUPS),
    refused("HomeLocation", "The message SetStartLocationRequest sets it."),
    refused("IncrementCOFVersion", BY_MESSAGES),
    refused("InterestList", "The nearest are shown."),
    refused("InventoryAPIv3", BY_MESSAGES),
    refused("InventoryThumbnailUpload", "Items have no thumbnails."),
    refused("IsExperienceAdmin", NO_EXPERIENCES),
    refused("IsExperienceContributor", NO_EXPERIENCES),
    refused("LSLSyntax", NO_SCRIPTS),
    done("LandResources", "Prims of the parcel and of its owner's land; scripts do not exist."),
    refused("LibraryAPIv3", "FetchLibDescendents2 serves the library."),
    done("MapLayer", "A layer for each region, its picture."),
    refused("MapLayerGod", "MapLayer has the same layers."),
    done("MeshUploadFlag", "Every user may upload models."),
    done("ModifyMaterialParams", "Render materials of faces and their overrides; the world judges."),
    refused("NavMeshGenerationStatus", NO_NAVMESH),
    done(
        "NewFileAgentInventory",
        "An address for the bytes of a new item, or for a model, of which an object is made.",
    ),
    refused("NewFileAgentInventoryVariablePrice", "NewFileAgentInventory takes all uploads, which are free."),
    refused("ObjectAdd", "The message of that name makes objects."),
    refused("ObjectAnimation", "Objects are not animated."),
    done("ObjectMedia", "Media on faces; the world judges changes."),
    done("ObjectMediaNavigate", "Visits to other addresses; the world judges."),
    refused("ObjectNavMeshProperties", NO_NAVMESH),
    done("ParcelPropertiesUpdate", "Settings of a parcel; ParcelProperties in the event queue."),
    refused("ParcelVoiceInfoRequest", NO_VOICE),
    refused("ProductInfoRequest", "RegionInfo names the product."),
    refused("ProvisionVoiceAccountRequest", NO_VOICE),
    refused("ReadOfflineMsgs", "Messages to offline users are not kept."),
    refused("RegionExperiences", NO_EXPERIENCES),
    refused("RegionObjects", "Objects are listed for the operator."),
    done("RemoteParcelRequest", "Id of the parcel at a point of a region."),
    done("RenderMaterials", "Legacy materials of the region, and of faces."),
    done("RequestTaskInventory", "Contents of an object; 304 if they are as the client knows them."),
    refused("RequestTextureDownload", "GetTexture serves textures."),
    done("ResourceCostSelected", "Prims of the selection."),
    refused("RetrieveNavMeshSrc", NO_NAVMESH),
    refused("SearchStatRequest", NO_STATISTICS),
    refused("SearchStatTracking", NO_STATISTICS),
    refused("SendPostcard", "E-mail is not sent."),
    refused("SendUserReport", NO_REPORTS),
    refused("SendUserReportWithScreenshot", NO_REPORTS),
    refused("ServerReleaseNotes", "RegionInfo names the product."),
    refused("SetDisplayName", "Users have one name."),
    refused("SimConsole", "Administrators use the command line."),
    refused("SimConsoleAsync", "Administrators use the command line."),
    done("SimulatorFeatures", "What the simulator supports."),
    refused("StartGroupProposal", NO_GROUPS),
    refused("TerrainNavMeshProperties", NO_NAVMESH),
    refused("TextureStats", NO_STATISTICS),
    refused("UntrustedSimulatorMessage", "Messages arrive over UDP."),
    refused("UpdateAgentInformation", ONE_SETTING),
    refused("UpdateAgentLanguage", ONE_SETTING),
    refused("UpdateAnimSetAgentInventory", NO_SETS),
    refused("UpdateAnimSetTaskInventory", NO_SETS),
    refused("UpdateAvatarAppearance", "Clients bake their appearance."),
    refused("UpdateExperience", NO_EXPERIENCES),
    done("UpdateGestureAgentInventory", "New content of a gesture of the user."),
    done("UpdateGestureTaskInventory", "New content of a gesture in an object; the world judges."),
    done("UpdateMaterialAgentInventory", "New content of a material of the user."),
    done("UpdateMaterialTaskInventory", "New content of a material in an object; the world judges."),
    done("UpdateNotecardAgentInventory", "New content of a notecard of the user."),
    done("UpdateNotecardTaskInventory", "New content of a notecard in an object; the world judges."),
    done("UpdateScriptAgent", NEW_SCRIPT),
    done("UpdateScriptAgentInventory", NEW_SCRIPT),
    done("UpdateScriptTask", NEW_SCRIPT_IN_OBJECT),
    done("UpdateScriptTaskInventory", NEW_SCRIPT_IN_OBJECT),
    done("UpdateSettingsAgentInventory", "New content of an environment of the user."),
    done("UpdateSettingsTaskInventory", "New content of an environment in an object; the world judges."),
    refused("UploadAgentProfileImage", "Profiles cannot be changed."),
    done(
        "UploadBakedTexture",
        "Baked textures are stored, until they are not used for a while, and served to others.",
    ),
    refused("UploadObjectAsset", "Objects are made in the world."),
    refused("UserInfo", ONE_SETTING),
    done("ViewerAsset", "Assets of all kinds, also in parts."),
    refused("ViewerBenefits", "Users have no levels."),
    refused("ViewerMetrics", NO_STATISTICS),
    refused("ViewerStartAuction", "There are no auctions."),
    refused("ViewerStats", NO_STATISTICS),
    refused("VoiceSignalingRequest", NO_VOICE),
];

/// True if the seed capability grants it.
#[must_use]
pub fn is_granted(name: &str) -> bool {
    CAPABILITIES.binary_search_by_key(&name, |row| row.name).is_ok_and(|at| CAPABILITIES[at].is_granted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capabilities_are_in_order_so_that_they_can_be_searched() {
        assert!(CAPABILITIES.windows(2).all(|pair| pair[0].name < pair[1].name));
        assert!(
            is_granted("ViewerAsset")
                && is_granted("UploadBakedTexture")
                && !is_granted("GetExperiences")
                && !is_granted("Nonsense")
        );
    }
}
