//! Requests to a host about instances, with their replies and refusals.
//!
//! A request names its sender's choice of number, and exactly one reply carries that number back. Requests come from portals and
//! invitations (the gateway), from users and operators (the API) and from programs.

use glam::Vec3;
use ids::{AgentId, SessionKey, Uuid, WorldId};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use thiserror::Error;

/// Number of a request, chosen by its sender and returned with the reply. Not reused while a reply is outstanding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct RequestId(pub u64);

/// Request of a user, an operator or a program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum InstanceRequest {
    /// Create an instance; if one with this id, template and owner exists, nothing changes ([`InstanceReply::Exists`]).
    Open(NewInstance),
    /// Bring a session into an instance, which is resumed if necessary.
    Enter {
        /// Target.
        instance: Uuid,
        /// Visitor.
        visitor: Visitor,
        /// Metres from the world's corner; the template's landing point by default.
        position: Option<Vec3>,
    },
    /// Bring a session into the instance with this world, which is resumed if necessary: the visitor was invited there.
    EnterWorld {
        /// Target.
        world: WorldId,
        /// Visitor.
        visitor: Visitor,
        /// Metres from the world's corner.
        position: Vec3,
    },
    /// Bring a session into its own user's instance of a template, which is created if there is none.
    EnterOwn {
        /// Instance to create if there is none; its owner is the visitor's agent.
        new: NewInstance,
        /// Visitor.
        visitor: Visitor,
    },
    /// Send a session out of the instance that it is in, back to where it came from.
    Dismiss(Visitor),
    /// Save an empty instance and remove its world from memory.
    Suspend(Uuid),
    /// Bring a suspended instance's world into memory.
    Resume(Uuid),
    /// Send all visitors back and delete the instance with its state.
    End(Uuid),
}

/// Description of an instance to be created.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewInstance {
    /// Id, random unless the requester chose it.
    pub id: Uuid,
    /// Template name, without regard to case.
    pub template: String,
    /// Displayed name, 1 to [`NewInstance::NAME_BYTES_MAX`] bytes without control characters; the template's name by default.
    pub name: Option<String>,
    /// Owner; at most one instance per owner and template.
    pub owner: Option<AgentId>,
    /// Creation time, seconds since 1970.
    pub created_s: i64,
    /// Program that creates it, and its quota.
    pub maker: Option<Maker>,
}

impl NewInstance {
    /// Bytes of a name that the protocol's messages carry.
    pub const NAME_BYTES_MAX: usize = 63;
}

/// Token with which instances are created.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Maker {
    /// Name of the token.
    pub token: Arc<str>,
    /// Existing instances that it may have created at once; `None` is unlimited.
    pub instances_max: Option<u32>,
}

/// Session that enters, with the circuit and world in which the request was made: the gateway refuses the admission if the avatar has left
/// them meanwhile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Visitor {
    /// Login.
    pub session: SessionKey,
    /// Ticket of the circuit, if the request came through one.
    pub ticket: Option<u32>,
    /// World in which the avatar stood, if the request depends on it (a portal).
    pub from: Option<WorldId>,
}

/// Success of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum InstanceReply {
    /// The instance was created and is durable.
    Created(Uuid),
    /// The instance existed already and is durable.
    Exists(Uuid),
    /// The gateway has begun the visitor's passage.
    Admitted(Uuid),
    /// The gateway has begun the visitor's passage out of the instance.
    Dismissed,
    /// The instance is in the store only.
    Suspended(Uuid),
    /// The instance's world is stepped.
    Active(Uuid),
    /// The instance does not exist any more.
    Ended(Uuid),
}

