//! Datagrams of senders without a circuit: noise, and guessed tickets.

use crate::addresses::PORTS;
use crate::streams::{Purpose, stream};
use bots::rng::Rng;
use ids::Uuid;
use std::net::{Ipv4Addr, SocketAddrV4};
use wire::header::{Flags, write_header};
use wire::messages::{UseCircuitCode, UseCircuitCodeCircuitCode};

/// Longest noise, in bytes.
const NOISE_MAX: u64 = 600;

#[derive(Debug)]
pub(crate) struct Strangers {
    rng: Rng,
}

impl Strangers {
    pub(crate) const fn new(seed: u64) -> Self {
        Self { rng: stream(seed, Purpose::Strangers, 0) }
    }

    /// Writes the next one into `out`; says where it comes from and which port it goes to.
    pub(crate) fn next_datagram(&mut self, out: &mut Vec<u8>) -> (SocketAddrV4, u8) {
        out.clear();
        let rng = &mut self.rng;
        let host = Ipv4Addr::new(203, 0, 113, rng.next() as u8);
        let port = (rng.next() % u64::from(PORTS)) as u8;
        let ids = [(); 2].map(|()| Uuid::from_u64_pair(rng.next(), rng.next()));
        match rng.next() % 3 {
            0 => {
                let len = rng.next() % NOISE_MAX;
                out.extend((0..len).map(|_| rng.next() as u8));
            }
            kind => {
                write_header(out, Flags::RELIABLE, 1);
                let circuit_code =
                    UseCircuitCodeCircuitCode { code: rng.next() as u32, session_id: ids[0], id: ids[1] };
                UseCircuitCode { circuit_code }.encode(out);
                if kind == 1 {
                    out.truncate((rng.next() % out.len() as u64) as usize);
                }
            }
        }
        (SocketAddrV4::new(host, 1_024 + (rng.next() % 60_000) as u16), port)
    }
}
