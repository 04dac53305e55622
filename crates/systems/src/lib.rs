//! Systems of the server: the units of cost accounting, and their entry points.
//!
//! A system is one or a few functions. Each is `#[inline(never)]`, so that a profile shows it under its name, and begins with
//! [`System::enter`]. In a server that reads a thread-local and does nothing more. On a thread with a [`burden`], which only workloads
//! of the simulator have, it makes the system more expensive by known work: a test of the size of slowdown that a comparison of two
//! builds still detects.
//!
//! This crate measures nothing, and returns nothing to the caller.

pub mod burden;

/// Unit of cost accounting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum System {
    /// Commands take effect.
    WorldInbox,
    /// Steering and physics.
    WorldMovement,
    /// NPCs: senses, thoughts, paths, walking.
    WorldNpcs,
    /// Assembly of a frame.
    WorldTell,
    /// Parts of snapshots for replicas that missed something.
    WorldResync,
    /// Frames to wire blocks.
    ReplicaEncode,
    /// Blocks into the replica that shards read.
    ReplicaPublish,
    /// Datagrams of clients.
    ShardReceive,
    /// Mail from hub and worlds.
    ShardMail,
    /// Clients' turns: selection and writing of each client's updates.
    ShardClient,
    /// Acks that cannot wait for a turn.
    ShardAcks,
    /// Sessions: logins, teleports, event queues.
    Hub,
    /// Inbound headers, zero-coding, acks and duplicates.
    CircuitReceive,
    /// Outbound order, pace, resends and headers.
    CircuitTransmit,
}

impl System {
    /// Every system.
    pub const ALL: [Self; 14] = [
        Self::WorldInbox,
        Self::WorldMovement,
        Self::WorldNpcs,
        Self::WorldTell,
        Self::WorldResync,
        Self::ReplicaEncode,
        Self::ReplicaPublish,
        Self::ShardReceive,
        Self::ShardMail,
        Self::ShardClient,
        Self::ShardAcks,
        Self::Hub,
        Self::CircuitReceive,
        Self::CircuitTransmit,
    ];

    /// Name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::WorldInbox => "world.inbox",
            Self::WorldMovement => "world.movement",
            Self::WorldNpcs => "world.npcs",
            Self::WorldTell => "world.tell",
            Self::WorldResync => "world.resync",
            Self::ReplicaEncode => "replica.encode",
            Self::ReplicaPublish => "replica.publish",
            Self::ShardReceive => "shard.receive",
            Self::ShardMail => "shard.mail",
            Self::ShardClient => "shard.client",
            Self::ShardAcks => "shard.acks",
            Self::Hub => "hub",
            Self::CircuitReceive => "circuit.receive",
            Self::CircuitTransmit => "circuit.transmit",
        }
    }

    /// Functions that begin with [`Self::enter`], as a profile shows them: demangled, without hash. A test of crate `preflight`
    /// profiles a build and reports functions under other names.
    #[must_use]
    pub const fn functions(self) -> &'static [&'static str] {
        match self {
            Self::WorldInbox => &["world::inbox::InboxPhase::receive"],
            Self::WorldMovement => &["world::movement::Movement::move_avatars"],
            Self::WorldNpcs => &["world::npc::Npcs::step"],
            Self::WorldTell => &["world::delta::Delta::write_changes"],
            Self::WorldResync => &["world::resync::Resync::write_next_part"],
            Self::ReplicaEncode => &["replicate::encoder::Encoder::encode"],
            Self::ReplicaPublish => &["replicate::publisher::Publisher::publish"],
            Self::ShardReceive => &["gateway::shard::Shard::handle_datagram"],
            Self::ShardMail => &["gateway::shard::deliveries::<impl gateway::shard::Shard>::handle"],
            Self::ShardClient => &["gateway::shard::stream::<impl gateway::shard::Shard>::visit"],
            Self::ShardAcks => &["gateway::shard::circuits::<impl gateway::shard::Shard>::send_due_acks"],
            Self::Hub => &[
                "gateway::hub::Hub::login",
                "gateway::hub::Hub::handle",
                "gateway::hub::Hub::handle_timeout",
                "gateway::hub::Hub::poll_events",
            ],
            Self::CircuitReceive => &["circuit::receive::<impl circuit::circuit::Circuit>::handle_datagram"],
            Self::CircuitTransmit => &["circuit::transmit::<impl circuit::circuit::Circuit>::poll_transmit"],
        }
    }

    /// The system of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|system| system.name() == name)
    }

    /// The system begins. Called first thing in each of its functions, and nowhere else.
    #[inline]
    pub fn enter(self) {
        burden::spin_burden(self);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_again_and_are_distinct() {
        for (n, system) in System::ALL.into_iter().enumerate() {
            assert_eq!(System::named(system.name()), Some(system));
            assert_eq!(system as usize, n);
        }
        assert_eq!(System::named("world"), None);
    }
}