/// Failure of a request. The texts are shown to users.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Error)]
pub enum InstanceRefusal {
    /// Unknown template.
    #[error("There is no template {wanted:?}; there are: {known}.")]
    NoTemplate {
        /// As requested.
        wanted: String,
        /// Names of all templates.
        known: String,
    },
    /// The template of a stored instance is not configured any more.
    #[error("There is no template {0:?} any more; the instance stays suspended until there is one again.")]
    TemplateGone(Arc<str>),
    /// Unknown instance.
    #[error("There is no instance {0}.")]
    NoInstance(Uuid),
    /// The instance ended while the request waited.
    #[error("That world has ended.")]
    Ended,
    /// Limit of existing instances.
    #[error("There are {0} instances already, and no more are allowed (`instances.max`).")]
    Full(usize),
    /// Limit of instances in memory.
    #[error(
        "There are {0} instances in use already, and no more are allowed (`instances.active_max`). Please try again later."
    )]
    ActiveFull(usize),
    /// Quota of a token.
    #[error(
        "There are {max} instances made with the token {token:?}, and no more are allowed at once (`--max-worlds`)."
    )]
    Quota {
        /// Name of the token.
        token: Arc<str>,
        /// Its quota.
        max: u32,
    },
    /// Limit of the instances that portals created.
    #[error(
        "There are {0} worlds behind portals already, and no more are allowed (`instances.portal_percent`)."
    )]
    PortalsFull(usize),
    /// Limit of the instances that portals created for one user.
    #[error(
        "You have {0} worlds behind portals already, and no more are allowed (`instances.per_user_max`)."
    )]
    UserQuota(usize),
    /// A second instance of an owner and template.
    #[error("That user has an instance of this template already.")]
    Owned,
    /// Another instance has this id.
    #[error("There is another instance {0} already.")]
    Taken(Uuid),
    /// No gap of local ids is large enough.
    #[error("No range of {0} local ids is free for another world.")]
    LocalIds(u32),
    /// Malformed name.
    #[error("A name has 1 to {max} bytes and no control characters.", max = NewInstance::NAME_BYTES_MAX)]
    Name,
    /// The node lacks memory or CPU time.
    #[error("{}", match .0 {
        Shortage::Memory => "The server has no memory for another world just now. Please try again later.",
        Shortage::Cpu => "The server is busy with the worlds that people are in, and resumes no other one just now. Please try again later.",
    })]
    Shortage(Shortage),
    /// A suspension of an occupied instance.
    #[error("That world is occupied, or it is about to restart.")]
    InUse,
    /// The saved state cannot be loaded.
    #[error("{0}")]
    Blocked(Arc<str>),
    /// The store or a long task failed; the text names the cause.
    #[error("{0}")]
    Failed(Arc<str>),
    /// The gateway refused the passage; the text names the cause.
    #[error("{0}")]
    Passage(Arc<str>),
    /// Too many requests wait for the instance, or for room.
    #[error("Too many requests wait for that world. Please try again later.")]
    Busy,
    /// The node stops.
    #[error("The server is about to stop.")]
    Stopping,
}

/// A resource that is short.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Shortage {
    /// Another world would exceed the memory allowed.
    Memory,
    /// The workers cannot step the awake worlds in time.
    Cpu,
}

impl Shortage {
    /// Every one, the graver first.
    pub const ALL: [Self; 2] = [Self::Memory, Self::Cpu];

    /// Metric label.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Cpu => "load",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_replies_and_refusals_survive_their_encoding() {
        let visitor = Visitor { session: SessionKey(7), ticket: Some(2), from: Some(WorldId(1)) };
        let new = NewInstance {
            id: Uuid::from_u128(5),
            template: "Hall".into(),
            name: Some("Name".into()),
            owner: Some(AgentId(Uuid::from_u128(6))),
            created_s: -1,
            maker: Some(Maker { token: "token".into(), instances_max: Some(3) }),
        };
        let requests = [
            InstanceRequest::Open(new.clone()),
            InstanceRequest::EnterOwn { new, visitor },
            InstanceRequest::Enter { instance: Uuid::from_u128(5), visitor, position: Some(Vec3::ONE) },
            InstanceRequest::EnterWorld { world: WorldId(9), visitor, position: Vec3::X },
            InstanceRequest::Dismiss(visitor),
            InstanceRequest::End(Uuid::from_u128(5)),
        ];
        for request in requests {
            let bytes = postcard::to_stdvec(&(RequestId(1), &request)).unwrap();
            assert_eq!(postcard::from_bytes(&bytes), Ok((RequestId(1), request)));
        }
        let replies = [
            Ok(InstanceReply::Admitted(Uuid::from_u128(5))),
            Err(InstanceRefusal::Quota { token: "token".into(), max: 3 }),
            Err(InstanceRefusal::Shortage(Shortage::Cpu)),
        ];
        for reply in replies {
            let bytes = postcard::to_stdvec(&reply).unwrap();
            assert_eq!(postcard::from_bytes(&bytes), Ok(reply));
        }
    }
}
