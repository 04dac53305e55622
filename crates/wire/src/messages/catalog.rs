//! Every message of the protocol by name and number, those included that have no struct here.
//!
//! For tables and counters that must name every message that arrives. Layouts are in [`SCHEMA`](super::SCHEMA), which holds the
//! messages that the server or its bots read or write. The numbers are facts of the protocol; a test compares them with the
//! message template where that is at hand.

use super::MessageNumber;

macro_rules! catalog {
    ($($trust:ident $frequency:ident: $($Message:ident $number:literal)*;)*) => {
        /// A message of the protocol.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum MessageName {
            $($(
                #[doc = concat!(stringify!($frequency), " ", stringify!($number), ".")]
                $Message,
            )*)*
        }

        impl MessageName {
            /// Every message, in the order of the enumeration: `ALL[name as usize] == name`.
            pub const ALL: &[Self] = &[$($( Self::$Message, )*)*];

            /// The message with this number, if the protocol has one.
            #[must_use]
            pub const fn of(number: MessageNumber) -> Option<Self> {
                match number {
                    $($( MessageNumber::$frequency($number) => Some(Self::$Message), )*)*
                    _ => None,
                }
            }

            /// As the message template writes it: `AgentUpdate`.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self {
                    $($( Self::$Message => stringify!($Message), )*)*
                }
            }

            /// The message number at the head of the body.
            #[must_use]
            pub const fn number(self) -> MessageNumber {
                match self {
                    $($( Self::$Message => MessageNumber::$frequency($number), )*)*
                }
            }

            /// True if only simulators may send it ("trusted" in the template). Some untrusted messages, too, are sent by simulators
            /// only.
            #[must_use]
            pub const fn is_trusted(self) -> bool {
                match self {
                    $($( Self::$Message => catalog!(@is_trusted $trust), )*)*
                }
            }
        }
    };
    (@is_trusted trusted) => { true };
    (@is_trusted untrusted) => { false };
}

