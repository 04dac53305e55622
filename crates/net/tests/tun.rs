//! Two namespaces joined by TUN devices. Needs root; without it there is nothing to check.

use net::device::Device;
use net::namespace::Namespace;
use net::tun::{Tun, carry};
use net::{Events, FlushStatus, Interest, Poller, RecvBatch, SendBatch, SocketOptions};
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, UdpSocket};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::Duration;

const SERVER: Ipv4Addr = Ipv4Addr::new(10, 99, 0, 1);
const CLIENT: Ipv4Addr = Ipv4Addr::new(10, 99, 0, 2);

/// Long enough for any machine; only a failure takes it.
const PATIENCE: Duration = Duration::from_secs(10);

fn socket(address: Ipv4Addr) -> UdpSocket {
    let socket = UdpSocket::bind((address, 0)).expect("the device has this address");
    socket.set_read_timeout(Some(PATIENCE)).expect("a time above zero");
    socket
}

#[test]
fn datagrams_pass_between_namespaces_both_ways_whole_and_unharmed() {
    let server = match Namespace::create() {
        Ok(namespace) => namespace,
        // A user without the right to make namespaces cannot test them.
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => return,
        Err(error) => panic!("{error}"),
    };
    let client = Namespace::create().expect("as before");
    let near = server.run(|| Tun::create("tun0", SERVER, 24)).expect("a device");
    let far = client.run(|| Tun::create("tun0", CLIENT, 24)).expect("a device of the same name elsewhere");
    assert_eq!(near.has_uso(), far.has_uso());
    let (near, far) = (Arc::new(near.into_fd()), Arc::new(far.into_fd()));
    for (from, to) in [(&near, &far), (&far, &near)] {
        let (from, to) = (Arc::clone(from), Arc::clone(to));
        std::thread::spawn(move || carry(from.as_fd(), to.as_fd()));
    }

    let (server_socket, client_socket) = (server.run(|| socket(SERVER)), client.run(|| socket(CLIENT)));
    let server_addr = server_socket.local_addr().unwrap();
    assert!(
        UdpSocket::bind(SocketAddr::from((SERVER, 0))).is_err(),
        "the device's address is in its namespace only"
    );
    let sent: Vec<Vec<u8>> = (0..100_u8).map(|n| vec![n; 1_400]).collect();
    let mut buffer = [0; 2_048];
    for datagram in &sent {
        client_socket.send_to(datagram, server_addr).unwrap();
        let (length, from) = server_socket.recv_from(&mut buffer).expect("it arrives");
        assert_eq!(&buffer[..length], datagram);
        server_socket.send_to(&buffer[..length], from).unwrap();
        let length = client_socket.recv(&mut buffer).expect("the echo arrives");
        assert_eq!(&buffer[..length], datagram);
    }
}

#[test]
fn clients_behind_a_device_exchange_datagrams_and_bursts_with_a_server() {
    let outer = match Namespace::create() {
        Ok(namespace) => namespace,
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => return,
        Err(error) => panic!("{error}"),
    };
    // Found again by the process that lives there: ours, whose main thread does not, so it has to be that thread's.
    let thread = outer.run(|| std::fs::read_link("/proc/thread-self").expect("a thread"));
    let tid =
        thread.file_name().and_then(|tid| tid.to_str()).and_then(|tid| tid.parse().ok()).expect("a number");
    let server = Namespace::of_process(tid).expect("it is there");
    let tun = server.run(|| Tun::create("bots", SERVER, 24)).expect("a device");
    let (uso, device) = (tun.has_uso(), Device::new(tun).expect("a device"));
    let mut socket = outer
        .run(|| net::UdpSocket::bind(SocketAddrV4::new(SERVER, 0), &SocketOptions::default()))
        .expect("the address is in this namespace");
    let hosts = [2, 77].map(|host| SocketAddrV4::new(Ipv4Addr::new(10, 99, 0, host), 12_035));

    let (poller, mut events) = (Poller::new().unwrap(), Events::with_capacity(4));
    poller.add(&socket, 0, Interest::Readable).unwrap();
    poller.add(&device, 1, Interest::Readable).unwrap();
    let mut wait_for = |token| {
        while !events.iter().any(|event| event.token == token) {
            poller.wait(&mut events, Some(PATIENCE)).unwrap();
        }
    };
    let mut batch = SendBatch::new();
    for host in hosts {
        batch.push(socket.local_addr(), Ipv4Addr::UNSPECIFIED, &host.ip().octets());
        assert_eq!(batch.flush_into(&device, host), FlushStatus::Done);
    }
    wait_for(0);
    let mut received = RecvBatch::new();
    assert_eq!(socket.recv_batch(&mut received).unwrap(), 2);
    let seen: Vec<_> = received.iter().map(|datagram| (datagram.remote, datagram.bytes.to_vec())).collect();
    assert_eq!(seen, hosts.map(|host| (host, host.ip().octets().to_vec())));

    let mut answers = SendBatch::segmenting(&socket);
    let long: Vec<Vec<u8>> = (0..5_u8).map(|n| vec![n; 1_000]).collect();
    long.iter().for_each(|datagram| answers.push(hosts[1], Ipv4Addr::UNSPECIFIED, datagram));
    answers.push(hosts[0], Ipv4Addr::UNSPECIFIED, b"short");
    assert_eq!(answers.flush(&socket), FlushStatus::Done);
    wait_for(1);
    let (mut reads, mut arrived) = (0, Vec::new());
    let mut buffer = Device::buffer();
    while let Some(packet) = device.recv(&mut buffer).unwrap() {
        reads += 1;
        assert_eq!(packet.remote, socket.local_addr());
        arrived.extend(packet.datagrams().map(|datagram| (packet.local, datagram.to_vec())));
    }
    let mut expected: Vec<_> = long.into_iter().map(|datagram| (hosts[1], datagram)).collect();
    expected.push((hosts[0], b"short".to_vec()));
    assert_eq!(arrived, expected);
    assert_eq!(reads, if uso { 2 } else { 6 }, "a burst passes in one piece where the kernel can do so");
}

#[test]
fn a_device_whose_name_is_too_long_is_refused() {
    let error = Tun::create("a-name-of-sixteen", SERVER, 24).unwrap_err();
    assert!(["name", "open /dev/net/tun for"].contains(&error.step), "{error}");
}
