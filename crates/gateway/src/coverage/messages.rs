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
//! | `edit`, `edit_by_local_id` | a [`Feature`](super::Feature) | likewise, and the objects named in the message are sent again |
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
                ReportAutosaveCrash: ignored "Reports of the viewer's old crash logger; nothing is kept.";
                TestMessage: ignored "Has no meaning.";
                Error: ignored "A client's complaint; nothing follows.";
                CreateTrustedCircuit: simulator "Between simulators.";
                DenyTrustedCircuit: simulator "Between simulators.";
                AgentMovementComplete: simulator "Completes an arrival.";
                RegionInfo: simulator "Answers RequestRegionInfo.";
            }
            "Movement and avatar" {
                AgentUpdate: update "Moves the avatar; the camera decides on the visible avatars.";
                SetAlwaysRun: done on_always_run "Walking becomes running.";
                AgentAnimation: done on_animation "Animations start and stop.";
                AgentRequestSit: done on_request_sit "AvatarSitResponse: the avatar sits on the object, if it is within 10 m: on its sit target, a free one of its linkset, or its surface. An alert for an object that is farther away or unknown.";
                AgentSit: ignored "It confirms AvatarSitResponse, and the avatar sits already: AgentRequestSit seats it.";
                AgentHeightWidth: ignored "The size of the window.";
                AgentFOV: ignored "The angle of the camera; the visible set does not depend on it.";
                VelocityInterpolateOn: ignored "A setting of the viewer alone.";
                VelocityInterpolateOff: ignored "A setting of the viewer alone.";
                GameControlInput: ignored "Game controllers drive scripts, which do not exist.";
                ViewerEffect: done on_viewer_effect "ViewerEffect to clients near by.";
                AgentWearablesRequest: done on_wearables "AgentWearablesUpdate.";
                AgentIsNowWearing: done on_now_wearing "The outfit is kept with the account. At login it is read from the folder Current Outfit first.";
                AgentSetAppearance: done on_appearance "AvatarAppearance to clients near by. It is kept with the account, and shown from the next login on until the client sends another.";
                AgentCachedTexture: done on_cached_textures "AgentCachedTextureResponse: the texture of the kept appearance that was baked of the same, or a null one to be baked again.";
                ActivateGestures: done on_inventory_change "The items are marked as active; the login's reply lists them. An alert if it is refused.";
                DeactivateGestures: done on_inventory_change "The items are no longer marked as active. An alert if it is refused.";
                RezSingleAttachmentFromInv: done on_wear_item "The worn object, in place of those at its point or beside them; the item stays. An alert if it is refused, and in an instance.";
                RezMultipleAttachmentsFromInv: done on_wear_items "As RezSingleAttachmentFromInv for each; all else is taken off if the message says so.";
                CreateNewOutfitAttachments: missing Method "Viewers make outfits of links.";
                DetachAttachmentIntoInv: done on_take_off_item "As ObjectDetach, by the item. Without effect if it is not worn.";
                RemoveAttachment: done on_remove_attachment "As DetachAttachmentIntoInv.";
                ObjectAttach: done on_object_attach "The worn object, under other local ids, and UpdateCreateInventoryItem for the item that it becomes. An alert if it is refused.";
                ObjectDetach: done on_object_detach "The object is gone, and its item has its last state: UpdateCreateInventoryItem.";
                ObjectDrop: done on_object_drop "The object on the ground, under other local ids; its item is gone: RemoveInventoryItem.";
            }
            "Chat and messages" {
                ChatFromViewer: done on_chat "ChatFromSimulator to avatars in range.";
                ImprovedInstantMessage: done on_instant_message "Passed on to the user; a text or a teleport request to an offline user is answered. Offered items and folders are given: BulkUpdateInventory and the offer for the receiver, now or at the next arrival, and the answer for the giver. Group sessions and offers of friendship are refused, and dialogs that answer such are ignored.";
                RetrieveInstantMessages: ignored "Messages to offline users are not kept, so that there are none; offers of items that wait are sent unasked.";
                MuteListRequest: done on_mute_list "UseCachedMuteList.";
                UpdateMuteListEntry: missing MuteList "The viewer keeps the entry until it ends.";
                RemoveMuteListEntry: missing MuteList "The viewer keeps the entry until it ends.";
                UseCachedMuteList: simulator "Answers MuteListRequest.";
                GenericMessage: done on_generic "Picks, notes and classifieds of a profile: empty replies. An alert for all other methods.";
                LargeGenericMessage: simulator "Carries long generic messages to viewers.";
            }
            "Names, profiles and friends" {
                UUIDNameRequest: names "UUIDNameReply for every id.";
                UUIDGroupNameRequest: done on_group_names "UUIDGroupNameReply: Unknown, since there are no groups.";
                AgentDataUpdateRequest: done on_agent_data "AgentDataUpdate.";
                AvatarPropertiesRequest: done on_avatar_properties "AvatarPropertiesReply with the day on which the account was made, AvatarInterestsReply and AvatarGroupsReply; empty ones for an unknown account.";
                AvatarPropertiesUpdate: missing Profiles "Profiles cannot be changed.";
                AvatarInterestsUpdate: missing Profiles "Profiles cannot be changed.";
                AvatarNotesUpdate: missing Profiles "Profiles cannot be changed.";
                PickInfoUpdate: missing Profiles "Profiles cannot be changed.";
                PickDelete: missing Profiles "Profiles cannot be changed.";
                PickGodDelete: missing Profiles "Profiles cannot be changed.";
                UserInfoRequest: done on_user_info "UserInfoReply.";
                UpdateUserInfo: missing Profiles "Settings cannot be changed.";
                UserInfoReply: simulator "Answers UserInfoRequest.";
                FindAgent: refused on_find_agent "FindAgent without a place: friends do not exist.";
                TrackAgent: missing Friends "Friends do not exist.";
                AcceptFriendship: missing Friends "Friends do not exist.";
                DeclineFriendship: missing Friends "Friends do not exist.";
                TerminateFriendship: missing Friends "Friends do not exist.";
                GrantUserRights: missing Friends "Friends do not exist.";
                OfferCallingCard: done on_inventory_change "A card of the user for the receiver: BulkUpdateInventory and OfferCallingCard, now or at the next arrival. An alert if it is refused.";
                AcceptCallingCard: done on_inventory_change "The card moves to the folder that the client names, and its giver gets the message.";
                DeclineCallingCard: done on_inventory_change "The card moves into the trash, and its giver gets the message.";
            }
            "Teleports and the map" {
                TeleportLocationRequest: done on_teleport_location "TeleportFinish, TeleportLocal or TeleportFailed.";
                TeleportRequest: done on_teleport_region "TeleportFinish, TeleportLocal or TeleportFailed.";
                TeleportLandmarkRequest: done on_teleport_landmark "As TeleportLocationRequest, to the place of the landmark, or home for the null landmark; TeleportFailed if there is no such landmark or region.";
                TeleportLureRequest: done on_teleport_lure "TeleportFinish, TeleportLocal or TeleportFailed.";
                TeleportCancel: done on_teleport_cancel "TeleportFailed: the avatar stays. An alert if no teleport can be cancelled.";
                StartLure: done on_lure "An invitation to each user; an ImprovedInstantMessage about each that is not online.";
                SetStartLocationRequest: done on_set_home "The place becomes home, and an alert says so.";
                MapLayerRequest: done on_map_layer "MapLayerReply: a layer for each region, its picture.";
                MapBlockRequest: done on_map_blocks "MapBlockReply with pictures; a single square without a region is a row with Access 255.";
                MapNameRequest: done on_map_name "MapBlockReply.";
                MapItemRequest: done on_map_items "MapItemReply; a region without avatars is one row with count 0.";
                RegionHandleRequest: done on_region_handle "RegionIDAndHandleReply; handle 0 for an unknown region.";
            }
            "Search" {
                AvatarPickerRequest: done on_picker "AvatarPickerReply: accounts by the beginnings of their names, at most 100.";
                DirFindQuery: done on_find "DirPeopleReply: accounts by the beginnings of their names, 100 a page. DirEventsReply or DirGroupsReply without rows.";
                DirPlacesQuery: refused on_find_places "DirPlacesReply without rows.";
                DirClassifiedQuery: refused on_find_classifieds "DirClassifiedReply without rows.";
                DirLandQuery: refused on_find_land "DirLandReply in the event queue, without rows.";
                DirPopularQuery: refused on_find_popular "DirPopularReply without rows.";
                PlacesQuery: refused on_places "PlacesReply in the event queue, without rows.";
                ClassifiedInfoRequest: missing Search "Classifieds do not exist.";
                ClassifiedInfoUpdate: missing Search "Classifieds do not exist.";
                ClassifiedDelete: missing Search "Classifieds do not exist.";
                ClassifiedGodDelete: missing Search "Classifieds do not exist.";
                EventInfoRequest: missing Search "Events do not exist.";
                EventNotificationAddRequest: missing Search "Events do not exist.";
                EventNotificationRemoveRequest: missing Search "Events do not exist.";
                EventGodDelete: missing Search "Events do not exist.";
                CreateLandmarkForEvent: missing Search "Events do not exist.";
            }
            "Objects" {
                RequestMultipleObjects: done on_request_objects "ObjectUpdate of those that exist, KillObject for the others.";
                ObjectSelect: done on_object_select "ObjectProperties, and ObjectPhysicsProperties in the event queue; KillObject for objects that do not exist.";
                ObjectDeselect: done on_object_deselect "No further ObjectPhysicsProperties of the objects.";
                RequestObjectPropertiesFamily: done on_properties_family "ObjectPropertiesFamily; an alert for an object that does not exist.";
                ObjectAdd: done on_object_add "The prim; ObjectProperties to its maker, whose client selects it.";
                ObjectDelete: done on_object_delete "KillObject, once the world has removed it.";
                ObjectDuplicate: done on_object_duplicate "The copies.";
                ObjectDuplicateOnRay: done on_object_duplicate_on_ray "The copies.";
                MultipleObjectUpdate: done on_multiple_object_update "The object in its new place.";
                ObjectPosition: done on_object_position "The object in its new place.";
                ObjectScale: done on_object_scale "The object in its new size.";
                ObjectRotation: done on_object_rotation "The object in its new rotation.";
                ObjectFlagUpdate: done on_flag_update "The changed object.";
                ObjectClickAction: done on_object_click_action "The changed object.";
                ObjectImage: done on_object_image "The changed object.";
                ObjectBypassModUpdate: missing Method "Not available.";
                ObjectMaterial: done on_object_material "The changed object.";
                ObjectShape: done on_object_shape "The changed object.";
                ObjectExtraParams: done on_object_extra_params "The changed object.";
                ObjectOwner: refused on_object_owner "An alert, and the object as it is: operators alone change owners, and no user of a viewer is an operator so far.";
                ObjectGroup: done on_object_group "The changed object.";
                ObjectPermissions: done on_object_permissions "The changed object.";
                ObjectName: done on_object_name "Nothing, as clients show their own change; ObjectProperties if it is refused.";
                ObjectDescription: done on_object_description "Nothing, as clients show their own change; ObjectProperties if it is refused.";
                ObjectCategory: edit_by_local_id Building "The object is sent again as it is.";
                ObjectSaleInfo: done on_object_sale_info "The changed object.";
                ObjectIncludeInSearch: done on_object_in_search "The changed object.";
                ObjectLink: done on_object_link "The changed objects.";
                ObjectDelink: done on_object_delink "The changed objects.";
                ObjectSpinStart: missing Spin "Objects are turned by their handles only.";
                ObjectSpinUpdate: missing Spin "Objects are turned by their handles only.";
                ObjectSpinStop: missing Spin "Objects are turned by their handles only.";
                ObjectExportSelected: missing Method "Not available.";
                Undo: done on_undo "The object in its former place.";
                Redo: done on_redo "The object in its place.";
                ObjectGrab: done on_object_grab "A touch, for scripts of the object; KillObject if it does not exist.";
                ObjectGrabUpdate: done on_object_grab_update "The way of a touch, for scripts of the object; pulls a physical object of the user's own.";
                ObjectDeGrab: done on_object_de_grab "The end of a touch, for scripts of the object; KillObject if it does not exist.";
                ObjectBuy: done on_object_buy "Without a price only: the object with its new owner; or UpdateCreateInventoryItem with a copy of it, or with its contents in a new folder.";
                BuyObjectInventory: missing Money "Objects are not for sale.";
                DeRezObject: done on_derez "DeRezAck; UpdateCreateInventoryItem with the items once they are on the disk: takes, copies, rubbish, returned ones, and the content of items that the session has rezzed. DeRezAck without success, an alert, and the objects as they are, for other destinations; an alert, and the objects, if the world refuses.";
                RezObject: done on_rez_object "The object, of the library, too, or of an item in another object. An item that may not be copied leaves the inventory: RemoveInventoryItem; or that object: ReplyTaskInventory. An alert, and BulkUpdateInventory with the item, or ReplyTaskInventory, if it is refused.";
                RezObjectFromNotecard: done on_rez_from_notecard "The objects that the notecard's writer may give, also of a notecard in an object that the user may read. An alert if one is refused.";
                RezRestoreToWorld: done on_rez_restore "The object where it was taken. As RezObject for the rest.";
                SoundTrigger: done on_sound_trigger "SoundTrigger to clients near by, from where the avatar is.";
            }
            "Contents of objects, and scripts" {
                RequestTaskInventory: done on_task_inventory "ReplyTaskInventory with the name of a file, none for an empty object.";
                UpdateTaskInventory: done on_update_task_inventory "An item of the object changes: ReplyTaskInventory. One of the inventory, or the library, comes into it, and leaves the inventory if it may not be copied: RemoveInventoryItem. An alert, and ReplyTaskInventory or BulkUpdateInventory, if it is refused; an alert, and the object as it is, for a static one.";
                RemoveTaskInventory: done on_remove_task_inventory "ReplyTaskInventory; also an alert if the world refuses. An alert, and the object as it is, for a static one.";
                MoveTaskInventory: done on_move_task_inventory "UpdateCreateInventoryItem with the item once it is on the disk; ReplyTaskInventory. An alert, and ReplyTaskInventory, if the world refuses; an alert, and the object as it is, for a static one.";
                RezScript: done on_rez_script "A script of the inventory, or a new one, comes into the object, and does not run: as UpdateTaskInventory.";
                GetScriptRunning: refused on_script_running "ScriptRunningReply in the event queue: no.";
                SetScriptRunning: missing Scripts "Scripts do not exist.";
                ScriptReset: missing Scripts "Scripts do not exist.";
                ScriptDialogReply: ignored "Answers a dialog, and no object opens one.";
                ScriptAnswerYes: ignored "Answers a question, and no object asks one.";
                RevokePermissions: ignored "No script has any.";
                ForceScriptControlRelease: ignored "No script has taken any controls.";
                ScriptRunningReply: simulator "Answers GetScriptRunning.";
                RpcScriptRequestInbound: simulator "From programs outside, through a server of the grid.";
                RpcScriptReplyInbound: simulator "From programs outside, through a server of the grid.";
            }
            "Inventory" {
                FetchInventory: done on_fetch_items "FetchInventoryReply, of the library, too; an alert when an item does not exist.";
                FetchInventoryDescendents: done on_fetch_folder "InventoryDescendents; an alert when the folder does not exist.";
                CreateInventoryItem: done on_create_item "UpdateCreateInventoryItem with the new item: of an upload, which it waits for; of a kind that begins with blank content or none; or a landmark of the avatar's place. An alert, and a null item, if it is refused.";
                UpdateInventoryItem: done on_update_items "Name, description, flags, masks, sale and, after an upload, content change: UpdateCreateInventoryItem for a callback, else BulkUpdateInventory where the item is not as the client has stated it. An alert, and the item as it is, if it is refused.";
                MoveInventoryItem: done on_inventory_change "The item moves. An alert, and BulkUpdateInventory with its place, if it is refused.";
                CopyInventoryItem: done on_inventory_change "BulkUpdateInventory with the copies, of the library, too. An alert, and null items, for those that are refused.";
                LinkInventoryItem: done on_inventory_change "UpdateCreateInventoryItem with the new link. An alert, and a null item, if it is refused.";
                RemoveInventoryItem: done on_inventory_change "The item is removed. An alert if there is none.";
                ChangeInventoryItemFlags: done on_inventory_change "The flags change, but for the kind of a wearable. An alert if there is no such item.";
                CreateInventoryFolder: done on_inventory_change "The folder is made. An alert if it is refused.";
                UpdateInventoryFolder: done on_inventory_change "Name and type change. An alert, and BulkUpdateInventory with the folder as it is, if it is refused.";
                MoveInventoryFolder: done on_inventory_change "The folder moves. An alert, and BulkUpdateInventory with its place, if it is refused.";
                RemoveInventoryFolder: done on_inventory_change "The folder is removed with its content. An alert, and BulkUpdateInventory with the folder, if it is refused.";
                RemoveInventoryObjects: done on_inventory_change "As RemoveInventoryFolder and RemoveInventoryItem.";
                PurgeInventoryDescendents: done on_inventory_change "The content of the folder is removed. An alert if it is refused.";
                CopyInventoryFromNotecard: done on_copy_from_notecard "BulkUpdateInventory with a copy of each embedded item that the notecard's writer may give, also of a notecard in an object that the user may read. An alert if it is refused.";
            }
            "Assets and files" {
                RequestImage: done on_image "ImageData and ImagePacket of the textures that GetTexture serves; ImageNotInDatabase for all others.";
                TransferRequest: done on_transfer "TransferInfo and TransferPackets of an asset of up to 256 KiB, by its id, by an item in an object that the user may read, or the covenant of the estate; status -3 for other items in objects, -2 for all else.";
                TransferAbort: ignored "No transfer is under way.";
                TransferInfo: simulator "Answers TransferRequest.";
                TransferPacket: simulator "Answers TransferRequest.";
                RequestXfer: done on_xfer "SendXferPackets of a list of contents; AbortXfer for all other files.";
                SendXferPacket: done on_xfer_packet "ConfirmXferPacket; AssetUploadComplete when the file is on the disk, or is refused. AbortXfer for a file that was not asked for, and one that is too long or too late.";
                ConfirmXferPacket: done on_xfer_confirmed "The next SendXferPacket.";
                AbortXfer: done on_xfer_aborted "The file under way ends; AssetUploadComplete without success for an upload.";
                AssetUploadRequest: done on_asset_upload "AssetUploadComplete when the asset is on the disk; without content RequestXfer first. AssetUploadComplete without success, and an alert, if it is refused.";
                AssetUploadComplete: simulator "Answers AssetUploadRequest.";
                InitiateDownload: simulator "Offers a file to the viewer.";
            }
            "Land" {
                ParcelPropertiesRequest: done on_parcel_properties "ParcelProperties in the event queue.";
                ParcelPropertiesRequestByID: done on_parcel_properties_by_id "ParcelProperties in the event queue.";
                ParcelInfoRequest: done on_parcel_info "ParcelInfoReply; an alert for an unknown parcel.";
                ParcelDwellRequest: done on_parcel_dwell "ParcelDwellReply with the id of the parcel; its traffic is 0.";
                ParcelAccessListRequest: done on_parcel_access_list "ParcelAccessListReply; without rows for users who do not manage the parcel.";
                ParcelAccessListUpdate: done on_parcel_access_update "The world changes the list; ParcelProperties as an event. An alert if it refuses, and in a region that is not built on.";
                ParcelPropertiesUpdate: done on_parcel_update "The world changes the settings; ParcelProperties as an event. An alert if it refuses, and in a region that is not built on.";
                ParcelReturnObjects: done on_return_objects "Objects of the kinds and owners, or of the ids, go back to their owners. An alert if the world refuses, and for unknown ones.";
                ParcelSetOtherCleanTime: done on_other_clean_time "As ParcelPropertiesUpdate.";
                ParcelDisableObjects: missing Method "Objects have no scripts to disable.";
                ParcelSelectObjects: done on_parcel_select_objects "ForceObjectSelect with objects of the kinds, 1,000 at most; an alert for an unknown parcel.";
                ParcelObjectOwnersRequest: done on_parcel_object_owners "ParcelObjectOwnersReply with the number of prims of each owner; static objects belong to the grid's operator.";
                ParcelBuyPass: missing Money "Passes are not sold.";
                ParcelBuy: done on_parcel_buy "The parcel changes hands if it is offered to the user at a price of 0; else an alert.";
                ParcelClaim: missing Method "All land has its parcel: there is none to claim.";
                ParcelReclaim: done on_parcel_reclaim "The estate takes the parcel; an alert if the world refuses.";
                ParcelRelease: done on_parcel_release "The owner gives the parcel to the estate; an alert if the world refuses.";
                ParcelDeedToGroup: missing Groups "Groups do not exist.";
                ParcelJoin: done on_parcel_join "The parcels become one: ParcelOverlay, ParcelProperties. An alert if the world refuses.";
                ParcelDivide: done on_parcel_divide "The area becomes a parcel: ParcelOverlay, ParcelProperties. An alert if the world refuses.";
                ParcelGodForceOwner: refused on_parcel_force_owner "An alert: operators alone do this, and no user of a viewer is an operator so far.";
                ParcelGodMarkAsContent: missing Method "No parcel is content of the grid.";
                ViewerStartAuction: missing Method "There are no auctions.";
                ModifyLand: done on_modify_land "LayerData of the changed patches to all clients. An alert if the world refuses, and in a region that is not built on.";
                UndoLand: done on_undo_land "LayerData of the changed patches; an alert if there is nothing to undo.";
            }
            "Estate and administration" {
                EstateCovenantRequest: done on_covenant "EstateCovenantReply.";
                EstateOwnerMessage: done on_estate "estateupdateinfo and setaccess for getinfo. The world changes region, ground textures, lists and covenant, and bakes the ground; TelehubInfo for its telehub; texts go to all visitors, and visitors home or off the grid; restart restarts the region after its delay, with alerts before it. An alert if it refuses, for other methods, and in a region that is not built on.";
                LandStatRequest: done on_land_stat "LandStatReply in the event queue: nothing runs or collides.";
                GodUpdateRegionInfo: done on_god_region_info "The flags of the region change; an alert if the world refuses, and in a region that is not built on.";
                RequestGodlikePowers: refused on_godlike_powers "GrantGodlikePowers: level 0.";
                GodlikeMessage: missing Administration "Administrators use the command line and the operator's API.";
                GodKickUser: missing Administration "Administrators use the command line and the operator's API.";
                EjectUser: missing Administration "Administrators use the command line and the operator's API.";
                FreezeUser: missing Administration "Administrators use the command line and the operator's API.";
                SimWideDeletes: missing Administration "Administrators use the command line and the operator's API.";
                SetCPURatio: missing Administration "Administrators use the command line and the operator's API.";
                StateSave: missing Administration "Administrators use the command line and the operator's API.";
                UserReport: missing Reports "Reports are not taken.";
                SendPostcard: missing Reports "E-mail is not sent.";
            }
            "Money" {
                EconomyDataRequest: done on_economy_data "EconomyData: everything is free.";
                MoneyBalanceRequest: done on_money_balance "MoneyBalanceReply: 0.";
                MoneyTransferRequest: refused on_money_transfer "MoneyBalanceReply without success.";
                RequestPayPrice: refused on_pay_price "PayPriceReply: no prices.";
            }
            "Groups" {
                CreateGroupRequest: refused on_create_group "CreateGroupReply without success.";
                UpdateGroupInfo: missing Groups "Groups do not exist.";
                GroupRoleChanges: missing Groups "Groups do not exist.";
                JoinGroupRequest: refused on_join_group "JoinGroupReply without success.";
                EjectGroupMemberRequest: refused on_eject_member "EjectGroupMemberReply without success.";
                LeaveGroupRequest: refused on_leave_group "LeaveGroupReply without success.";
                InviteGroupRequest: missing Groups "Groups do not exist.";
                GroupProfileRequest: refused on_group_profile "GroupProfileReply without a name.";
                GroupAccountSummaryRequest: refused on_group_summary "GroupAccountSummaryReply: 0.";
                GroupAccountDetailsRequest: refused on_group_details "GroupAccountDetailsReply without rows.";
                GroupAccountTransactionsRequest: refused on_group_transactions "GroupAccountTransactionsReply without rows.";
                GroupActiveProposalsRequest: refused on_group_proposals "GroupActiveProposalItemReply without rows.";
                GroupVoteHistoryRequest: refused on_group_votes "GroupVoteHistoryItemReply without rows.";
                StartGroupProposal: missing Groups "Groups do not exist.";
                GroupProposalBallot: missing Groups "Groups do not exist.";
                GroupMembersRequest: refused on_group_members "GroupMembersReply: no members.";
                ActivateGroup: missing Groups "Groups do not exist.";
                SetGroupContribution: missing Groups "Groups do not exist.";
                SetGroupAcceptNotices: missing Groups "Groups do not exist.";
                GroupRoleDataRequest: refused on_group_roles "GroupRoleDataReply without rows.";
                GroupRoleMembersRequest: refused on_group_role_members "GroupRoleMembersReply without rows.";
                GroupTitlesRequest: refused on_group_titles "GroupTitlesReply without rows.";
                GroupTitleUpdate: missing Groups "Groups do not exist.";
                GroupRoleUpdate: missing Groups "Groups do not exist.";
                GroupNoticesListRequest: refused on_group_notices "GroupNoticesListReply without rows.";
                GroupNoticeRequest: missing Groups "Groups do not exist.";
            }
        }
    };
}

pub(crate) use message_table;