catalog! {
    untrusted Fixed:
        PacketAck 0xFB OpenCircuit 0xFC CloseCircuit 0xFD;
    untrusted High:
        StartPingCheck 1 CompletePingCheck 2 AgentUpdate 4 AgentAnimation 5 AgentRequestSit 6 AgentSit 7
        RequestImage 8 TransferPacket 17 SendXferPacket 18 ConfirmXferPacket 19 SoundTrigger 29
        GameControlInput 32;
    untrusted Medium:
        ObjectAdd 1 MultipleObjectUpdate 2 RequestMultipleObjects 3 ObjectPosition 4
        RequestObjectPropertiesFamily 5 ParcelPropertiesRequest 11 ViewerEffect 17;
    untrusted Low:
        TestMessage 1 UseCircuitCode 3 EconomyDataRequest 24 AvatarPickerRequest 26 PlacesQuery 29
        DirFindQuery 31 DirPlacesQuery 33 DirClassifiedQuery 39 ClassifiedInfoRequest 43
        ClassifiedInfoUpdate 45 ClassifiedDelete 46 ClassifiedGodDelete 47 DirLandQuery 48 DirPopularQuery 51
        ParcelInfoRequest 54 ParcelObjectOwnersRequest 56 GroupNoticesListRequest 58 GroupNoticeRequest 60
        TeleportRequest 62 TeleportLocationRequest 63 TeleportLandmarkRequest 65 StartLure 70
        TeleportLureRequest 71 TeleportCancel 72 Undo 75 Redo 76 UndoLand 77 AgentPause 78 AgentResume 79
        ChatFromViewer 80 AgentThrottle 81 AgentFOV 82 AgentHeightWidth 83 AgentSetAppearance 84
        AgentQuitCopy 85 SetAlwaysRun 88 ObjectDelete 89 ObjectDuplicate 90 ObjectDuplicateOnRay 91
        ObjectScale 92 ObjectRotation 93 ObjectFlagUpdate 94 ObjectClickAction 95 ObjectImage 96
        ObjectMaterial 97 ObjectShape 98 ObjectExtraParams 99 ObjectOwner 100 ObjectGroup 101 ObjectBuy 102
        BuyObjectInventory 103 ObjectPermissions 105 ObjectSaleInfo 106 ObjectName 107 ObjectDescription 108
        ObjectCategory 109 ObjectSelect 110 ObjectDeselect 111 ObjectAttach 112 ObjectDetach 113
        ObjectDrop 114 ObjectLink 115 ObjectDelink 116 ObjectGrab 117 ObjectGrabUpdate 118 ObjectDeGrab 119
        ObjectSpinStart 120 ObjectSpinUpdate 121 ObjectSpinStop 122 ObjectExportSelected 123 ModifyLand 124
        VelocityInterpolateOn 125 VelocityInterpolateOff 126 StateSave 127 ReportAutosaveCrash 128
        SimWideDeletes 129 TrackAgent 130 ViewerStats 131 ScriptAnswerYes 132 UserReport 133
        RequestRegionInfo 141 RegionInfo 142 GodUpdateRegionInfo 143 RegionHandshakeReply 149
        TransferRequest 153 TransferInfo 154 TransferAbort 155 RequestXfer 156 AbortXfer 157
        RequestPayPrice 161 GodKickUser 165 EjectUser 167 FreezeUser 168 AvatarPropertiesRequest 169
        AvatarPropertiesUpdate 174 AvatarInterestsUpdate 175 AvatarNotesUpdate 177 EventInfoRequest 179
        EventNotificationAddRequest 181 EventNotificationRemoveRequest 182 EventGodDelete 183
        PickInfoUpdate 185 PickDelete 186 PickGodDelete 187 ScriptDialogReply 191
        ForceScriptControlRelease 192 RevokePermissions 193 ParcelPropertiesRequestByID 197
        ParcelPropertiesUpdate 198 ParcelReturnObjects 199 ParcelSetOtherCleanTime 200
        ParcelDisableObjects 201 ParcelSelectObjects 202 EstateCovenantRequest 203 ParcelBuyPass 206
        ParcelDeedToGroup 207 ParcelReclaim 208 ParcelClaim 209 ParcelJoin 210 ParcelDivide 211
        ParcelRelease 212 ParcelBuy 213 ParcelGodForceOwner 214 ParcelAccessListRequest 215
        ParcelAccessListUpdate 217 ParcelDwellRequest 218 ParcelGodMarkAsContent 227 ViewerStartAuction 228
        UUIDNameRequest 235 UUIDGroupNameRequest 237 GetScriptRunning 243 ScriptRunningReply 244
        SetScriptRunning 245 ScriptReset 246 CompleteAgentMovement 249 AgentMovementComplete 250
        LogoutRequest 252 ImprovedInstantMessage 254 RetrieveInstantMessages 255 FindAgent 256
        RequestGodlikePowers 257 GodlikeMessage 259 EstateOwnerMessage 260 GenericMessage 261
        MuteListRequest 262 UpdateMuteListEntry 263 RemoveMuteListEntry 264 CopyInventoryFromNotecard 265
        UpdateInventoryItem 266 MoveInventoryItem 268 CopyInventoryItem 269 RemoveInventoryItem 270
        ChangeInventoryItemFlags 271 CreateInventoryFolder 273 UpdateInventoryFolder 274
        MoveInventoryFolder 275 RemoveInventoryFolder 276 FetchInventoryDescendents 277 FetchInventory 279
        RemoveInventoryObjects 284 PurgeInventoryDescendents 285 UpdateTaskInventory 286
        RemoveTaskInventory 287 MoveTaskInventory 288 RequestTaskInventory 289 DeRezObject 291 RezObject 293
        RezObjectFromNotecard 294 AcceptFriendship 297 DeclineFriendship 298 TerminateFriendship 300
        OfferCallingCard 301 AcceptCallingCard 302 DeclineCallingCard 303 RezScript 304
        CreateInventoryItem 305 CreateLandmarkForEvent 306 RegionHandleRequest 309 MoneyTransferRequest 311
        MoneyBalanceRequest 313 ActivateGestures 316 DeactivateGestures 317 UseCachedMuteList 319
        GrantUserRights 320 SetStartLocationRequest 324 NetTest 326 SetCPURatio 327 SimCrashed 328
        RemoveAttachment 332 AssetUploadRequest 333 AssetUploadComplete 334 CreateGroupRequest 339
        UpdateGroupInfo 341 GroupRoleChanges 342 JoinGroupRequest 343 EjectGroupMemberRequest 345
        LeaveGroupRequest 347 InviteGroupRequest 349 GroupProfileRequest 351 GroupAccountSummaryRequest 353
        GroupAccountDetailsRequest 355 GroupAccountTransactionsRequest 357 GroupActiveProposalsRequest 359
        GroupVoteHistoryRequest 361 StartGroupProposal 363 GroupProposalBallot 364 GroupMembersRequest 366
        ActivateGroup 368 SetGroupContribution 369 SetGroupAcceptNotices 370 GroupRoleDataRequest 371
        GroupRoleMembersRequest 373 GroupTitlesRequest 375 GroupTitleUpdate 377 GroupRoleUpdate 378
        AgentWearablesRequest 381 AgentIsNowWearing 383 AgentCachedTexture 384 AgentDataUpdateRequest 386
        CreateTrustedCircuit 392 DenyTrustedCircuit 393 RezSingleAttachmentFromInv 395
        RezMultipleAttachmentsFromInv 396 DetachAttachmentIntoInv 397 CreateNewOutfitAttachments 398
        UserInfoRequest 399 UserInfoReply 400 UpdateUserInfo 401 InitiateDownload 403 MapLayerRequest 405
        MapBlockRequest 407 MapNameRequest 408 MapItemRequest 410 SendPostcard 412 RpcScriptRequestInbound 415
        RpcScriptReplyInbound 417 LandStatRequest 421 Error 423 ObjectIncludeInSearch 424
        RezRestoreToWorld 425 LinkInventoryItem 426 LargeGenericMessage 430 ObjectBypassModUpdate 431;
    trusted High:
        NeighborList 3 ImageData 9 ImagePacket 10 LayerData 11 ObjectUpdate 12 ObjectUpdateCompressed 13
        ObjectUpdateCached 14 ImprovedTerseObjectUpdate 15 KillObject 16 AvatarAnimation 20
        AvatarSitResponse 21 CameraConstraint 22 ParcelProperties 23 EdgeDataPacket 24 ChildAgentUpdate 25
        ChildAgentAlive 26 ChildAgentPositionUpdate 27 AtomicPassObject 28 ObjectAnimation 30
        GenericStreamingMessage 31;
    trusted Medium:
        CoarseLocationUpdate 6 CrossedRegion 7 ConfirmEnableSimulator 8 ObjectProperties 9
        ObjectPropertiesFamily 10 SimStatus 12 AttachedSound 13 AttachedSoundGainChange 14 PreloadSound 15
        InternalScriptMail 16;
    trusted Low:
        AddCircuitCode 2 AvatarTextureUpdate 4 SimulatorMapUpdate 5 SimulatorSetMap 6 SubscribeLoad 7
        UnsubscribeLoad 8 SimulatorReady 9 TelehubInfo 10 SimulatorPresentAtLocation 11 SimulatorLoad 12
        SimulatorShutdownRequest 13 RegionPresenceRequestByRegionID 14 RegionPresenceRequestByHandle 15
        RegionPresenceResponse 16 UpdateSimulator 17 LogDwellTime 18 FeatureDisabled 19
        LogFailedMoneyTransaction 20 UserReportInternal 21 SetSimStatusInDatabase 22
        SetSimPresenceInDatabase 23 EconomyData 25 AvatarPickerRequestBackend 27 AvatarPickerReply 28
        PlacesReply 30 DirFindQueryBackend 32 DirPlacesQueryBackend 34 DirPlacesReply 35 DirPeopleReply 36
        DirEventsReply 37 DirGroupsReply 38 DirClassifiedQueryBackend 40 DirClassifiedReply 41
        AvatarClassifiedReply 42 ClassifiedInfoReply 44 DirLandQueryBackend 49 DirLandReply 50
        DirPopularQueryBackend 52 DirPopularReply 53 ParcelInfoReply 55 ParcelObjectOwnersReply 57
        GroupNoticesListReply 59 GroupNoticeAdd 61 TeleportLocal 64 TeleportProgress 66
        DataHomeLocationRequest 67 DataHomeLocationReply 68 TeleportFinish 69 TeleportStart 73
        TeleportFailed 74 ImageNotInDatabase 86 RebakeAvatarTextures 87 DerezContainer 104 AlertMessage 134
        AgentAlertMessage 135 MeanCollisionAlert 136 ViewerFrozenMessage 137 HealthMessage 138
        ChatFromSimulator 139 SimStats 140 NearestLandingRegionRequest 144 NearestLandingRegionReply 145
        NearestLandingRegionUpdated 146 TeleportLandingStatusChanged 147 RegionHandshake 148
        SimulatorViewerTimeMessage 150 EnableSimulator 151 DisableSimulator 152 AvatarAppearance 158
        SetFollowCamProperties 159 ClearFollowCamProperties 160 PayPriceReply 162 KickUser 163 KickUserAck 164
        SystemKickUser 166 AvatarPropertiesRequestBackend 170 AvatarPropertiesReply 171
        AvatarInterestsReply 172 AvatarGroupsReply 173 AvatarNotesReply 176 AvatarPicksReply 178
        EventInfoReply 180 PickInfoReply 184 ScriptQuestion 188 ScriptControlChange 189 ScriptDialog 190
        LoadURL 194 ScriptTeleportRequest 195 ParcelOverlay 196 EstateCovenantReply 204 ForceObjectSelect 205
        ParcelAccessListReply 216 ParcelDwellReply 219 RequestParcelTransfer 220 UpdateParcel 221
        RemoveParcel 222 MergeParcel 223 LogParcelChanges 224 CheckParcelSales 225 ParcelSales 226
        StartAuction 229 ConfirmAuctionStart 230 CompleteAuction 231 CancelAuction 232 CheckParcelAuctions 233
        ParcelAuctions 234 UUIDNameReply 236 UUIDGroupNameReply 238 ChatPass 239 ChildAgentDying 240
        ChildAgentUnknown 241 KillChildAgents 242 ScriptSensorRequest 247 ScriptSensorReply 248
        DataServerLogout 251 LogoutReply 253 GrantGodlikePowers 258 UpdateCreateInventoryItem 267
        SaveAssetIntoInventory 272 InventoryDescendents 278 FetchInventoryReply 280 BulkUpdateInventory 281
        RequestInventoryAsset 282 InventoryAssetResponse 283 ReplyTaskInventory 290 DeRezAck 292
        TransferInventory 295 TransferInventoryAck 296 FormFriendship 299 EventLocationRequest 307
        EventLocationReply 308 RegionIDAndHandleReply 310 MoneyTransferBackend 312 MoneyBalanceReply 314
        RoutedMoneyBalanceReply 315 MuteListUpdate 318 ChangeUserRights 321 OnlineNotification 322
        OfflineNotification 323 SetStartLocation 325 NameValuePair 329 RemoveNameValuePair 330
        UpdateAttachment 331 EmailMessageRequest 335 EmailMessageReply 336 ScriptDataRequest 337
        ScriptDataReply 338 CreateGroupReply 340 JoinGroupReply 344 EjectGroupMemberReply 346
        LeaveGroupReply 348 InviteGroupResponse 350 GroupProfileReply 352 GroupAccountSummaryReply 354
        GroupAccountDetailsReply 356 GroupAccountTransactionsReply 358 GroupActiveProposalItemReply 360
        GroupVoteHistoryItemReply 362 TallyVotes 365 GroupMembersReply 367 GroupRoleDataReply 372
        GroupRoleMembersReply 374 GroupTitlesReply 376 LiveHelpGroupRequest 379 LiveHelpGroupReply 380
        AgentWearablesUpdate 382 AgentCachedTextureResponse 385 AgentDataUpdate 387 GroupDataUpdate 388
        AgentGroupDataUpdate 389 AgentDropGroup 390 LogTextMessage 391 RequestTrustedCircuit 394
        ParcelRename 402 SystemMessage 404 MapLayerReply 406 MapBlockReply 409 MapItemReply 411
        RpcChannelRequest 413 RpcChannelReply 414 RpcScriptRequestInboundForward 416
        ScriptMailRegistration 418 ParcelMediaCommandMessage 419 ParcelMediaUpdate 420 LandStatReply 422
        RetrieveIMsExtended 427 JoinGroupRequestExtended 428 CreateGroupRequestExtended 429;
}
