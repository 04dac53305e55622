//! Control messages: the side channel of `recvmsg`/`sendmsg` that carries local addresses, drop counts, times of
//! arrival and sizes of segments.
//!
//! Both directions are plain byte work on a copied buffer, so nothing here is `unsafe`. Layout of one message
//! (`cmsg(3)`), in native byte order, each starting at a multiple of the word size:
//!
//! ```text
//! length: usize (header and data, without padding) | level: i32 | type: i32 | data …
//! ```

use std::net::Ipv4Addr;
use std::time::Duration;

const WORD: usize = size_of::<usize>();
const HEADER: usize = size_of::<libc::cmsghdr>();
const PKTINFO: usize = size_of::<libc::in_pktinfo>();
const SEGMENT: usize = size_of::<u16>();
/// Seconds and nanoseconds, a word each: the kernel's layout for this option, independent of `time_t`.
const STAMP: usize = 2 * WORD;
const NANOS_PER_S: usize = 1_000_000_000;

/// Bytes of one message with this much data, padding included.
const fn space(data: usize) -> usize {
    (HEADER + data).next_multiple_of(WORD)
}

/// Control bytes of a receive call: packet info, drop count and time stamp.
pub(crate) const RECV_BYTES: usize = space(PKTINFO) + space(size_of::<u32>()) + space(STAMP);

/// Control bytes of a send call at most: packet info and segment size.
pub(crate) const SEND_BYTES: usize = space(PKTINFO) + space(SEGMENT);

/// A buffer with the alignment that the kernel's view of it wants.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(8))]
pub(crate) struct Aligned<const N: usize>(pub(crate) [u8; N]);

/// Kernel's report on a received datagram.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ControlReport {
    /// The local address that the datagram was sent to, in the form that an answer may use as its source.
    pub(crate) local: Option<Ipv4Addr>,
    /// Datagrams that the socket has dropped since it was opened because its buffer was full; wraps.
    pub(crate) dropped: Option<u32>,
    /// Arrival by the wall clock, since 1970, stamped at the device. `None` unless the socket requests stamps.
    pub(crate) arrived_unix: Option<Duration>,
}

/// Parses the control messages of `recvmmsg`. Other kinds are skipped; a truncated message ends the list.
pub(crate) fn read(mut bytes: &[u8]) -> ControlReport {
    let mut received = ControlReport::default();
    while let Some((message, rest)) = split(bytes) {
        match (message.level, message.kind) {
            (libc::IPPROTO_IP, libc::IP_PKTINFO) => {
                // in_pktinfo is interface index, source for answers, destination in the header; four bytes each.
                received.local = field(message.data, 4).map(Ipv4Addr::from);
            }
            (libc::SOL_SOCKET, libc::SO_RXQ_OVFL) => {
                received.dropped = field(message.data, 0).map(u32::from_ne_bytes);
            }
            // The answer has the option's number.
            (libc::SOL_SOCKET, libc::SO_TIMESTAMPNS) => received.arrived_unix = stamp(message.data),
            _ => {}
        }
        bytes = rest;
    }
    received
}

/// Writes the messages that make a datagram leave from `source` (the kernel chooses the interface), and cut it into datagrams
/// of `segment` bytes. Returns how many bytes of `out` they take.
pub(crate) fn write(
    source: Option<Ipv4Addr>,
    segment: Option<u16>,
    Aligned(out): &mut Aligned<SEND_BYTES>,
) -> usize {
    let mut at = 0;
    if let Some(source) = source {
        let mut info = [0; PKTINFO];
        info[4..8].copy_from_slice(&source.octets());
        at += write_message(libc::IPPROTO_IP, libc::IP_PKTINFO, &info, &mut out[at..]);
    }
    if let Some(segment) = segment {
        at += write_message(libc::SOL_UDP, libc::UDP_SEGMENT, &segment.to_ne_bytes(), &mut out[at..]);
    }
    at
}

fn write_message(level: i32, kind: i32, data: &[u8], out: &mut [u8]) -> usize {
    out[..WORD].copy_from_slice(&(HEADER + data.len()).to_ne_bytes());
    out[WORD..WORD + 4].copy_from_slice(&level.to_ne_bytes());
    out[WORD + 4..WORD + 8].copy_from_slice(&kind.to_ne_bytes());
    out[HEADER..HEADER + data.len()].copy_from_slice(data);
    space(data.len())
}

