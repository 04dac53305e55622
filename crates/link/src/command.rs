//! Commands to a world, with their author and their place in the order.
//!
//! A world sorts a tick's commands by (session, sequence) before it applies them, so that the order in which gateway shards happened to
//! deliver them changes nothing.

use crate::chat::ChatKind;
use crate::effect::Effect;
use crate::land_command::LandCommand;
use crate::object_command::{EditRights, ObjectCommand, ObjectLimits};
use crate::solid::KnownSolid;
use crate::touch::TouchCommand;
use crate::transfer::{
    ContentReplacement, ContentRezzing, ItemRestoration, Restoration, TakeOffOrder, WearOrder,
};
use glam::{Quat, Vec3};
use ids::{AgentId, LocalId, SessionKey, Ticket, Uuid};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// One request to a world.
///
/// The author decides what it may do ([`Command::is_permitted`]); the world refuses and counts any other command.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Command {
    /// Origin of the request.
    pub author: Author,
    /// The session whose avatar acts; [`SessionKey::NODE`] for the world as a whole.
    pub session: SessionKey,
    /// Rises by one with every command for this session; the node's own come in several series ([`crate::CommandSeries`]).
    pub sequence: u64,
    /// The request itself.
    pub action: Action,
}

/// Origins of commands. Objects with scripts will be a third kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Author {
    /// A client, by its session: the gateway writes such commands from the circuit on which the request came.
    Session(SessionKey),
    /// The node: resyncs, dismissals after a restart, the operator, reloads.
    Node,
}

impl Command {
    /// A command that a session gives its own avatar.
    ///
    /// # Panics
    /// For [`SessionKey::NODE`], which is no session.
    #[must_use]
    pub fn by_session(session: SessionKey, sequence: u64, action: Action) -> Self {
        assert_ne!(session, SessionKey::NODE, "the node is no session");
        Self { author: Author::Session(session), session, sequence, action }
    }

    /// A command of the node, for a session's avatar or ([`SessionKey::NODE`]) for the world as a whole.
    #[must_use]
    pub const fn by_node(session: SessionKey, sequence: u64, action: Action) -> Self {
        Self { author: Author::Node, session, sequence, action }
    }

    /// True if its author may ask this: the node anything, a session only actions of its own avatar.
    #[must_use]
    pub fn is_permitted(&self) -> bool {
        match self.author {
            Author::Node => true,
            Author::Session(author) => author == self.session && !self.action.is_of_node(),
        }
    }
}

