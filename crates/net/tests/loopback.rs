//! Sockets of this crate against each other and against the standard library's, over loopback.

use net::{
    Events, FlushStatus, Interest, Poller, RECV_SLOT_BYTES, ReceivedDatagram, RecvBatch, SendBatch, SendDrop,
    SocketOptions, UdpSocket,
};
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::time::{Duration, SystemTime};

fn bind(ip: Ipv4Addr) -> UdpSocket {
    UdpSocket::bind(SocketAddrV4::new(ip, 0), &SocketOptions::default()).unwrap()
}

/// A plain socket that waits at most a minute for an answer.
fn plain() -> std::net::UdpSocket {
    let socket = std::net::UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    socket
}

/// Waits for datagrams and hands each to `look` until `count` have come.
fn receive(socket: &mut UdpSocket, count: usize, mut look: impl FnMut(ReceivedDatagram<'_>)) {
    let poller = Poller::new().unwrap();
    poller.add(&*socket, 0, Interest::Readable).unwrap();
    let (mut events, mut batch) = (Events::with_capacity(1), RecvBatch::new());
    let mut received = 0;
    while received < count {
        poller.wait(&mut events, Some(Duration::from_secs(60))).unwrap();
        assert!(events.iter().next().is_some(), "{received} of {count} datagrams came within a minute");
        assert_eq!(socket.recv_batch(&mut batch).unwrap(), batch.len());
        batch.iter().for_each(&mut look);
        received += batch.len();
    }
    assert_eq!(received, count);
}

fn send(from: &UdpSocket, to: SocketAddrV4, datagrams: impl IntoIterator<Item = Vec<u8>>) -> SendBatch {
    let mut batch = SendBatch::new();
    for bytes in datagrams {
        batch.push(to, Ipv4Addr::UNSPECIFIED, &bytes);
    }
    assert_eq!(batch.flush(from), FlushStatus::Done);
    batch
}

#[test]
fn batches_keep_the_order_and_the_bounds_of_datagrams() {
    let (sender, mut receiver) = (bind(Ipv4Addr::LOCALHOST), bind(Ipv4Addr::LOCALHOST));
    let datagrams: Vec<Vec<u8>> = (0..100u8).map(|i| vec![i; 1 + usize::from(i) * 10]).collect();
    let sent = send(&sender, receiver.local_addr(), datagrams.clone());
    assert_eq!(sent.counters().sent, 100);
    assert_eq!(sent.counters().sent_bytes, datagrams.iter().map(|bytes| bytes.len() as u64).sum::<u64>());

    let mut received = Vec::new();
    receive(&mut receiver, datagrams.len(), |datagram| {
        assert_eq!((datagram.remote, datagram.local), (sender.local_addr(), Ipv4Addr::LOCALHOST));
        assert!(!datagram.truncated);
        received.push(datagram.bytes.to_vec());
    });
    assert_eq!(received, datagrams);
}

#[test]
fn a_burst_arrives_as_the_datagrams_that_it_was_made_of() {
    let (sender, mut receiver) = (bind(Ipv4Addr::UNSPECIFIED), bind(Ipv4Addr::LOCALHOST));
    assert!(sender.segments(), "Linux 4.18 and later can cut bursts apart");
    // 70 equal ones are two bursts, the shorter one ends the second, the longer one stands alone.
    let lengths = [1_152; 70].into_iter().chain([300, 900]);
    let datagrams: Vec<Vec<u8>> = (0u8..).zip(lengths).map(|(i, length)| vec![i; length]).collect();
    let mut batch = SendBatch::segmenting(&sender);
    for bytes in &datagrams {
        batch.push(receiver.local_addr(), Ipv4Addr::new(127, 0, 0, 5), bytes);
    }
    assert_eq!(batch.flush(&sender), FlushStatus::Done);
    let counters = batch.counters();
    assert_eq!((counters.sent, counters.segmented, counters.bursts_refused), (72, 71, 0));

    let mut received = Vec::new();
    receive(&mut receiver, datagrams.len(), |datagram| {
        assert_eq!(*datagram.remote.ip(), Ipv4Addr::new(127, 0, 0, 5));
        received.push(datagram.bytes.to_vec());
    });
    assert_eq!(received, datagrams);
}

/// The wall clock, since 1970.
#[expect(clippy::disallowed_methods, reason = "the kernel's times are measured against this clock")]
fn now_unix() -> Duration {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap()
}

#[test]
fn datagrams_say_when_they_arrived_if_the_socket_asks() {
    let options = SocketOptions { arrival_times: true, ..SocketOptions::default() };
    let mut asking = UdpSocket::bind(SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0), &options).unwrap();
    let mut other = bind(Ipv4Addr::LOCALHOST);
    let before = now_unix();
    send(&other, asking.local_addr(), [vec![1], vec![2; 900]]);
    send(&asking, other.local_addr(), [vec![3]]);
    receive(&mut asking, 2, |datagram| {
        let (arrived, now) = (datagram.arrived_unix.expect("a time of arrival"), now_unix());
        assert!(before <= arrived && arrived <= now, "{before:?} {arrived:?} {now:?}");
        assert_eq!(datagram.age(now), Some(now - arrived));
        assert_eq!(
            datagram.age(before - Duration::from_secs(1)),
            Some(Duration::ZERO),
            "the clock was set back"
        );
    });
    receive(&mut other, 1, |datagram| {
        assert_eq!((datagram.arrived_unix, datagram.age(before)), (None, None));
    });
}

