// Preloaded into a program (`--import`): writes a line to the file in RECORDED_DIALS for whatever it sends on the network,
// asks a resolver, or starts. Plain JavaScript, since it is loaded before anything that strips types.
import child_process from "node:child_process";
import dgram from "node:dgram";
import dns from "node:dns";
import { appendFileSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import net from "node:net";
import { basename } from "node:path";

const file = process.env.RECORDED_DIALS;

function record(kind, what) {
  appendFileSync(file, `${kind} ${what}\n`);
}

function before(object, name, look) {
  const original = object[name];
  object[name] = function (...args) {
    look(...args);
    return original.apply(this, args);
  };
}

before(net.Socket.prototype, "connect", (first, second) => {
  // `net.connect()` passes its arguments on as one array.
  const options = Array.isArray(first) ? first[0] : first;
  if (typeof options !== "object") record("tcp", `${second ?? "localhost"}:${options}`);
  else if (options.path) record("pipe", options.path);
  else record("tcp", `${options.host ?? "localhost"}:${options.port}`);
});
before(dgram.Socket.prototype, "send", (...args) => {
  const [port, address] = args.filter((arg) => typeof arg !== "function").slice(-2);
  record("udp", `${address}:${port}`);
});
const resolvers = [dns.Resolver.prototype, dns.promises.Resolver.prototype];
for (const resolver of [dns, dns.promises, ...resolvers]) {
  for (const name of Object.getOwnPropertyNames(resolver)) {
    if (/^(?:lookup|resolve|reverse)/.test(name)) {
      before(resolver, name, (host) => net.isIP(host) || record("dns", host));
    }
  }
}
for (const name of ["spawn", "spawnSync", "exec", "execSync", "execFile", "execFileSync", "fork"]) {
  before(child_process, name, (command) => record("run", basename(command)));
}
syncBuiltinESMExports();
