//! The table of messages that clients may send: each with its outcome, its handler and a sentence on it.
//!
//! `shard/dispatch.rs` expands it to the `match` that handles messages, [`super::MESSAGES`] holds it as data, and
//! `docs/protocol-coverage.md` is printed from that. A row reads `Message: OUTCOME handler "what happens";`, where OUTCOME is
//!
//! | word | handler | meaning |
//! |---|---|---|
//! | `done` | a method of `Shard` | carried out, and answered where the protocol has an answer |
//! | `circuit` | | done by the circuit, before messages are dispatched |
//! | `refused` | a method of `Shard` | answered with the protocol's negative reply |
//! | `missing` | a [`Feature`](super::Feature) | refused; the protocol has no reply, so that an AlertMessage names the feature |
//! | `ignored` | | no client waits for anything; the sentence says why nothing happens |
//! | `simulator` | | only simulators send it: dropped, and counted as `not_for_clients` |

/// Expands `$callback! { ($context) area { rows } … }` with the rows of the table.
macro_rules! message_table {
    ($callback:ident! ($($context:tt)*)) => {
        $callback! {
            ($($context)*)
            "Circuit, arrival and leaving" {
                PacketAck: circuit "Acknowledged datagrams are not resent.";
                StartPingCheck: circuit "CompletePingCheck.";
                CompletePingCheck: circuit "Gives the round-trip time.";
                OpenCircuit: ignored "Circuits are opened by UseCircuitCode.";
                CloseCircuit: done on_close_circuit "The circuit ends without a LogoutReply, as for a client that changes regions.";
                UseCircuitCode: ignored "A repetition: the first one has opened the circuit.";
                CompleteAgentMovement: done on_complete_agent_movement "RegionHandshake; AgentMovementComplete once the avatar stands in the world.";
                RegionHandshakeReply: done on_handshake_reply "Terrain and objects follow.";
                AgentThrottle: done on_throttle "Limits the bytes per second that the client is sent.";
                AgentPause: done on_pause "The circuit waits longer for signs of life, until AgentResume.";
                AgentResume: done on_resume "Ends AgentPause.";
                LogoutRequest: done on_logout "LogoutReply.";
                AgentQuitCopy: ignored "Viewers with two copies of one session no longer exist.";
                RequestRegionInfo: done on_region_info "RegionInfo.";
                ViewerStats: ignored "Statistics of the viewer; nothing is kept.";
                NetTest: ignored "A test between simulators' hosts.";
                SimCrashed: ignored "Reports of the viewer's old crash logger; nothing is kept.";
                ReportAutosaveCrash: ignored "Likewise.";
                TestMessage: ignored "Has no meaning.";
                Error: ignored "A client's complaint; nothing follows.";
                CreateTrustedCircuit: simulator "Between simulators.";
                DenyTrustedCircuit: simulator "Between simulators.";
                AgentMovementComplete: simulator "Completes an arrival.";
                RegionInfo: simulator "Answers RequestRegionInfo.";
            }
            "Movement and avatar" {
                AgentUpdate: update "Moves the avatar; the camera decides what is shown.";
                SetAlwaysRun: done on_always_run "Walking becomes running.";
                AgentAnimation: done on_animation "Animations start and stop.";
                AgentRequestSit: missing Sitting "Avatars sit on the ground only.";
                AgentSit: ignored "Completes AgentRequestSit, which is refused.";
                AgentHeightWidth: ignored "The size of the window.";
                AgentFOV: ignored "The angle of the camera; what is shown does not depend on it.";
                VelocityInterpolateOn: ignored "A setting of the viewer alone.";
                VelocityInterpolateOff: ignored "A setting of the viewer alone.";
                GameControlInput: ignored "Game controllers drive scripts, which do not exist.";
                ViewerEffect: ignored "Pointing and looking are not passed on.";
                AgentWearablesRequest: done on_wearables "AgentWearablesUpdate.";
                AgentIsNowWearing: ignored "What is worn is read from the inventory at login.";
                AgentSetAppearance: done on_appearance "AvatarAppearance to clients near by.";
                AgentCachedTexture: done on_cached_textures "AgentCachedTextureResponse: each texture is to be baked again.";
                ActivateGestures: ignored "Gestures are played by the client.";
                DeactivateGestures: ignored "Gestures are played by the client.";
                RezSingleAttachmentFromInv: missing Attachments "Attachments do not exist.";
                RezMultipleAttachmentsFromInv: missing Attachments "Likewise.";
                CreateNewOutfitAttachments: missing Attachments "Likewise.";
                DetachAttachmentIntoInv: missing Attachments "Likewise.";
                RemoveAttachment: missing Attachments "Likewise.";
                ObjectAttach: missing Attachments "Likewise.";
                ObjectDetach: missing Attachments "Likewise.";
                ObjectDrop: missing Attachments "Likewise.";
            }
            "Chat and messages" {
                ChatFromViewer: done on_chat "ChatFromSimulator to avatars in range.";
                ImprovedInstantMessage: done on_instant_message "Passed on to the user; a text to a user who is not online is answered.";
                RetrieveInstantMessages: ignored "Messages to users who are not online are not kept, so that there are none.";
                MuteListRequest: done on_mute_list "UseCachedMuteList.";
                UpdateMuteListEntry: missing MuteList "The viewer keeps the entry until it ends.";
                RemoveMuteListEntry: missing MuteList "Likewise.";
                UseCachedMuteList: simulator "Answers MuteListRequest.";
                GenericMessage: ignored "No method is known.";
                LargeGenericMessage: simulator "Carries long generic messages to viewers.";
            }
            "Names, profiles and friends" {
                UUIDNameRequest: names "UUIDNameReply for every id.";
                UUIDGroupNameRequest: done on_group_names "UUIDGroupNameReply: Unknown, since there are no groups.";
                AgentDataUpdateRequest: done on_agent_data "AgentDataUpdate.";
                AvatarPropertiesRequest: done on_avatar_properties "AvatarPropertiesReply.";
                AvatarPropertiesUpdate: missing Profiles "Profiles cannot be changed.";
                AvatarInterestsUpdate: missing Profiles "Likewise.";
                AvatarNotesUpdate: missing Profiles "Likewise.";
                PickInfoUpdate: missing Profiles "Likewise.";
                PickDelete: missing Profiles "Likewise.";
                PickGodDelete: missing Profiles "Likewise.";
                UserInfoRequest: missing Profiles "Settings of e-mail and the directory do not exist.";
                UpdateUserInfo: missing Profiles "Likewise.";
                UserInfoReply: simulator "Answers UserInfoRequest.";
                FindAgent: missing Friends "Friends do not exist.";
                TrackAgent: missing Friends "Likewise.";
                AcceptFriendship: missing Friends "Likewise.";
                DeclineFriendship: missing Friends "Likewise.";
                TerminateFriendship: missing Friends "Likewise.";
                GrantUserRights: missing Friends "Likewise.";
                OfferCallingCard: missing Friends "Calling cards do not exist.";
                AcceptCallingCard: missing Friends "Likewise.";
                DeclineCallingCard: missing Friends "Likewise.";
            }
            "Teleports and the map" {
                TeleportLocationRequest: done on_teleport_location "TeleportFinish, TeleportLocal or TeleportFailed.";
                TeleportRequest: done on_teleport_region "Likewise.";
                TeleportLandmarkRequest: done on_teleport_landmark "Likewise, for the null landmark, which is home.";
                TeleportLureRequest: done on_teleport_lure "Likewise.";
                TeleportCancel: done on_teleport_cancel "The avatar stays.";
                StartLure: done on_lure "An invitation to each user.";
                SetStartLocationRequest: done on_set_home "The place becomes home.";
                MapLayerRequest: missing Map "The map has no layers.";
                MapBlockRequest: done on_map_blocks "MapBlockReply.";
                MapNameRequest: done on_map_name "MapBlockReply.";
                MapItemRequest: done on_map_items "MapItemReply.";
                RegionHandleRequest: missing Map "Regions are found by name.";
            }
            "Search" {
                AvatarPickerRequest: missing Search "The capability AvatarPickerSearch finds people.";
                DirFindQuery: missing Search "The directory is empty.";
                DirPlacesQuery: missing Search "Likewise.";
                DirClassifiedQuery: missing Search "Likewise.";
                DirLandQuery: missing Search "Likewise.";
                DirPopularQuery: missing Search "Likewise.";
                PlacesQuery: missing Search "Likewise.";
                ClassifiedInfoRequest: missing Search "Classifieds do not exist.";
                ClassifiedInfoUpdate: missing Search "Likewise.";
                ClassifiedDelete: missing Search "Likewise.";
                ClassifiedGodDelete: missing Search "Likewise.";
                EventInfoRequest: missing Search "Events do not exist.";
                EventNotificationAddRequest: missing Search "Likewise.";
                EventNotificationRemoveRequest: missing Search "Likewise.";
                EventGodDelete: missing Search "Likewise.";
                CreateLandmarkForEvent: missing Search "Likewise.";
            }
            "Objects" {
                RequestMultipleObjects: done on_request_objects "ObjectUpdate of those that exist, KillObject for the others.";
                ObjectSelect: ignored "Objects have no properties yet.";
                ObjectDeselect: ignored "Nothing depends on what is selected.";
                RequestObjectPropertiesFamily: missing Building "Objects have no properties yet.";
                ObjectAdd: missing Building "Objects cannot be made or changed.";
                ObjectDelete: missing Building "Likewise.";
                ObjectDuplicate: missing Building "Likewise.";
                ObjectDuplicateOnRay: missing Building "Likewise.";
                MultipleObjectUpdate: missing Building "Likewise.";
                ObjectPosition: missing Building "Likewise.";
                ObjectScale: missing Building "Likewise.";
                ObjectRotation: missing Building "Likewise.";
                ObjectFlagUpdate: missing Building "Likewise.";
                ObjectClickAction: missing Building "Likewise.";
                ObjectImage: missing Building "Likewise.";
                ObjectBypassModUpdate: missing Building "Likewise.";
                ObjectMaterial: missing Building "Likewise.";
                ObjectShape: missing Building "Likewise.";
                ObjectExtraParams: missing Building "Likewise.";
                ObjectOwner: missing Building "Likewise.";
                ObjectGroup: missing Building "Likewise.";
                ObjectPermissions: missing Building "Likewise.";
                ObjectName: missing Building "Likewise.";
                ObjectDescription: missing Building "Likewise.";
                ObjectCategory: missing Building "Likewise.";
                ObjectSaleInfo: missing Building "Likewise.";
                ObjectIncludeInSearch: missing Building "Likewise.";
                ObjectLink: missing Building "Likewise.";
                ObjectDelink: missing Building "Likewise.";
                ObjectSpinStart: missing Building "Likewise.";
                ObjectSpinUpdate: missing Building "Likewise.";
                ObjectSpinStop: missing Building "Likewise.";
                ObjectExportSelected: missing Building "Likewise.";
                Undo: missing Building "There is nothing to undo.";
                Redo: missing Building "Likewise.";
                ObjectGrab: ignored "Touches reach scripts, which do not exist.";
                ObjectGrabUpdate: ignored "Likewise.";
                ObjectDeGrab: ignored "Likewise.";
                ObjectBuy: missing Money "Objects are not for sale.";
                BuyObjectInventory: missing Money "Likewise.";
                DeRezObject: missing Building "Objects cannot be taken.";
                RezObject: missing Building "Objects cannot be rezzed.";
                RezObjectFromNotecard: missing Building "Likewise.";
                RezRestoreToWorld: missing Building "Likewise.";
                SoundTrigger: ignored "Sounds are not passed on.";
            }
            "Contents of objects, and scripts" {
                RequestTaskInventory: missing Scripts "Objects have no contents.";
                UpdateTaskInventory: missing Scripts "Likewise.";
                RemoveTaskInventory: missing Scripts "Likewise.";
                MoveTaskInventory: missing Scripts "Likewise.";
                RezScript: missing Scripts "Scripts do not exist.";
                GetScriptRunning: missing Scripts "Likewise.";
                SetScriptRunning: missing Scripts "Likewise.";
                ScriptReset: missing Scripts "Likewise.";
                ScriptDialogReply: ignored "Answers a dialog, and no object opens one.";
                ScriptAnswerYes: ignored "Answers a question, and no object asks one.";
                RevokePermissions: ignored "No script has any.";
                ForceScriptControlRelease: ignored "No script has taken any controls.";
                ScriptRunningReply: simulator "Answers GetScriptRunning.";
                RpcScriptRequestInbound: simulator "From programs outside, through a server of the grid.";
                RpcScriptReplyInbound: simulator "Likewise.";
            }
            "Inventory" {
                FetchInventory: missing Inventory "The capability FetchInventory2 serves items.";
                FetchInventoryDescendents: missing Inventory "The capability FetchInventoryDescendents2 serves folders.";
                CreateInventoryItem: missing Inventory "The inventory is read-only.";
                UpdateInventoryItem: missing Inventory "Likewise.";
                MoveInventoryItem: missing Inventory "Likewise.";
                CopyInventoryItem: missing Inventory "Likewise.";
                LinkInventoryItem: missing Inventory "Likewise.";
                RemoveInventoryItem: missing Inventory "Likewise.";
                ChangeInventoryItemFlags: missing Inventory "Likewise.";
                CreateInventoryFolder: missing Inventory "Likewise.";
                UpdateInventoryFolder: missing Inventory "Likewise.";
                MoveInventoryFolder: missing Inventory "Likewise.";
                RemoveInventoryFolder: missing Inventory "Likewise.";
                RemoveInventoryObjects: missing Inventory "Likewise.";
                PurgeInventoryDescendents: missing Inventory "Likewise.";
                CopyInventoryFromNotecard: missing Inventory "Likewise.";
            }
            "Assets and files" {
                RequestImage: missing Assets "The capabilities GetTexture and ViewerAsset serve textures.";
                TransferRequest: missing Assets "The capability ViewerAsset serves assets.";
                TransferAbort: ignored "No transfer is under way.";
                TransferInfo: simulator "Answers TransferRequest.";
                TransferPacket: simulator "Likewise.";
                RequestXfer: missing Assets "There are no files.";
                SendXferPacket: ignored "No file was asked for.";
                ConfirmXferPacket: ignored "No file was sent.";
                AbortXfer: ignored "No file is under way.";
                AssetUploadRequest: missing Uploads "Nothing can be uploaded.";
                AssetUploadComplete: simulator "Answers AssetUploadRequest.";
                InitiateDownload: simulator "Offers a file to the viewer.";
            }
            "Land" {
                ParcelPropertiesRequest: done on_parcel_properties "ParcelProperties in the event queue.";
                ParcelPropertiesRequestByID: missing Land "The region is one parcel.";
                ParcelInfoRequest: missing Land "Parcels are described by ParcelPropertiesRequest.";
                ParcelDwellRequest: done on_parcel_dwell "ParcelDwellReply: 0.";
                ParcelAccessListRequest: done on_parcel_access_list "ParcelAccessListReply: nobody.";
                ParcelAccessListUpdate: missing Land "Land cannot be changed.";
                ParcelPropertiesUpdate: missing Land "Likewise.";
                ParcelReturnObjects: missing Land "Likewise.";
                ParcelSetOtherCleanTime: missing Land "Likewise.";
                ParcelDisableObjects: missing Land "Likewise.";
                ParcelSelectObjects: missing Land "Likewise.";
                ParcelObjectOwnersRequest: missing Land "Objects have no owners.";
                ParcelBuyPass: missing Land "Land is not for sale.";
                ParcelBuy: missing Land "Likewise.";
                ParcelClaim: missing Land "Likewise.";
                ParcelReclaim: missing Land "Likewise.";
                ParcelRelease: missing Land "Likewise.";
                ParcelDeedToGroup: missing Land "Likewise.";
                ParcelJoin: missing Land "Land cannot be changed.";
                ParcelDivide: missing Land "Likewise.";
                ParcelGodForceOwner: missing Land "Likewise.";
                ParcelGodMarkAsContent: missing Land "Likewise.";
                ViewerStartAuction: missing Land "Likewise.";
                ModifyLand: missing Land "Likewise.";
                UndoLand: missing Land "Likewise.";
            }
            "Estate and administration" {
                EstateCovenantRequest: missing Estate "Estates have no covenant.";
                EstateOwnerMessage: missing Estate "Regions are configured by files.";
                LandStatRequest: missing Estate "Objects run no scripts and do not collide.";
                GodUpdateRegionInfo: missing Administration "Administrators use the command line and the operator's API.";
                RequestGodlikePowers: missing Administration "Likewise.";
                GodlikeMessage: missing Administration "Likewise.";
                GodKickUser: missing Administration "Likewise.";
                EjectUser: missing Administration "Likewise.";
                FreezeUser: missing Administration "Likewise.";
                SimWideDeletes: missing Administration "Likewise.";
                SetCPURatio: missing Administration "Likewise.";
                StateSave: missing Administration "Likewise.";
                UserReport: missing Reports "Reports are not taken.";
                SendPostcard: missing Reports "E-mail is not sent.";
            }
            "Money" {
                EconomyDataRequest: done on_economy_data "EconomyData: everything is free.";
                MoneyBalanceRequest: done on_money_balance "MoneyBalanceReply: 0.";
                MoneyTransferRequest: missing Money "There is no money.";
                RequestPayPrice: missing Money "Likewise.";
            }
            "Groups" {
                CreateGroupRequest: missing Groups "Groups do not exist.";
                UpdateGroupInfo: missing Groups "Likewise.";
                GroupRoleChanges: missing Groups "Likewise.";
                JoinGroupRequest: missing Groups "Likewise.";
                EjectGroupMemberRequest: missing Groups "Likewise.";
                LeaveGroupRequest: missing Groups "Likewise.";
                InviteGroupRequest: missing Groups "Likewise.";
                GroupProfileRequest: missing Groups "Likewise.";
                GroupAccountSummaryRequest: missing Groups "Likewise.";
                GroupAccountDetailsRequest: missing Groups "Likewise.";
                GroupAccountTransactionsRequest: missing Groups "Likewise.";
                GroupActiveProposalsRequest: missing Groups "Likewise.";
                GroupVoteHistoryRequest: missing Groups "Likewise.";
                StartGroupProposal: missing Groups "Likewise.";
                GroupProposalBallot: missing Groups "Likewise.";
                GroupMembersRequest: missing Groups "Likewise.";
                ActivateGroup: missing Groups "Likewise.";
                SetGroupContribution: missing Groups "Likewise.";
                SetGroupAcceptNotices: missing Groups "Likewise.";
                GroupRoleDataRequest: missing Groups "Likewise.";
                GroupRoleMembersRequest: missing Groups "Likewise.";
                GroupTitlesRequest: missing Groups "Likewise.";
                GroupTitleUpdate: missing Groups "Likewise.";
                GroupRoleUpdate: missing Groups "Likewise.";
                GroupNoticesListRequest: missing Groups "Likewise.";
                GroupNoticeRequest: missing Groups "Likewise.";
            }
        }
    };
}

pub(crate) use message_table;