/// The closed set of things that can be asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Action {
    /// A session's avatar comes in. Entering twice moves the presence that is already there.
    Enter(Box<Enter>),
    /// It goes. Unknown sessions are ignored: the gateway may repeat itself.
    Leave,
    /// Newest input of the avatar's owner.
    Control(Control),
    /// Put the avatar somewhere else in this world.
    Teleport {
        /// Metres from the region's corner.
        position: Vec3,
        /// Direction to face; only x and y count.
        look_at: Vec3,
    },
    /// Wear another appearance.
    Appear(Arc<Appearance>),
    /// Start (`true`) and stop animations chosen by the client; bounded by [`Action::ANIMATIONS_MAX`].
    Animate(Vec<(Uuid, bool)>),
    /// Say something. The gateway resolves the hearers.
    Chat {
        /// Whisper, say, shout, typing.
        kind: ChatKind,
        /// 0 is public; scripts listen on the others.
        channel: i32,
        /// At most 1,023 bytes of UTF-8.
        text: String,
    },
    /// Run whenever a walk is asked for (SetAlwaysRun).
    AlwaysRun(bool),
    /// Put a snapshot of everything into the following frames: a replica saw a gap.
    Resync,
    /// Sit down on a static object of the scenery, from any posture. An avatar that stands up from it falls to the ground.
    Sit {
        /// Point on the object's upper side, metres from the region's corner.
        seat: Vec3,
        /// Direction to face; only x and y count.
        look_at: Vec3,
    },
    /// Hot reload: the NPCs go over to another cast of the same template before this tick. The host offers the world the comparison of
    /// the two beforehand; a cast that is not offered is ignored.
    ReloadBehaviors {
        /// Fingerprint of the cast to go over to.
        cast: u64,
    },
    /// Change objects of a world that is built on.
    Object(Box<ObjectCommand>),
    /// The session may edit these users' objects, or all, from now on.
    EditRights(Box<EditRights>),
    /// Bounds of the world's objects from now on.
    ObjectLimits(ObjectLimits),
    /// Change the land, in a world that is built on.
    Land(Box<LandCommand>),
    /// Sit down on a prim, from any posture: on its sit target, on a free one of its linkset, or on its surface. The avatar moves with
    /// the linkset, and stands up beside it. Answered by [`crate::Event::Seated`] or [`crate::Event::SitRefused`].
    SitOn {
        /// The prim.
        object: LocalId,
        /// Point that the user chose, from the prim's position along its axes, metres. One outside of the prim is moved into it.
        offset: Vec3,
    },
    /// Touch a prim.
    Touch(Box<TouchCommand>),
    /// Show others an effect.
    Effect(Box<Effect>),
    /// Put an object that the store holds into the world. The answer is a transfer, [`Transfer::Restored`] or [`Transfer::Refused`]; for a copy of one that stays,
    /// [`crate::Event::Rezzed`].
    ///
    /// [`Transfer::Restored`]: crate::Transfer::Restored
    /// [`Transfer::Refused`]: crate::Transfer::Refused
    Restore(Box<Restoration>),
    /// The effects of this transfer and of those before it are on the disk: the world forgets them. One that has gone back to a checkpoint ignores orders until its
    /// transfer on that is settled ([`crate::Transfer::Undone`]): those to put something into the world, to wear and to take off.
    Settle(Ticket),
    /// The store holds as many objects for this user as it may, or does so no more.
    HeldFull {
        /// The user.
        owner: AgentId,
        /// True if it takes no more.
        is_full: bool,
    },
    /// Put an item of an inventory into a prim. The answer is that to [`Action::Restore`], and [`crate::Event::Contents`] for its user.
    RestoreItem(Box<ItemRestoration>),
    /// A solid of an asset is this: prims that collide as it have it from now on ([`crate::Event::SolidsWanted`]). Ignored if no prim does.
    PutSolid(Box<KnownSolid>),
    /// Let a user's avatar wear an item.
    Wear(Box<WearOrder>),
    /// Take items off a user's avatar.
    TakeOff(Box<TakeOffOrder>),
    /// Give an item of a prim other content. The answer is [`crate::Event::Rezzed`], and [`crate::Event::Contents`] for its user.
    ReplaceContent(Box<ContentReplacement>),
    /// Put the object of an item in a prim into the world. The answer is [`crate::Event::Rezzed`], and [`crate::Event::Contents`] for its user if the item has left.
    RezContent(Box<ContentRezzing>),
}

impl Action {
    /// More animations than this in one command are cut off by the gateway.
    pub const ANIMATIONS_MAX: usize = 16;

    /// True if it concerns the world as a whole and no avatar of it.
    #[must_use]
    pub const fn is_of_world(&self) -> bool {
        matches!(
            self,
            Self::Resync
                | Self::ReloadBehaviors { .. }
                | Self::ObjectLimits(_)
                | Self::Restore(_)
                | Self::Settle(_)
                | Self::HeldFull { .. }
                | Self::RestoreItem(_)
                | Self::PutSolid(_)
                | Self::Wear(_)
                | Self::TakeOff(_)
                | Self::ReplaceContent(_)
                | Self::RezContent(_)
        )
    }

    /// True if no session may ask for it.
    #[must_use]
    pub fn is_of_node(&self) -> bool {
        match self {
            Self::EditRights(_) => true,
            Self::Object(request) => request.is_of_node(),
            _ => self.is_of_world(),
        }
    }
}

/// Everything the world needs to know of an avatar that comes in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Enter {
    /// Account, and `FullID` of the avatar.
    pub agent: AgentId,
    /// First name as shown.
    pub first_name: String,
    /// Last name as shown.
    pub last_name: String,
    /// Metres from the region's corner; the world lifts it out of the ground and pulls it inside the borders.
    pub position: Vec3,
    /// Direction to face; only x and y count.
    pub look_at: Vec3,
    /// Arrives flying.
    pub flying: bool,
    /// Appearance, once known.
    pub appearance: Option<Arc<Appearance>>,
}

/// The part of an AgentUpdate that moves an avatar.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Control {
    /// Control flags; a held bit means "keep going".
    pub flags: ControlFlags,
    /// Rotation of the body; normalised by the gateway.
    pub body_rotation: Quat,
}

/// Control flags of an AgentUpdate, in the protocol's bit order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ControlFlags(pub u32);

