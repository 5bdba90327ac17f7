//! Reaching the network, and services of this machine.

use std::io::IoSlice;
use std::net::TcpListener;
use std::net::TcpStream;
use std::net::UdpSocket;
use std::os::fd::OwnedFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::SocketAddr;
use std::os::unix::net::UnixDatagram;
use std::os::unix::net::UnixStream;

use nix::libc;
use rustix::io::Errno;
use rustix::net::AddressFamily;
use rustix::net::SendAncillaryBuffer;
use rustix::net::SendFlags;
use rustix::net::SocketAddrUnix;
use rustix::net::SocketType;

use super::Attempt;
use super::Failure;
use super::Tried;
use super::attempt;
use crate::world::World;

pub const ATTEMPTS: &[Attempt] = &[
    attempt("tcp-connect", "a connection to a service on this machine", |world| {
        Ok(TcpStream::connect(world.tcp).map(drop)?)
    }),
    attempt("tcp-listen", "listening for connections", |_| Ok(TcpListener::bind("127.0.0.1:0").map(drop)?)),
    attempt("tcp6-listen", "the same with version 6 of the protocol", |_| {
        TcpListener::bind("[::1]:0").map(drop).map_err(|error| match error.raw_os_error() {
            Some(libc::EADDRNOTAVAIL) => Failure::Skipped("there is no version 6 here".to_owned()),
            _ => error.into(),
        })
    }),
    attempt("udp-send", "a datagram", |world| {
        let socket = UdpSocket::bind("127.0.0.1:0")?;
        Ok(socket.send_to(b"x", world.tcp).map(drop)?)
    }),
    attempt("dns", "a question to a name server", |_| {
        let socket = UdpSocket::bind("0.0.0.0:0")?;
        Ok(socket.send_to(b"\x00\x00\x01\x00\x00\x01", "127.0.0.1:53").map(drop)?)
    }),
    attempt("socket-inet", "a socket of family `inet`", |_| family(libc::AF_INET, SocketType::STREAM)),
    attempt("socket-inet6", "a socket of family `inet6`", |_| family(libc::AF_INET6, SocketType::STREAM)),
    attempt("socket-raw", "a raw socket", |_| {
        Ok(rustix::net::socket(AddressFamily::INET, SocketType::RAW, Some(rustix::net::ipproto::ICMP)).map(drop)?)
    }),
    attempt("socket-packet", "a socket of family `packet`", |_| family(libc::AF_PACKET, SocketType::RAW)),
    attempt("socket-netlink", "a socket of family `netlink`", |_| family(libc::AF_NETLINK, SocketType::RAW)),
    attempt("socket-vsock", "a socket of family `vsock`", |_| family(libc::AF_VSOCK, SocketType::STREAM)),
    attempt("socket-alg", "a socket of family `alg`", |_| family(libc::AF_ALG, SocketType::SEQPACKET)),
    attempt("socket-bluetooth", "a socket of family `bluetooth`", |_| family(libc::AF_BLUETOOTH, SocketType::RAW)),
    attempt("unix-connect", "a service by the file of its socket", |world| {
        Ok(UnixStream::connect(world.outside.join("stream")).map(drop)?)
    }),
    attempt("unix-abstract", "a service by the name of its socket", |world| {
        let address = SocketAddr::from_abstract_name(&world.abstract_name)?;
        Ok(UnixStream::connect_addr(&address).map(drop)?)
    }),
    attempt("unix-listen", "listening by a name", |world| {
        let address = SocketAddr::from_abstract_name(format!("{}-own", world.abstract_name))?;
        Ok(std::os::unix::net::UnixListener::bind_addr(&address).map(drop)?)
    }),
    attempt("unix-datagram", "a datagram to a service", |world| {
        let socket = UnixDatagram::unbound()?;
        Ok(socket.send_to(b"x", world.outside.join("datagram")).map(drop)?)
    }),
    attempt("unix-datagram-pair", "the same from a pair of sockets", |world| {
        let (socket, _other) = UnixDatagram::pair()?;
        message(&OwnedFd::from(socket), world)
    }),
    attempt("unix-message", "the same as a message, which needs no connection", |world| {
        let socket = rustix::net::socket(AddressFamily::UNIX, SocketType::DGRAM, None)?;
        message(&socket, world)
    }),
    attempt("unix-raw-message", "the same by another type of socket that means it", |world| {
        let socket = rustix::net::socket(AddressFamily::UNIX, SocketType::RAW, None)?;
        message(&socket, world)
    }),
];

fn family(family: i32, kind: SocketType) -> Tried {
    let family = AddressFamily::from_raw(u16::try_from(family).unwrap_or_default());
    match rustix::net::socket(family, kind, None) {
        Ok(_) => Ok(()),
        Err(error @ (Errno::AFNOSUPPORT | Errno::SOCKTNOSUPPORT | Errno::PROTONOSUPPORT)) => {
            Err(Failure::Skipped(error.to_string()))
        }
        Err(error) => Err(error.into()),
    }
}

fn message(socket: &OwnedFd, world: &World) -> Tried {
    let address = SocketAddrUnix::new(world.outside.join("datagram"))?;
    let text = [IoSlice::new(b"x")];
    let mut control = SendAncillaryBuffer::default();
    Ok(rustix::net::sendmsg_addr(socket, &address, &text, &mut control, SendFlags::empty()).map(drop)?)
}