struct ControlMessage<'a> {
    level: i32,
    kind: i32,
    data: &'a [u8],
}

fn split(bytes: &[u8]) -> Option<(ControlMessage<'_>, &[u8])> {
    let length = usize::from_ne_bytes(field(bytes, 0)?);
    let message = ControlMessage {
        level: i32::from_ne_bytes(field(bytes, WORD)?),
        kind: i32::from_ne_bytes(field(bytes, WORD + 4)?),
        data: bytes.get(HEADER..length)?,
    };
    let next = length.next_multiple_of(WORD).min(bytes.len());
    Some((message, &bytes[next..]))
}

/// A time stamp; `None` for times before 1970 and for 10⁹ nanoseconds or more.
fn stamp(data: &[u8]) -> Option<Duration> {
    let seconds = isize::from_ne_bytes(field(data, 0)?);
    let nanos = usize::from_ne_bytes(field(data, WORD)?);
    (nanos < NANOS_PER_S).then_some(Duration::new(u64::try_from(seconds).ok()?, nanos as u32))
}

fn field<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at + N)?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(local: Ipv4Addr) -> Vec<u8> {
        let mut out = Aligned([0; SEND_BYTES]);
        let len = write(Some(local), None, &mut out);
        out.0[..len].to_vec()
    }

    #[test]
    fn written_source_reads_back() {
        let local = Ipv4Addr::new(127, 0, 0, 9);
        assert_eq!(read(&source(local)), ControlReport { local: Some(local), ..ControlReport::default() });
    }

    #[test]
    fn the_size_of_segments_stands_alone_or_behind_the_source() {
        let size_in = |bytes: &[u8]| {
            let (message, rest) = split(bytes).unwrap();
            assert_eq!((message.level, message.kind), (17, 103));
            assert!(rest.is_empty());
            message.data.to_vec()
        };
        let mut out = Aligned([0xFF; SEND_BYTES]);
        let len = write(None, Some(1_152), &mut out);
        assert_eq!(size_in(&out.0[..len]), 1_152_u16.to_ne_bytes());
        assert_eq!(write(Some(Ipv4Addr::LOCALHOST), Some(700), &mut out), SEND_BYTES);
        assert_eq!(read(&out.0).local, Some(Ipv4Addr::LOCALHOST));
        assert_eq!(size_in(split(&out.0).unwrap().1), 700_u16.to_ne_bytes());
        assert_eq!(write(None, None, &mut out), 0);
    }

    #[test]
    fn second_message_is_found_behind_the_padding_of_the_first() {
        let mut bytes = source(Ipv4Addr::LOCALHOST);
        bytes.extend((HEADER + 4).to_ne_bytes());
        bytes.extend(libc::SOL_SOCKET.to_ne_bytes());
        bytes.extend(libc::SO_RXQ_OVFL.to_ne_bytes());
        bytes.extend(77u32.to_ne_bytes());
        let local = Some(Ipv4Addr::LOCALHOST);
        assert_eq!(read(&bytes), ControlReport { local, dropped: Some(77), ..ControlReport::default() });
    }

    #[test]
    fn a_time_is_read_unless_it_makes_no_sense() {
        let read_stamp = |seconds: isize, nanos: usize| {
            let mut data = [0; STAMP];
            data[..WORD].copy_from_slice(&seconds.to_ne_bytes());
            data[WORD..].copy_from_slice(&nanos.to_ne_bytes());
            let mut bytes = [0; space(STAMP)];
            write_message(libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, &data, &mut bytes);
            read(&bytes).arrived_unix
        };
        assert_eq!(read_stamp(1_800_000_000, 7), Some(Duration::new(1_800_000_000, 7)));
        assert_eq!((read_stamp(-1, 0), read_stamp(0, NANOS_PER_S)), (None, None));
    }

    #[test]
    fn cut_messages_end_the_list() {
        let whole = source(Ipv4Addr::LOCALHOST);
        for length in 0..HEADER + PKTINFO {
            assert_eq!(read(&whole[..length]), ControlReport::default(), "{length} bytes");
        }
    }

    #[test]
    fn a_length_below_the_header_ends_the_list() {
        assert_eq!(read(&[0; 64]), ControlReport::default());
    }
}
