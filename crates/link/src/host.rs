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

    /// A value of each variant of an enumeration. The match has no wildcard: a variant without a value does not compile.
    macro_rules! one_of_each {
        ($Type:ty { $($pattern:pat => $value:expr,)* }) => {{
            let _ = |value: &$Type| match value { $($pattern => {})* };
            let values: Vec<$Type> = vec![$({
                let value = $value;
                assert!(matches!(value, $pattern), "{value:?} is not {}", stringify!($pattern));
                value
            }),*];
            values
        }};
    }

    fn assert_survives<T>(value: &T)
    where
        T: std::fmt::Debug + PartialEq + Serialize + serde::de::DeserializeOwned,
    {
        let bytes = postcard::to_stdvec(value).unwrap();
        assert_eq!(postcard::from_bytes::<T>(&bytes).as_ref(), Ok(value));
    }

    #[test]
    fn requests_survive_their_encoding() {
        let visitor = Visitor { session: SessionKey(7), ticket: Some(2), from: Some(WorldId(1)) };
        let id = Uuid::from_u128(5);
        let new = NewInstance {
            id,
            template: "Hall".into(),
            name: Some("Name".into()),
            owner: Some(AgentId(Uuid::from_u128(6))),
            created_s: -1,
            maker: Some(Maker { token: "token".into(), instances_max: Some(3) }),
        };
        let mut requests = one_of_each!(InstanceRequest {
            InstanceRequest::Open(_) => InstanceRequest::Open(new.clone()),
            InstanceRequest::Enter { .. } => {
                InstanceRequest::Enter { instance: id, visitor, position: Some(Vec3::ONE) }
            },
            InstanceRequest::EnterWorld { .. } => {
                InstanceRequest::EnterWorld { world: WorldId(9), visitor, position: Vec3::X }
            },
            InstanceRequest::EnterOwn { .. } => InstanceRequest::EnterOwn { new, visitor },
            InstanceRequest::Dismiss(_) => InstanceRequest::Dismiss(visitor),
            InstanceRequest::Suspend(_) => InstanceRequest::Suspend(id),
            InstanceRequest::Resume(_) => InstanceRequest::Resume(id),
            InstanceRequest::End(_) => InstanceRequest::End(id),
        });
        let outside = Visitor { ticket: None, from: None, ..visitor };
        requests.push(InstanceRequest::Enter { instance: id, visitor: outside, position: None });
        requests.into_iter().for_each(|request| assert_survives(&(RequestId(1), request)));
    }

    #[test]
    fn replies_survive_their_encoding() {
        let id = Uuid::from_u128(5);
        let replies = one_of_each!(InstanceReply {
            InstanceReply::Created(_) => InstanceReply::Created(id),
            InstanceReply::Exists(_) => InstanceReply::Exists(id),
            InstanceReply::Admitted(_) => InstanceReply::Admitted(id),
            InstanceReply::Dismissed => InstanceReply::Dismissed,
            InstanceReply::Suspended(_) => InstanceReply::Suspended(id),
            InstanceReply::Active(_) => InstanceReply::Active(id),
            InstanceReply::Ended(_) => InstanceReply::Ended(id),
        });
        for reply in replies {
            assert_survives::<Result<InstanceReply, InstanceRefusal>>(&Ok(reply));
        }
    }

    #[test]
    fn refusals_survive_their_encoding() {
        let id = Uuid::from_u128(5);
        let cause = || Arc::from("A cause.");
        let refusals = one_of_each!(InstanceRefusal {
            InstanceRefusal::NoTemplate { .. } => {
                InstanceRefusal::NoTemplate { wanted: "Hell".into(), known: "Hall".into() }
            },
            InstanceRefusal::TemplateGone(_) => InstanceRefusal::TemplateGone("Hall".into()),
            InstanceRefusal::NoInstance(_) => InstanceRefusal::NoInstance(id),
            InstanceRefusal::Ended => InstanceRefusal::Ended,
            InstanceRefusal::Full(_) => InstanceRefusal::Full(7),
            InstanceRefusal::ActiveFull(_) => InstanceRefusal::ActiveFull(7),
            InstanceRefusal::Quota { .. } => InstanceRefusal::Quota { token: "token".into(), max: 3 },
            InstanceRefusal::PortalsFull(_) => InstanceRefusal::PortalsFull(7),
            InstanceRefusal::UserQuota(_) => InstanceRefusal::UserQuota(7),
            InstanceRefusal::Owned => InstanceRefusal::Owned,
            InstanceRefusal::Taken(_) => InstanceRefusal::Taken(id),
            InstanceRefusal::LocalIds(_) => InstanceRefusal::LocalIds(1_000),
            InstanceRefusal::Name => InstanceRefusal::Name,
            InstanceRefusal::Shortage(Shortage::Memory) => InstanceRefusal::Shortage(Shortage::Memory),
            InstanceRefusal::Shortage(Shortage::Cpu) => InstanceRefusal::Shortage(Shortage::Cpu),
            InstanceRefusal::InUse => InstanceRefusal::InUse,
            InstanceRefusal::Blocked(_) => InstanceRefusal::Blocked(cause()),
            InstanceRefusal::Failed(_) => InstanceRefusal::Failed(cause()),
            InstanceRefusal::Passage(_) => InstanceRefusal::Passage(cause()),
            InstanceRefusal::Busy => InstanceRefusal::Busy,
            InstanceRefusal::Stopping => InstanceRefusal::Stopping,
        });
        for refusal in refusals {
            assert_survives::<Result<InstanceReply, InstanceRefusal>>(&Err(refusal));
        }
    }
}
