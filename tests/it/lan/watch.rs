//! Captures the packets that a machine sends.

use std::{
    collections::BTreeSet,
    fs,
    io::{BufRead, BufReader, Read},
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex},
    thread::{self, JoinHandle},
    time::Duration,
};

use crate::support::{network::Place, skip, until_within};

/// How long packets may be waited for that come by themselves every few seconds.
const PACKETS: Duration = Duration::from_mins(1);

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
    print(interface, protocol, to, port, flush=True)
";

/// A packet that was sent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Sent {
    pub(super) interface: String,
    pub(super) protocol: String,
    pub(super) to: String,
    pub(super) port: u16,
}

impl Sent {
    fn parse(line: &str) -> Option<Self> {
        let words: Vec<&str> = line.split(' ').collect();
        let [interface, protocol, to, port] = words.try_into().ok()?;
        Some(Self { interface: interface.into(), protocol: protocol.into(), to: to.into(), port: port.parse().ok()? })
    }
}

/// A watch over a place.
pub(super) struct Watch {
    child: Child,
    seen: Arc<Mutex<Vec<Sent>>>,
    reader: JoinHandle<()>,
}

impl Watch {
    /// Starts the capture; prints the reason and returns `None` if this machine does not allow it.
    pub(super) fn begin(place: &Place) -> Option<Self> {
        let mut command = Command::new("python3");
        command.args(["-c", SCRIPT]);
        let mut child =
            place.inside(command).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        if lines.next().is_none() {
            let mut stderr = String::new();
            drop(child.stderr.as_mut().unwrap().read_to_string(&mut stderr));
            drop(child.wait());
            skip(format_args!("packets are not looked at one by one: {stderr}"));
            return None;
        }
        let seen = Arc::new(Mutex::new(Vec::new()));
        let list = Arc::clone(&seen);
        let reader = thread::spawn(move || {
            for sent in lines.filter_map(|line| Sent::parse(&line)) {
                list.lock().unwrap().push(sent);
            }
        });
        Some(Self { child, seen, reader })
    }

    /// How many such packets were sent so far.
    pub(super) fn count(&self, which: impl Fn(&Sent) -> bool) -> usize {
        self.seen.lock().unwrap().iter().filter(|sent| which(sent)).count()
    }

    /// Waits until this many more such packets were sent.
    #[track_caller]
    pub(super) fn further(&self, count: usize, what: &str, which: impl Fn(&Sent) -> bool) {
        let before = self.count(&which);
        let took = until_within(PACKETS, what, || self.count(&which) >= before + count);
        println!("{count} times, {what}: {took:?}");
    }

    /// Returns the packets that were sent since the start.
    pub(super) fn end(mut self) -> Vec<Sent> {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        self.reader.join().unwrap();
        let seen = self.seen.lock().unwrap();
        seen.clone()
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
