//! Two namespaces joined by TUN devices. Needs root; without it there is nothing to check.

use net::namespace::Namespace;
use net::tun::{Tun, carry};
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
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
        // Whoever may not make namespaces cannot test them.
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
fn a_device_whose_name_is_too_long_is_refused() {
    let error = Tun::create("a-name-of-sixteen", SERVER, 24).unwrap_err();
    assert!(["name", "open /dev/net/tun for"].contains(&error.step), "{error}");
}
