import { randomBytes } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as passed } from "node:timers/promises";
import { hasHaproxy, startHaproxy } from "../tests/support/programs/haproxy.ts";
import { hasNatsServer, startNatsServer } from "../tests/support/programs/nats-server.ts";
import { freePort } from "../tests/support/programs/nginx.ts";
import {
  type RoomhubProcess,
  startHubProcess,
  startParticipantProcess,
} from "../tests/support/programs/roomhub-process.ts";
import { temporaryFolder } from "../tests/support/programs/temporary-folder.ts";
import { startFakeProvider } from "../tests/support/providers/fake-provider.ts";

// `npm run demo:cluster`: nats-server, three hubs, HAProxy and three participants on this machine, requests through the
// balancer, and what becomes of them when the hub of the room is killed, and when the next one is stopped in order.

const phaseMs = 6_000;
const clients = 6;

const missing = [
  ...(hasNatsServer ? [] : ["nats-server"]),
  ...(hasHaproxy ? [] : ["haproxy"]),
].join(" ");
if (missing !== "") {
  console.error(`The demonstration needs programs that are not installed: apt install ${missing}`);
  process.exit(1);
}
await using stack = new AsyncDisposableStack();
const say = (text: string) => console.log(text);

const nats = stack.use(await startNatsServer());
say(`nats-server   ${nats.url}`);
const { path } = stack.use(await temporaryFolder());
const secretPath = join(path, "secret");
await writeFile(secretPath, randomBytes(32).toString("hex"), { mode: 0o600 });
const hubs: (RoomhubProcess & { url: string })[] = [];
for (let n = 0; n < 3; n++) {
  const cluster = ["--nats", nats.url, "--cluster-secret-file", secretPath];
  const hub = await startHubProcess(["--port", String(await freePort()), ...cluster]);
  hubs.push(stack.use(hub));
  say(`hub           ${hub.url}`);
}
const balancer = await startHaproxy(
  hubs.map(({ url }) => new URL(url).host),
  stack,
);
say(`HAProxy       ${balancer}, which hashes the room's code`);

const created = await fetch(`${balancer}/rooms`, {
  method: "POST",
  headers: { "content-type": "application/json" },
  body: JSON.stringify({ name: "demonstration" }),
});
const { room } = (await created.json()) as { room: { code: string } };
for (const n of hubs.keys()) {
  const provider = stack.use(await startFakeProvider());
  const options = ["--endpoint", provider.url, "--model", "fake-model", "--id", `p${n + 1}`];
  stack.use(await startParticipantProcess(balancer, room.code, [...options, "--yes"]));
  say(`participant   p${n + 1}`);
}

/** What became of the requests of one phase. */
let counts = { served: 0, failed: 0, longestMs: 0 };
const over = new AbortController();

async function request(): Promise<void> {
  const startMs = performance.now();
  let isServed = false;
  try {
    const response = await fetch(`${balancer}/rooms/${room.code}/v1/chat/completions`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ model: "*", messages: [{ role: "user", content: "Hello" }] }),
    });
    await response.text();
    isServed = response.ok;
  } catch {
    // The connection broke with its hub: counted as failed below.
  }
  if (isServed) counts.served += 1;
  else counts.failed += 1;
  counts.longestMs = Math.max(counts.longestMs, performance.now() - startMs);
}

const load = Array.from({ length: clients }, async () => {
  while (!over.signal.aborted) {
    await request();
    await passed(20);
  }
});

async function phase(what: string, act: () => Promise<void>): Promise<typeof counts> {
  counts = { served: 0, failed: 0, longestMs: 0 };
  const own = counts;
  const acted = act();
  await passed(phaseMs);
  await acted;
  const { served, failed, longestMs } = own;
  say(`${what.padEnd(38)} ${served} served, ${failed} failed, longest ${Math.round(longestMs)} ms`);
  return own;
}

async function connected(): Promise<number> {
  const response = await fetch(`${balancer}/rooms/${room.code}/participants`);
  const { participants } = (await response.json()) as {
    participants: { connection: { readiness: string } }[];
  };
  return participants.filter(({ connection }) => connection.readiness === "ready").length;
}

/** Ends the hub that runs the room. */
async function endHome(signal: "SIGKILL" | "SIGTERM"): Promise<void> {
  const response = await fetch(`${balancer}/v1/cluster/hubs`);
  const list = (await response.json()) as { hubs: { url: string; participants: number }[] };
  const home = list.hubs.find(({ participants }) => participants > 0);
  await hubs.find(({ url }) => url === home?.url)?.kill(signal);
}

say("");
await phase("three hubs", async () => {});
await phase("the room's hub killed (kill -9)", () => endHome("SIGKILL"));
const after = await phase("two hubs", async () => {});
const drained = await phase("the room's hub stopped (Ctrl+C)", () => endHome("SIGTERM"));
const last = await phase("one hub", async () => {});
const ready = await connected();
say(`\nparticipants that are ready: ${ready} of 3`);
over.abort();
await Promise.all(load);

const isFine = after.failed + drained.failed + last.failed === 0 && last.served > 0 && ready === 3;
say(isFine ? "Service went on." : "Service did not go on as it should have.");
process.exitCode = isFine ? 0 : 1;