impl ControlFlags {
    /// Forward.
    pub const AT_POS: Self = Self(1 << 0);
    /// Backward.
    pub const AT_NEG: Self = Self(1 << 1);
    /// Left.
    pub const LEFT_POS: Self = Self(1 << 2);
    /// Right.
    pub const LEFT_NEG: Self = Self(1 << 3);
    /// Up, or jump when on the ground.
    pub const UP_POS: Self = Self(1 << 4);
    /// Down.
    pub const UP_NEG: Self = Self(1 << 5);
    /// Comes with a held forward or back key, without a nudge. It does not ask for a run ([`Action::AlwaysRun`] does).
    pub const FAST_AT: Self = Self(1 << 10);
    /// Comes with a held left or right key.
    pub const FAST_LEFT: Self = Self(1 << 11);
    /// Comes with a held up or down key.
    pub const FAST_UP: Self = Self(1 << 12);
    /// Fly while set.
    pub const FLY: Self = Self(1 << 13);
    /// Stop at once.
    pub const STOP: Self = Self(1 << 14);
    /// A pre-jump, landing or stand-up animation has ended.
    pub const FINISH_ANIM: Self = Self(1 << 15);
    /// Get up.
    pub const STAND_UP: Self = Self(1 << 16);
    /// Sit down where one stands.
    pub const SIT_ON_GROUND: Self = Self(1 << 17);
    /// Small steps, one bit a direction: forward, back, left, right, up, down.
    pub const NUDGE_AT_POS: Self = Self(1 << 19);
    /// Small step back.
    pub const NUDGE_AT_NEG: Self = Self(1 << 20);
    /// Small step left.
    pub const NUDGE_LEFT_POS: Self = Self(1 << 21);
    /// Small step right.
    pub const NUDGE_LEFT_NEG: Self = Self(1 << 22);
    /// Small step up.
    pub const NUDGE_UP_POS: Self = Self(1 << 23);
    /// Small step down.
    pub const NUDGE_UP_NEG: Self = Self(1 << 24);
    /// Turning left (the body rotation carries the turn itself).
    pub const TURN_LEFT: Self = Self(1 << 25);
    /// Turning right.
    pub const TURN_RIGHT: Self = Self(1 << 26);
    /// Away from keyboard.
    pub const AWAY: Self = Self(1 << 27);

    /// True if any bit of `other` is set.
    #[must_use]
    pub const fn any(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Both sets together.
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// Appearance of an avatar, opaque to the world: its bytes reach clients unchanged.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Appearance {
    /// Texture entry in the protocol's encoding, at most [`Appearance::TEXTURE_ENTRY_MAX`] bytes.
    pub texture_entry: Vec<u8>,
    /// One byte per visual parameter, 218–253 of them.
    pub visual_params: Vec<u8>,
    /// Current Outfit version that the client announced, or 0.
    pub cof_version: i32,
    /// Height of the avatar's box in metres, as the client computed it.
    pub height_m: f32,
}

impl Appearance {
    /// Maximum size of a texture entry, bytes: 45 faces with all fields differ by less.
    pub const TEXTURE_ENTRY_MAX: usize = 2_048;
    /// Visual parameters at most, since their count is a byte; viewers send 218–253.
    pub const VISUAL_PARAMS_MAX: usize = 255;

    /// Width and depth of every avatar's box, metres, and its height when none is known.
    pub const DEFAULT_SIZE: Vec3 = Vec3::new(0.45, 0.6, 1.9);

