// Hands what comes to a port of this machine on to a Unix socket; prints the port.
import net from "node:net";

const server = net.createServer((from) => {
  const to = net.connect(process.argv[2]);
  from.pipe(to).pipe(from);
  for (const end of [from, to]) end.on("error", () => [from, to].forEach((other) => other.destroy()));
});
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
