/** A bare pipe from TCP to TLS: what any proxy in Node costs at least. Its first argument is the port that it connects to. */
import { type AddressInfo, createServer } from "node:net";
import { connect } from "node:tls";

const server = createServer({ noDelay: true }, (client) => {
  const to = { host: "127.0.0.1", port: Number(process.argv[2]), rejectUnauthorized: false };
  const hub = connect({ ...to, ALPNProtocols: ["http/1.1"] }).setNoDelay(true);
  for (const [from, other] of [
    [client, hub],
    [hub, client],
  ] as const) {
    from.on("data", (bytes) => void other.write(bytes));
    from.on("error", () => undefined).on("close", () => other.destroy());
  }
});
server.listen(0, "127.0.0.1", () => {
  process.stdout.write(`listening on ${(server.address() as AddressInfo).port}\n`);
});