    /// Width, depth and height of an avatar's box in metres. Worlds and replicas take it from here, since a
    /// [`crate::Change::Appeared`] changes it, too. Heights that no viewer makes are cut to 1.1–2.5 m.
    #[must_use]
    pub fn avatar_size(appearance: Option<&Self>) -> Vec3 {
        let height = appearance.map_or(f32::NAN, |appearance| appearance.height_m);
        let known = height.is_finite() && height > 0.0;
        if known { Self::DEFAULT_SIZE.with_z(height.clamp(1.1, 2.5)) } else { Self::DEFAULT_SIZE }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::land_command::{GroundEdit, LandEdit};
    use crate::touch::TouchPhase;
    use crate::{DerezKind, HeldObject, RestorePlace, WornItems};
    use ids::{HeldKey, WorldId};
    use prim::{AssetSolid, Carried, ContentItem, Ownership, Permissions, Sale, SolidKey, SolidPart};

    #[test]
    fn a_command_of_every_kind_survives_its_encoding() {
        let (position, look_at) = (Vec3::new(1.0, 2.0, 3.0), Vec3::Y);
        let appearance = Arc::new(Appearance {
            texture_entry: vec![1, 2, 3],
            visual_params: vec![7; 218],
            cof_version: 4,
            height_m: 1.8,
        });
        let enter = Enter {
            agent: AgentId(Uuid::from_u128(3)),
            first_name: "Ada".into(),
            last_name: "Lovelace".into(),
            position,
            look_at,
            flying: true,
            appearance: Some(Arc::clone(&appearance)),
        };
        let control = Control { flags: ControlFlags(1 << 31), body_rotation: Quat::IDENTITY };
        let object = HeldObject {
            owner: AgentId(Uuid::from_u128(5)),
            by: SessionKey::NODE,
            kind: DerezKind::Take,
            folder: Uuid::nil(),
            transaction: Uuid::nil(),
            is_worn: false,
            linksets: Vec::new(),
        };
        let user = AgentId(Uuid::from_u128(5));
        let (group, permissions) = (Uuid::nil(), Permissions::NEW);
        let item = ContentItem {
            id: Uuid::from_u128(1),
            asset: Uuid::from_u128(2),
            asset_type: 7,
            inventory_type: 7,
            name: "hé".into(),
            description: "".into(),
            flags: 0,
            ownership: Ownership { creator: user, owner: user, last_owner: user, group, permissions },
            sale: Sale::default(),
            created_s: 0,
            carried: Carried::default(),
        };
        let object = Arc::new(object);
        let wear = WearOrder {
            session: SessionKey(4),
            item: Uuid::from_u128(6),
            point: 31,
            replaces: true,
            object: Arc::clone(&object),
            ids: Uuid::from_u128(8),
        };
        let actions = [
            Action::Enter(Box::new(enter)),
            Action::Leave,
            Action::Control(control),
            Action::Teleport { position, look_at },
            Action::Appear(appearance),
            Action::Animate(vec![(Uuid::from_u128(9), true)]),
            Action::Chat { kind: ChatKind::Shout, channel: 0, text: "hé".into() },
            Action::AlwaysRun(true),
            Action::Resync,
            Action::Sit { seat: position, look_at },
            Action::ReloadBehaviors { cast: 11 },
            Action::Object(Box::new(ObjectCommand::Link(Vec::new()))),
            Action::EditRights(Box::new(EditRights {
                is_operator: true,
                owners: vec![AgentId(Uuid::from_u128(5))],
            })),
            Action::ObjectLimits(ObjectLimits::default()),
            Action::Land(Box::new(LandCommand { at_s: 7, edit: LandEdit::Ground(GroundEdit::Undo) })),
            Action::Restore(Box::new(Restoration {
                key: Some(HeldKey { region: WorldId(1), ticket: Ticket(7) }),
                object: Arc::clone(&object),
                place: RestorePlace::At(position),
                ids: Uuid::from_u128(8),
            })),
            Action::Settle(Ticket(u32::MAX)),
            Action::HeldFull { owner: AgentId(Uuid::from_u128(5)), is_full: true },
            Action::SitOn { object: LocalId(9), offset: position },
            Action::Touch(Box::new(TouchCommand {
                object: LocalId(9),
                phase: TouchPhase::Began,
                offset: position,
                surface: None,
            })),
            Action::Effect(Box::new(Effect::Sound { id: Uuid::from_u128(9), gain: 1.0 })),
            Action::RestoreItem(Box::new(ItemRestoration {
                key: Some(HeldKey { region: HeldKey::ITEMS, ticket: Ticket(7) }),
                session: SessionKey(4),
                object: Uuid::from_u128(6),
                item: Arc::new(item.clone()),
            })),
            Action::PutSolid(Box::new(KnownSolid {
                key: SolidKey { asset: Uuid::from_u128(9), part: SolidPart::MeshHull },
                solid: AssetSolid::FULL,
            })),
            Action::Wear(Box::new(wear)),
            Action::TakeOff(Box::new(TakeOffOrder {
                owner: user,
                items: WornItems::AllBut(vec![Uuid::from_u128(6)]),
            })),
            Action::ReplaceContent(Box::new(ContentReplacement {
                session: SessionKey(4),
                object: Uuid::from_u128(6),
                item: Uuid::from_u128(7),
                asset_type: -1,
                asset: Uuid::from_u128(9),
            })),
            Action::RezContent(Box::new(ContentRezzing {
                restoration: Restoration {
                    key: None,
                    object,
                    place: RestorePlace::At(position),
                    ids: Uuid::from_u128(8),
                },
                holder: Uuid::from_u128(6),
                item: Arc::new(item),
            })),
        ];
        for (action, sequence) in actions.into_iter().zip(1..) {
            let session = SessionKey(1 << 48);
            for command in [
                Command::by_session(session, sequence, action.clone()),
                Command::by_node(session, sequence, action),
            ] {
                let bytes = postcard::to_stdvec(&command).unwrap();
                assert_eq!(postcard::from_bytes(&bytes), Ok(command));
            }
        }
    }
}
