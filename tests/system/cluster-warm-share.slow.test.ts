import { randomBytes } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { hasHaproxy, haproxyConfiguration, startHaproxy } from "../support/programs/haproxy.ts";
import { hasNatsServer, startNatsServer } from "../support/programs/nats-server.ts";
import { freePort } from "../support/programs/nginx.ts";
import { startHubProcess, startParticipantProcess } from "../support/programs/roomhub-process.ts";
import { temporaryFolder } from "../support/programs/temporary-folder.ts";
import {
  cachingReply,
  type CachingProvider,
  startCachingProvider,
} from "../support/providers/caching-provider.ts";
import { until } from "../support/waiting.ts";

const participants = 3;
const conversations = 12;
const turns = 6;

interface Room {
  /** through the balancer */
  baseUrl: string;
  providers: CachingProvider[];
}

/** Three hubs as processes behind HAProxy in turn, and equal participants, one at each. */
async function openRoom(stack: AsyncDisposableStack): Promise<Room> {
  const nats = stack.use(await startNatsServer());
  const { path } = stack.use(await temporaryFolder());
  const secretPath = join(path, "secret");
  await writeFile(secretPath, randomBytes(32).toString("hex"), { mode: 0o600 });
  const cluster = ["--nats", nats.url, "--cluster-secret-file", secretPath];
  const hubs = await Promise.all(
    Array.from({ length: 3 }, async () =>
      stack.use(await startHubProcess(["--port", String(await freePort()), ...cluster])),
    ),
  );
  const hosts = hubs.map(({ url }) => new URL(url).host);
  const balancer = await startHaproxy(hosts, stack, (port, servers) =>
    haproxyConfiguration({ bind: `127.0.0.1:${port}`, hubs: servers, balance: "roundrobin" }),
  );
  const headers = { "content-type": "application/json" };
  const body = JSON.stringify({ name: "lab" });
  const created = await fetch(`${balancer}/rooms`, { method: "POST", headers, body });
  const { room } = (await created.json()) as { room: { code: string } };
  const providers: CachingProvider[] = [];
  for (let n = 0; n < participants; n++) {
    const provider = stack.use(await startCachingProvider(10));
    providers.push(provider);
    const options = ["--endpoint", provider.url, "--model", "fake-model", "--id", `p${n + 1}`];
    const hub = hubs[n % hubs.length]?.url ?? "";
    stack.use(await startParticipantProcess(hub, room.code, [...options, "--yes"]));
  }
  for (const { url } of hubs) {
    await until(
      "every hub to have all participants and links",
      async () => [
        ...(await listOf<Listed>(`${url}/rooms/${room.code}/participants`, "participants")),
        ...(await listOf<{ link: string }>(`${url}/v1/cluster/hubs`, "hubs")),
      ],
      (all) => all.filter(isReady).length === participants + hubs.length,
    );
  }
  return { baseUrl: `${balancer}/rooms/${room.code}/v1`, providers };
}

interface Listed {
  connection: { readiness?: string };
}

async function listOf<Item>(url: string, field: string): Promise<Item[]> {
  return ((await (await fetch(url)).json()) as Record<string, Item[]>)[field] ?? [];
}

function isReady(one: Listed | { link: string }): boolean {
  return "link" in one ? one.link !== "down" : one.connection.readiness === "ready";
}

/** Each turn follows the response to the one before, and repeats all that was said. */
async function converse(
  { baseUrl }: Room,
  name: string,
  headers: Record<string, string>,
): Promise<void> {
  const messages: { role: string; content: string }[] = [];
  for (let turn = 0; turn < turns; turn++) {
    messages.push({ role: "user", content: `${name}, ${turn}: ${"and so on ".repeat(200)}` });
    const body = JSON.stringify({ model: "fake-model", stream: turn % 2 === 0, messages });
    const response = await fetch(`${baseUrl}/chat/completions`, {
      ...{ method: "POST", body },
      headers: { "content-type": "application/json", ...headers },
    });
    expect(await response.text()).toContain(cachingReply);
    expect(response.status).toBe(200);
    messages.push({ role: "assistant", content: cachingReply });
  }
}

/** How many follow-up turns met all that was said before in the cache of the model server they went to. */
function warmShare(providers: readonly CachingProvider[]): { followUps: number; share: number } {
  const all = providers.flatMap(({ generations }) => generations);
  // What is new of one are the last response and what the user says to it.
  const followUps = all.filter(({ messages }) => messages >= 3);
  const warm = followUps.filter(({ messages, warmMessages }) => warmMessages >= messages - 2);
  return { followUps: followUps.length, share: warm.length / followUps.length };
}

const missing = [hasNatsServer ? "" : "nats-server", hasHaproxy ? "" : "haproxy"].join(" ").trim();
const skipped = missing === "" ? "" : ` (skipped: ${missing} is not installed)`;

describe.skipIf(missing !== "")(`conversations over hubs that take turns${skipped}`, () => {
  test.each([
    ["that name their session", (name: string) => ({ "x-session-id": name })],
    ["that are known by their prompts alone", () => ({})],
  ])("%s go on where their prompt is warm, nine times of ten", async (_how, headersOf) => {
    await using stack = new AsyncDisposableStack();
    const room = await openRoom(stack);
    const names = Array.from({ length: conversations }, (_, n) => `conversation-${n + 1}`);
    await Promise.all(names.map((name) => converse(room, name, headersOf(name))));
    const { followUps, share } = warmShare(room.providers);
    expect(followUps).toBe(conversations * (turns - 1));
    expect(share).toBeGreaterThanOrEqual(0.9);
    // Not because all of them are at one.
    const used = room.providers.filter(({ generations }) =>
      generations.some(({ messages }) => messages >= 3),
    );
    expect(used).toHaveLength(participants);
  });
});
