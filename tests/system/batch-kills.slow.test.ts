import { once } from "node:events";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { RoomhubClient } from "@roomhub/client";
import { expect, test } from "vitest";
import {
  type RoomhubProcess,
  startHubProcess,
  startParticipantProcess,
  startRoomhub,
} from "../support/programs/roomhub-process.ts";
import { createRandom } from "../faults/seeded-random.ts";
import { temporaryFolder } from "../support/programs/temporary-folder.ts";

/** `BATCH_KILLS=200` kills as often as the figures of the documentation say. */
const kills = Number(process.env["BATCH_KILLS"] ?? 8);
const requestsPerKill = 90;
const seed = Number(process.env["BATCH_SEED"] ?? Date.now() % 2 ** 31);

test(
  `after ${kills} kills of command, hub and agent (seed ${seed}) each custom_id has one line, whole, and none is lost`,
  async () => {
    const random = createRandom(seed);
    await using folder = await temporaryFolder();
    await using model = await startModelServer(random);
    const env = { XDG_STATE_HOME: folder.path };
    const at = (name: string) => join(folder.path, name);
    const total = kills * requestsPerKill;
    writeFileSync(at("evals.jsonl"), requestLines(total));
    const hubArgs = (port: number) => ["--port", String(port), "--state-file", at("rooms.json")];
    let hub = await startHubProcess(hubArgs(0), env);
    const { url, port } = hub;
    const { room } = await new RoomhubClient({ hubUrl: url }).createRoom({ name: "lab" });
    const joinAgain = () =>
      startParticipantProcess(
        url,
        room.code,
        ["--endpoint", model.url, "--max-concurrency", "4"],
        env,
      );
    let agent = await joinAgain();
    const args = ["batch", at("evals.jsonl"), "--room", `${url}/rooms/${room.code}`];
    let command: RoomhubProcess | undefined;
    const counts = { command: 0, hub: 0, agent: 0 };
    try {
      for (let kill = 0; kill < kills; kill++) {
        command ??= startRoomhub(args, env);
        // The instant is what is tested: also while it starts, checks, writes and ends.
        await sleep(random() * 2_500);
        const what = (["command", "command", "hub", "agent"] as const)[Math.floor(random() * 4)];
        counts[what ?? "command"]++;
        if (what === "hub") {
          await hub.kill("SIGKILL");
          hub = await startHubProcess(hubArgs(port), env);
        } else if (what === "agent") {
          await agent.kill("SIGKILL");
          agent = await joinAgain();
        } else {
          await command.kill("SIGKILL");
          command = undefined;
          mayBeTorn(at("evals.output.jsonl"));
        }
      }
      await command?.kill("SIGKILL");
      command = undefined;
      await finish(() => startRoomhub(args, env));
    } finally {
      await Promise.all([command?.kill("SIGKILL"), agent.kill("SIGKILL"), hub.kill("SIGKILL")]);
    }
    const lines = ["evals.output.jsonl", "evals.errors.jsonl"].flatMap((name) => linesOf(at(name)));
    const ids = lines.map((line) => (JSON.parse(line) as { custom_id: string }).custom_id);
    expect(ids.length).toBe(total);
    expect(new Set(ids)).toEqual(new Set(Array.from({ length: total }, (_, n) => `q-${n}`)));
    const inErrors = linesOf(at("evals.errors.jsonl")).length;
    const figures = { seed, ...counts, requests: total, served: model.served, inErrors };
    if (process.env["BATCH_KILLS"] !== undefined)
      process.stdout.write(`${JSON.stringify(figures)}\n`);
  },
  60_000 + kills * 15_000,
);

/** More than once, since one that starts while the hub is away ends, and one is waited for only so long. */
async function finish(start: () => RoomhubProcess): Promise<void> {
  const tries = 5 + kills;
  for (let count = 1; count <= tries; count++) {
    await using command = start();
    const ended = command.line("its end", ({ end }) => end === "finished");
    const isFinished = await ended.then(
      () => true,
      (error: unknown) => {
        if (count === tries) throw error;
        return false;
      },
    );
    if (isFinished) return;
  }
}

/** What a kill may leave, though it rarely does: a part of a line. */
function mayBeTorn(path: string): void {
  if (existsSync(path)) writeFileSync(path, '{"id":"batch_req_1","custom_id":"q-', { flag: "a" });
}

/** @throws for a file whose last line has no end */
function linesOf(path: string): string[] {
  if (!existsSync(path)) return [];
  const lines = readFileSync(path, "utf8").split("\n");
  expect(lines.pop()).toBe("");
  return lines;
}

function requestLines(count: number): string {
  return Array.from({ length: count }, (_, number) =>
    JSON.stringify({
      custom_id: `q-${number}`,
      method: "POST",
      url: "/v1/chat/completions",
      body: { model: "tiny", messages: [{ role: "user", content: `q-${number}` }] },
    }),
  ).join("\n");
}

/** Responds after 10 to 200 ms. */
async function startModelServer(random: () => number) {
  let served = 0;
  const server = createServer((request, response) => {
    request.resume().once("end", () => {
      response.setHeader("content-type", "application/json");
      if (request.method === "GET") {
        response.end(JSON.stringify({ object: "list", data: [{ id: "tiny", object: "model" }] }));
        return;
      }
      const message = { role: "assistant", content: "yes" };
      const choices = [{ index: 0, message, finish_reason: "stop" }];
      const answer = { id: "c-1", object: "chat.completion", created: 1, model: "tiny", choices };
      setTimeout(
        () => {
          served++;
          response.end(JSON.stringify(answer, undefined, 2));
        },
        10 + random() * 190,
      );
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    get served() {
      return served;
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