#[test]
fn a_batch_takes_no_more_than_its_capacity() {
    let mut receiver = bind(Ipv4Addr::LOCALHOST);
    send(&receiver, receiver.local_addr(), [vec![1], vec![2], vec![3]]);
    let mut batch = RecvBatch::with_capacity(2);
    let mut lengths = Vec::new();
    while lengths.iter().sum::<usize>() < 3 {
        lengths.push(receiver.recv_batch(&mut batch).unwrap());
        assert_eq!(batch.is_full(), batch.len() == 2);
    }
    assert_eq!(receiver.recv_batch(&mut batch).unwrap(), 0);
    assert!(batch.is_empty() && lengths.iter().all(|&length| length <= 2), "{lengths:?}");
}

#[test]
fn the_number_that_the_last_call_found_changes_nothing() {
    let mut receiver = bind(Ipv4Addr::LOCALHOST);
    for capacity in [1, 3, 4, 5, 64] {
        let mut batch = RecvBatch::with_capacity(capacity);
        for n in [1, 3, 4, 5, 9, 2, 30, 0, 63, 1] {
            send(&receiver, receiver.local_addr(), (0..n).map(|byte| vec![byte]));
            let mut found = Vec::new();
            while found.len() < usize::from(n) {
                let waiting = usize::from(n) - found.len();
                assert_eq!(receiver.recv_batch(&mut batch).unwrap(), waiting.min(capacity), "{capacity}");
                found.extend(batch.iter().map(|datagram| datagram.bytes[0]));
            }
            assert_eq!(found, (0..n).collect::<Vec<_>>(), "{capacity}");
            assert_eq!(receiver.recv_batch(&mut batch).unwrap(), 0);
        }
    }
}

#[test]
fn a_wildcard_socket_answers_from_the_address_that_was_asked() {
    let mut server = bind(Ipv4Addr::UNSPECIFIED);
    let asked = Ipv4Addr::new(127, 0, 0, 77);
    let client = plain();
    client.send_to(b"hello", (asked, server.local_addr().port())).unwrap();

    let mut answers = SendBatch::new();
    receive(&mut server, 1, |datagram| {
        assert_eq!(datagram.local, asked);
        answers.push(datagram.remote, datagram.local, b"welcome");
    });
    assert_eq!(answers.flush(&server), FlushStatus::Done);

    let mut bytes = [0; 16];
    let (length, from) = client.recv_from(&mut bytes).unwrap();
    assert_eq!(
        (&bytes[..length], from),
        (&b"welcome"[..], SocketAddr::from((asked, server.local_addr().port())))
    );
}

