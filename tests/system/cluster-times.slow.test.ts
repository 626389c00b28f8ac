import { randomBytes } from "node:crypto";
import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { RoomhubClient } from "@roomhub/client";
import { describe, expect, test } from "vitest";
import { dialTunnel, openHandAgent } from "../support/hub/hand-agent.ts";
import { hasNatsServer, natsSkipped, startNatsServer } from "../support/programs/nats-server.ts";
import { freePort } from "../support/programs/nginx.ts";
import { startHubProcess } from "../support/programs/roomhub-process.ts";
import { temporaryFolder } from "../support/programs/temporary-folder.ts";
import { until, within } from "../support/waiting.ts";

/** Two hubs as processes, with links to each other. */
async function startHubs(stack: AsyncDisposableStack) {
  const nats = stack.use(await startNatsServer());
  const { path } = stack.use(await temporaryFolder());
  const secretPath = join(path, "secret");
  await writeFile(secretPath, randomBytes(32).toString("hex"), { mode: 0o600 });
  const start = async () => {
    const cluster = ["--nats", nats.url, "--cluster-secret-file", secretPath];
    const port = String(await freePort());
    const hub = stack.use(await startHubProcess(["--port", port, ...cluster]));
    return Object.assign(hub, { client: new RoomhubClient({ hubUrl: hub.url }) });
  };
  const hubs = [await start(), await start()] as const;
  for (const { client } of hubs) {
    const links = async () => (await client.listHubs()).map(({ link }) => link);
    await until("the links", links, (seen) => seen.join() === "self,open");
  }
  return hubs;
}

/** @returns the status with which the hub refuses the handshake */
async function refusal(tunnelUrl: string, token: string): Promise<number> {
  const socket = dialTunnel(tunnelUrl, token);
  socket.on("error", () => undefined);
  const [, response] = (await within(once(socket, "unexpected-response"), "a refusal")) as [
    unknown,
    IncomingMessage,
  ];
  response.resume();
  return response.statusCode ?? 0;
}

describe.skipIf(!hasNatsServer)(`hubs as processes${natsSkipped}`, () => {
  test("a tunnel at another hub is 404 when its owner does not respond for 1 s, and is open when it does", async () => {
    await using stack = new AsyncDisposableStack();
    const [owner, other] = await startHubs(stack);
    const { room } = await owner.client.createRoom({ name: "lab" });
    const { tunnel, participantToken = "" } = await owner.client.join(room.code, {
      ...{ id: "ada", nickname: "Ada", model: "m", endpoint: "http://127.0.0.1:9/v1" },
      ...{ transport: "tunnel", config: { instructions: "Be brief." } },
    });
    const listed = () => other.client.listParticipants(room.code);
    await until("ada at the other hub", listed, ({ length }) => length === 1);
    const elsewhere = tunnel.url.replace(new URL(owner.url).host, new URL(other.url).host);
    expect(elsewhere).not.toBe(tunnel.url);

    owner.pause();
    const startedMs = performance.now();
    expect(await refusal(elsewhere, participantToken)).toBe(404);
    expect(performance.now() - startedMs).toBeGreaterThan(950);
    owner.resume();

    const links = async () => (await other.client.listHubs()).map(({ link }) => link);
    await until("the link", links, (seen) => seen.join() === "self,open");
    const agent = await openHandAgent(elsewhere, participantToken);
    await until(
      "ada at its new hub",
      () => other.client.listHubs(),
      ([own]) => own?.participants === 1,
    );
    await agent.close();
  });
});
