//! Sees what a machine sends.

use std::{
    collections::BTreeSet,
    fs,
    io::Read,
    process::{Child, Command, Stdio},
};

use crate::support::network::Place;

/// Prints a line for every packet that leaves: interface, protocol, destination, port.
const SCRIPT: &str = r"
import socket, struct, sys, time
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
print('ready', flush=True)
names = {1: 'icmp', 2: 'igmp', 6: 'tcp', 17: 'udp', 58: 'icmp6'}
while True:
    data, (interface, kind, direction, *_) = s.recvfrom(65535)
    if direction != 4:
        continue
    body, protocol, to, port = data[14:], '', '', 0
    if kind == 0x0806:
        protocol, to = 'arp', socket.inet_ntoa(body[24:28])
    elif kind == 0x0800:
        protocol, to, rest = body[9], socket.inet_ntoa(body[16:20]), body[(body[0] & 15) * 4:]
    elif kind == 0x86dd:
        protocol, to, rest = body[6], socket.inet_ntop(socket.AF_INET6, body[24:40]), body[40:]
        if protocol == 0:
            protocol = rest[0]
    else:
        protocol = 'ethertype %04x' % kind
    protocol = names.get(protocol, protocol)
    if protocol in ('udp', 'tcp'):
        port = struct.unpack('!H', rest[2:4])[0]
    print(interface, protocol, to, port, len(data), flush=True)
";

/// Packets that went one way: so many, of so many bytes in all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Sent {
    pub(super) interface: String,
    pub(super) protocol: String,
    pub(super) to: String,
    pub(super) port: u16,
    pub(super) bytes: u64,
}

/// A watch over a place.
pub(super) struct Watch(Child);

impl Watch {
    /// Begins; `None`, and a reason printed, where nothing can be seen on this machine.
    pub(super) fn begin(place: &Place) -> Option<Self> {
        let mut command = Command::new("python3");
        command.args(["-c", SCRIPT]);
        let mut command = place.inside(command);
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut ready = [0; 6];
        if child.stdout.as_mut().unwrap().read_exact(&mut ready).is_err() {
            let mut said = String::new();
            drop(child.stderr.as_mut().unwrap().read_to_string(&mut said));
            drop(child.wait());
            println!("packets are not looked at one by one: {said}");
            return None;
        }
        Some(Self(child))
    }

    /// What was sent since.
    pub(super) fn end(mut self) -> Vec<Sent> {
        self.0.kill().unwrap();
        let mut text = String::new();
        self.0.stdout.take().unwrap().read_to_string(&mut text).unwrap();
        self.0.wait().unwrap();
        let sent = |line: &str| {
            let words: Vec<&str> = line.split(' ').collect();
            let [interface, protocol, to, port, bytes] = words.try_into().ok()?;
            let (port, bytes) = (port.parse().ok()?, bytes.parse().ok()?);
            Some(Sent { interface: interface.into(), protocol: protocol.into(), to: to.into(), port, bytes })
        };
        text.lines().filter_map(sent).collect()
    }
}

/// The sockets of a process, and of those that it started, that reach further than this machine's files, each in a line.
pub(super) fn network_sockets(pid: u32) -> BTreeSet<String> {
    let inode = |entry: fs::DirEntry| {
        let target = fs::read_link(entry.path()).ok()?;
        let text = target.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?;
        Some(text.to_owned())
    };
    let mut mine = BTreeSet::new();
    for pid in family(pid) {
        let open = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
        mine.extend(open.filter_map(inode));
    }
    let mut found = BTreeSet::new();
    for (table, column) in
        [("tcp", 9), ("tcp6", 9), ("udp", 9), ("udp6", 9), ("raw", 9), ("raw6", 9), ("packet", 8), ("netlink", 9)]
    {
        let text = fs::read_to_string(format!("/proc/{pid}/net/{table}")).unwrap_or_default();
        for line in text.lines().skip(1) {
            let fields: Vec<&str> = line.split_whitespace().collect();
            if fields.get(column).is_some_and(|inode| mine.contains(*inode)) {
                found.insert(format!("{table} {}", fields[1]));
            }
        }
    }
    found
}

/// A process and its children.
fn family(pid: u32) -> Vec<u32> {
    let parent = |pid: u32| -> Option<u32> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        stat.rsplit(')').next()?.split_whitespace().nth(1)?.parse().ok()
    };
    let all = fs::read_dir("/proc").unwrap().flatten();
    let children =
        all.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).filter(|child| parent(*child) == Some(pid));
    [pid].into_iter().chain(children).collect()
}