#[test]
fn an_oversized_datagram_is_cut_and_flagged() {
    let (sender, mut receiver) = (bind(Ipv4Addr::LOCALHOST), bind(Ipv4Addr::LOCALHOST));
    send(
        &sender,
        receiver.local_addr(),
        [vec![1; RECV_SLOT_BYTES + 1], vec![2; RECV_SLOT_BYTES], vec![3; 5]],
    );
    let mut seen = Vec::new();
    receive(&mut receiver, 3, |datagram| {
        seen.push((datagram.bytes[0], datagram.bytes.len(), datagram.truncated));
    });
    assert_eq!(seen, [(1, RECV_SLOT_BYTES, true), (2, RECV_SLOT_BYTES, false), (3, 5, false)]);
}

#[test]
fn a_refused_datagram_does_not_stop_the_others() {
    let (sender, mut receiver) = (bind(Ipv4Addr::LOCALHOST), bind(Ipv4Addr::LOCALHOST));
    let sent = send(&sender, receiver.local_addr(), [vec![1], vec![2; 70_000], vec![3]]);
    assert_eq!((sent.counters().sent, sent.counters().dropped(SendDrop::TooLong)), (2, 1));
    let mut seen = Vec::new();
    receive(&mut receiver, 2, |datagram| seen.push(datagram.bytes[0]));
    assert_eq!(seen, [1, 3]);
}

#[test]
fn an_unreachable_source_address_is_counted() {
    let (sender, receiver) = (bind(Ipv4Addr::UNSPECIFIED), bind(Ipv4Addr::LOCALHOST));
    let mut batch = SendBatch::new();
    batch.push(receiver.local_addr(), Ipv4Addr::new(192, 0, 2, 1), b"x");
    assert_eq!(batch.flush(&sender), FlushStatus::Done);
    assert_eq!(batch.counters().sent, 0);
}

#[test]
fn datagrams_that_overflow_the_receive_buffer_are_counted() {
    let options = SocketOptions { receive_buffer_bytes: 4096, ..SocketOptions::default() };
    let mut receiver = UdpSocket::bind(SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0), &options).unwrap();
    let sender = bind(Ipv4Addr::LOCALHOST);
    let mut batch = RecvBatch::new();
    let mut received = 0;
    send(&sender, receiver.local_addr(), vec![vec![0; 1000]; 50]);
    while receiver.recv_batch(&mut batch).unwrap() > 0 {
        received += batch.len() as u64;
    }
    assert_eq!(receiver.receive_drops(), 0, "the count comes with the first datagram after the loss");
    send(&sender, receiver.local_addr(), [vec![0; 1000]]);
    receive(&mut receiver, 1, |_| {});
    assert_eq!(receiver.receive_drops(), 50 - received);
}

#[test]
fn an_empty_datagram_is_received_as_one() {
    let mut server = bind(Ipv4Addr::LOCALHOST);
    plain().send_to(b"", server.local_addr()).unwrap();
    receive(&mut server, 1, |datagram| assert_eq!(datagram.bytes, b""));
}

#[test]
fn every_client_of_a_group_reaches_one_and_the_same_socket() {
    let addr = SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0);
    let mut group = UdpSocket::bind_group(addr, &SocketOptions::default(), 2).unwrap();
    let client = bind(Ipv4Addr::LOCALHOST);
    send(&client, group[0].local_addr(), vec![vec![0]; 20]);
    let mut batch = RecvBatch::new();
    let counts: Vec<usize> = group.iter_mut().map(|socket| socket.recv_batch(&mut batch).unwrap()).collect();
    assert!(counts == [20, 0] || counts == [0, 20], "{counts:?}");
}
