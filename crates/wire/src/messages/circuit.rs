//! The life of a circuit: opening, acknowledging, pinging, pausing and closing it.

messages! {
    /// Sequence numbers of reliable datagrams that arrived. One client numbers every one of these 0, so it is
    /// handled before the duplicate filter.
    PacketAck: Fixed 0xFB, plain, from Either {
        packets: many PacketAckPackets { id: u32 }
    }

    /// Asks the receiver to open a circuit to an address. Obsolete; it is listed so that it does not count as unknown.
    OpenCircuit: Fixed 0xFC, plain, from Either {
        circuit_info: one OpenCircuitCircuitInfo { ip: Ip, port: Port }
    }

    /// The circuit ends now. No body.
    CloseCircuit: Fixed 0xFD, plain, from Either {}

    /// Asks for a [`CompletePingCheck`] at once. Every 5 s in each direction.
    StartPingCheck: High 1, plain, from Either {
        ping_id: one StartPingCheckPingID {
            /// Counts up and wraps; repeated in the answer.
            ping_id: u8,
            /// Oldest reliable datagram without an ack; its receiver may forget duplicates older than it.
            oldest_unacked: u32,
        }
    }

    /// Answer to [`StartPingCheck`]. Clients give up after 100–120 s without one.
    CompletePingCheck: High 2, plain, from Either {
        ping_id: one CompletePingCheckPingID {
            /// The number of the ping that is answered.
            ping_id: u8,
        }
    }

    /// First message of every circuit. Answered by a [`PacketAck`] alone, before anything else.
    UseCircuitCode: Low 3, plain, from Client {
        circuit_code: one UseCircuitCodeCircuitCode {
            /// From the login reply.
            code: u32,
            session_id: Uuid,
            /// The agent.
            id: Uuid,
        }
    }

    /// The client's receive rates by category of traffic; decode them with [`crate::throttle`].
    AgentThrottle: Low 81, zero_coded, from Client {
        agent_data: one AgentThrottleAgentData { agent_id: Uuid, session_id: Uuid, circuit_code: u32 }
        throttle: one AgentThrottleThrottle {
            /// Rises with every change on this circuit.
            gen_counter: u32,
            /// Seven little-endian floats in bits per second.
            throttles: Variable1,
        }
    }

    /// The client will be silent for a while (a file dialog blocks it): its idle limit is raised.
    AgentPause: Low 78, plain, from Client {
        agent_data: one AgentPauseAgentData {
            agent_id: Uuid, session_id: Uuid,
            /// Rises with each pause and resume; an older one is late.
            serial_num: u32,
        }
    }

    /// Ends an [`AgentPause`].
    AgentResume: Low 79, plain, from Client {
        agent_data: one AgentResumeAgentData {
            agent_id: Uuid, session_id: Uuid,
            /// As in [`AgentPause`].
            serial_num: u32,
        }
    }

    /// The circuit is over; ends a child circuit, or the old one after a teleport. No body.
    DisableSimulator: Low 152, plain, from Server {}
}
