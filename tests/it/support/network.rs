//! Networks that a test makes for itself: namespaces of the Linux kernel, joined by a bridge, with nothing else in them.

use std::{
    fs,
    path::PathBuf,
    process::{Child, Command, Stdio},
};

use super::{laptop::before, until};

/// A process that does nothing but hold a namespace, and ends with the test, however that ends.
struct Keeper(Child);

impl Keeper {
    /// Starts it by a command that ends in `cat`, and waits until it is in a network of its own.
    fn start(mut command: Command, other_than: &[u32]) -> Self {
        let child = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let keeper = Self(child);
        let network = |pid: u32| fs::read_link(format!("/proc/{pid}/ns/net")).ok();
        let others: Vec<Option<PathBuf>> = other_than.iter().map(|pid| network(*pid)).collect();
        // It is `cat` once everything about its namespaces is set up.
        let name = format!("/proc/{}/comm", keeper.pid());
        until("a network namespace is there", || {
            let mine = network(keeper.pid());
            mine.is_some() && !others.contains(&mine) && fs::read_to_string(&name).is_ok_and(|name| name == "cat\n")
        });
        keeper
    }

    fn pid(&self) -> u32 {
        self.0.id()
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

fn enter(pid: u32) -> Vec<String> {
    ["nsenter", "--preserve-credentials", "--user", "--net", "--target", &pid.to_string()].map(str::to_owned).into()
}

/// A switch with places at its ports.
pub(crate) struct Network {
    hub: Keeper,
    places: usize,
}

/// A network as one machine sees it: loopback, and `eth0` once it is plugged in.
pub(crate) struct Place {
    keeper: Keeper,
    hub: u32,
    number: usize,
}

impl Network {
    /// A switch; or why this machine lets nobody make one, which is printed.
    pub(crate) fn new(test: &str) -> Option<Self> {
        let allowed = Command::new("unshare").args(["-rn", "ip", "link", "add", "probe", "type", "bridge"]).output();
        let why = match allowed {
            Ok(output) if output.status.success() => None,
            Ok(output) => Some(String::from_utf8_lossy(&output.stderr).into_owned()),
            Err(error) => Some(format!("unshare: {error}")),
        };
        if let Some(why) = why {
            super::skip(format_args!("{test}: this machine does not let a test make network namespaces: {why}"));
            return None;
        }
        let mut command = Command::new("unshare");
        command.args(["--map-root-user", "--net", "cat"]);
        let hub = Keeper::start(command, &[std::process::id()]);
        run(hub.pid(), "ip link set lo up");
        run(hub.pid(), "ip link add br0 type bridge");
        run(hub.pid(), "ip link set br0 up");
        Some(Self { hub, places: 0 })
    }

    /// A place that is not plugged in yet.
    pub(crate) fn place(&mut self) -> Place {
        self.places += 1;
        let command = before(&enter(self.hub.pid()), {
            let mut command = Command::new("unshare");
            command.args(["--net", "cat"]);
            command
        });
        let keeper = Keeper::start(command, &[std::process::id(), self.hub.pid()]);
        run(keeper.pid(), "ip link set lo up");
        Place { keeper, hub: self.hub.pid(), number: self.places }
    }

    /// A place at the switch.
    pub(crate) fn plugged(&mut self) -> Place {
        let place = self.place();
        place.plug();
        place
    }
}

impl Place {
    /// The program, to be run there. Its process id stays that of the command.
    pub(crate) fn inside(&self, program: Command) -> Command {
        before(&enter(self.keeper.pid()), program)
    }

    /// Its address.
    pub(crate) fn ip(&self) -> String {
        format!("10.77.0.{}", self.number)
    }

    /// A cable to the switch, and an address. There is no way out: no default route.
    pub(crate) fn plug(&self) {
        let (port, pid) = (self.port(), self.keeper.pid());
        run(self.hub, &format!("ip link add {port} type veth peer name eth0 netns {pid}"));
        run(self.hub, &format!("ip link set {port} master br0 up"));
        self.ip_tool(&format!("addr add {}/24 dev eth0", self.ip()));
        self.ip_tool("link set eth0 up");
    }

    /// Cuts or restores the connection while the cable stays plugged in.
    pub(crate) fn cut(&self, cut: bool) {
        run(self.hub, &format!("ip link set {} {}", self.port(), if cut { "down" } else { "up" }));
    }

    /// Runs `ip` there.
    #[track_caller]
    pub(crate) fn ip_tool(&self, args: &str) {
        run(self.keeper.pid(), &format!("ip {args}"));
    }

    /// Routes all packets to other networks through the interface `leak`, where they are counted: name servers, relays,
    /// gateways that map ports.
    pub(crate) fn leak(&self) {
        self.ip_tool("link add leak type veth peer name nowhere");
        for end in ["leak", "nowhere"] {
            let mut quiet = Command::new("sh");
            quiet.args(["-c", &format!("echo 1 > /proc/sys/net/ipv6/conf/{end}/disable_ipv6")]);
            assert!(self.inside(quiet).status().unwrap().success());
            self.ip_tool(&format!("link set {end} up"));
        }
        self.ip_tool("route add default dev leak");
        // Groups of this link alone, such as mDNS's, are on the link.
        self.ip_tool("route add 224.0.0.0/24 dev eth0");
    }

    /// The number of packets that an interface has sent so far.
    pub(crate) fn sent_by(&self, interface: &str) -> u64 {
        let text = fs::read_to_string(format!("/proc/{}/net/dev", self.keeper.pid())).unwrap();
        let line = text.lines().find_map(|line| line.trim().strip_prefix(interface)?.strip_prefix(':'));
        line.unwrap_or_else(|| panic!("{interface}: {text}")).split_whitespace().nth(9).unwrap().parse().unwrap()
    }

    fn port(&self) -> String {
        format!("port{}", self.number)
    }
}

/// Runs a command in the network of a process.
#[track_caller]
fn run(pid: u32, line: &str) {
    let mut words = line.split_whitespace();
    let mut command = Command::new(words.next().unwrap());
    command.args(words);
    let output = before(&enter(pid), command).output().unwrap();
    assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
}
