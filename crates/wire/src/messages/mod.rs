//! The message set: a struct for each message, named and laid out as in the protocol's template, its fields in snake case
//! ([`AgentUpdate`] holds `agent_data.body_rotation`).
//!
//! The tables are in files of their own by subject, in the notation of `table.rs`; [`Message`] is any of them and [`SCHEMA`] the set as
//! data. Here are bytes and fields only: receivers give a message its meaning, text stays bytes until [`crate::text`] reads it, and
//! zero-coding is [`crate::zero_code`]'s.
//!
//! Messages that clients refuse over UDP are absent, so that none is sent by mistake.

#[macro_use]
mod table;

mod block;
mod catalog;
mod codec;
mod number;
mod reader;
mod schema;
#[cfg(test)]
mod tests;

pub use catalog::MessageName;
pub use number::MessageNumber;
pub use schema::{Block, Field, FieldKind, MessageOrigin, Repeat, Schema};

pub(crate) use block::BlockCodec;
pub(crate) use codec::{quaternion_from_xyz, xyz_of_quaternion};
pub(crate) use reader::BodyReader;

use crate::Malformed;

message_set! {
    circuit:
        PacketAck OpenCircuit CloseCircuit StartPingCheck CompletePingCheck UseCircuitCode AgentThrottle
        AgentPause AgentResume DisableSimulator;
    arrival:
        CompleteAgentMovement AgentMovementComplete RegionHandshake RegionHandshakeReply RequestRegionInfo
        RegionInfo SimStats CoarseLocationUpdate SimulatorViewerTimeMessage HealthMessage AlertMessage
        AgentAlertMessage KickUser LogoutRequest LogoutReply ViewerStats;
    movement:
        AgentUpdate SetAlwaysRun AgentRequestSit AvatarSitResponse AgentSit AgentAnimation AvatarAnimation
        AgentHeightWidth AgentFOV CameraConstraint VelocityInterpolateOn VelocityInterpolateOff;
    appearance:
        AgentWearablesRequest AgentWearablesUpdate AgentIsNowWearing AgentSetAppearance AvatarAppearance
        AgentCachedTexture AgentCachedTextureResponse RebakeAvatarTextures RezSingleAttachmentFromInv
        RezMultipleAttachmentsFromInv DetachAttachmentIntoInv RemoveAttachment ObjectAttach ObjectDetach
        ObjectDrop ActivateGestures DeactivateGestures;
    chat:
        ChatFromViewer ChatFromSimulator ImprovedInstantMessage RetrieveInstantMessages OnlineNotification
        OfflineNotification GrantUserRights ChangeUserRights AcceptFriendship DeclineFriendship
        TerminateFriendship OfferCallingCard AcceptCallingCard DeclineCallingCard FindAgent MuteListRequest
        UseCachedMuteList MuteListUpdate UpdateMuteListEntry RemoveMuteListEntry;
    names:
        UUIDNameRequest UUIDNameReply UUIDGroupNameRequest UUIDGroupNameReply AgentDataUpdateRequest
        AgentDataUpdate AvatarPropertiesRequest AvatarPropertiesReply AvatarInterestsReply AvatarGroupsReply
        UserInfoRequest UserInfoReply;
    map:
        MapLayerRequest MapLayerReply MapBlockRequest MapNameRequest MapBlockReply MapItemRequest
        MapItemReply RegionHandleRequest RegionIDAndHandleReply;
    economy:
        EconomyDataRequest EconomyData MoneyBalanceRequest MoneyBalanceReply
        MoneyTransferRequest RequestPayPrice PayPriceReply;
    land:
        LayerData ModifyLand ParcelOverlay ParcelPropertiesRequest ParcelDwellRequest ParcelDwellReply
        ParcelInfoRequest ParcelInfoReply ParcelAccessListRequest ParcelAccessListReply
        ParcelObjectOwnersRequest ParcelObjectOwnersReply ParcelPropertiesRequestByID EstateCovenantRequest
        EstateCovenantReply LandStatRequest EstateOwnerMessage TelehubInfo;
    land_edits:
        UndoLand ParcelPropertiesUpdate ParcelAccessListUpdate ParcelDivide ParcelJoin ParcelReturnObjects
        ParcelSelectObjects ForceObjectSelect ParcelSetOtherCleanTime ParcelRelease ParcelReclaim ParcelBuy
        ParcelGodForceOwner GodUpdateRegionInfo;
    objects:
        ObjectUpdate ObjectUpdateCompressed ObjectUpdateCached ImprovedTerseObjectUpdate KillObject
        RequestMultipleObjects ObjectSelect ObjectDeselect ObjectProperties RequestObjectPropertiesFamily
        ObjectPropertiesFamily;
    teleport:
        TeleportLocationRequest TeleportRequest TeleportLandmarkRequest TeleportLureRequest StartLure
        TeleportStart TeleportProgress TeleportLocal TeleportFailed TeleportCancel SetStartLocationRequest;
    editing:
        ObjectAdd Undo Redo ObjectDelete ObjectDuplicate ObjectDuplicateOnRay MultipleObjectUpdate ObjectPosition ObjectScale
        ObjectRotation ObjectFlagUpdate ObjectClickAction ObjectImage ObjectMaterial ObjectShape
        ObjectExtraParams ObjectOwner ObjectGroup ObjectBuy ObjectPermissions ObjectSaleInfo ObjectName
        ObjectDescription ObjectCategory ObjectLink ObjectDelink ObjectIncludeInSearch DeRezObject DeRezAck;
    scripts:
        RequestTaskInventory ReplyTaskInventory UpdateTaskInventory RemoveTaskInventory GetScriptRunning;
    rezzing:
        RezObject RezObjectFromNotecard RezRestoreToWorld RezScript MoveTaskInventory;
    assets:
        TransferRequest TransferInfo TransferPacket RequestXfer SendXferPacket ConfirmXferPacket AbortXfer RequestImage ImageData ImagePacket
        ImageNotInDatabase AssetUploadRequest AssetUploadComplete;
    inventory:
        CreateInventoryItem UpdateCreateInventoryItem LinkInventoryItem CopyInventoryItem BulkUpdateInventory
        FetchInventory FetchInventoryReply FetchInventoryDescendents InventoryDescendents UpdateInventoryItem
        MoveInventoryItem RemoveInventoryItem CopyInventoryFromNotecard ChangeInventoryItemFlags
        CreateInventoryFolder UpdateInventoryFolder MoveInventoryFolder RemoveInventoryFolder
        RemoveInventoryObjects PurgeInventoryDescendents;
    directory:
        AvatarPickerRequest AvatarPickerReply DirFindQuery DirPeopleReply DirEventsReply DirGroupsReply
        DirPlacesQuery DirPlacesReply DirClassifiedQuery DirClassifiedReply DirLandQuery DirPopularQuery
        DirPopularReply PlacesQuery;
    profiles:
        AvatarPicksReply AvatarNotesReply AvatarClassifiedReply RequestGodlikePowers GrantGodlikePowers;
    groups:
        CreateGroupRequest CreateGroupReply JoinGroupRequest JoinGroupReply LeaveGroupRequest LeaveGroupReply
        EjectGroupMemberRequest EjectGroupMemberReply GroupProfileRequest GroupProfileReply
        GroupMembersRequest GroupMembersReply GroupRoleDataRequest GroupRoleDataReply GroupRoleMembersRequest
        GroupRoleMembersReply GroupTitlesRequest GroupTitlesReply GroupNoticesListRequest
        GroupNoticesListReply GroupAccountSummaryRequest GroupAccountSummaryReply GroupAccountDetailsRequest
        GroupAccountDetailsReply GroupAccountTransactionsRequest GroupAccountTransactionsReply
        GroupActiveProposalsRequest GroupActiveProposalItemReply GroupVoteHistoryRequest
        GroupVoteHistoryItemReply;
    effects:
        ViewerEffect SoundTrigger GenericStreamingMessage ObjectGrab ObjectGrabUpdate ObjectDeGrab GenericMessage;
}
