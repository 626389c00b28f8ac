import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";
import { freePort } from "../support/programs/nginx.ts";
import { hasNatsServer, natsSkipped } from "../support/programs/nats-server.ts";
import { startHubProcess, startParticipantProcess } from "../support/programs/roomhub-process.ts";
import { startFakeProvider } from "../support/providers/fake-provider.ts";
import { until } from "../support/waiting.ts";

interface Hubs {
  hubs: { hubId: string; bootId: string; link: string }[];
}

test.runIf(hasNatsServer && process.platform === "linux")(
  `two workers are one hub on one port, and one that is killed is started again${natsSkipped}`,
  async () => {
    await using provider = await startFakeProvider();
    const flags = ["--port", String(await freePort()), "--workers", "2", "--ephemeral"];
    await using hub = await startHubProcess(flags);
    const json = async <Body>(path: string, body?: object): Promise<Body> => {
      const init = body && { method: "POST", body: JSON.stringify(body) };
      // A connection of its own, so that the system chooses a worker anew.
      const headers = { connection: "close", "content-type": "application/json" };
      return (await fetch(hub.url + path, { ...init, headers })).json() as Promise<Body>;
    };
    const linked = ({ hubs }: Hubs) =>
      hubs.length === 2 && hubs.every(({ link }) => link !== "down");
    const before = await until("two linked workers", () => json<Hubs>("/v1/cluster/hubs"), linked);
    const { room } = await json<{ room: { code: string } }>("/rooms", { name: "lab" });
    const options = ["--endpoint", provider.url, "--model", "fake-model", "--id", "ada", "--yes"];
    await using _ada = await startParticipantProcess(hub.url, room.code, options);
    const chat = () =>
      json<{ choices?: unknown[] }>(`/rooms/${room.code}/v1/chat/completions`, {
        ...{ model: "ada", messages: [{ role: "user", content: "Hello" }] },
      });
    for (let n = 0; n < 20; n++) expect(await chat()).toHaveProperty("choices");
    process.kill(workerOf(hub.pid), "SIGKILL");
    const boots = new Set(before.hubs.map(({ bootId }) => bootId));
    await until(
      "a new worker",
      () => json<Hubs>("/v1/cluster/hubs").catch((): Hubs => ({ hubs: [] })),
      (now) => linked(now) && now.hubs.some(({ bootId }) => !boots.has(bootId)),
      30_000,
    );
    await until("ada to serve again", chat, (body) => body.choices !== undefined, 20_000);
    for (let n = 0; n < 20; n++) expect(await chat()).toHaveProperty("choices");
  },
);

/** A process below the supervisor that is a hub. */
function workerOf(supervisorPid: number): number {
  const table = execFileSync("ps", ["-eo", "pid=,ppid=,args="], { encoding: "utf8" });
  const rows = table.split("\n").map((line) => line.trim().split(/\s+/));
  const below = (pid: number): number[] =>
    rows
      .filter(([, parent, program = ""]) => Number(parent) === pid && !program.includes("nats"))
      .flatMap(([child]) => [Number(child), ...below(Number(child))]);
  const leaf = below(supervisorPid).findLast((pid) => below(pid).length === 0);
  if (leaf === undefined) throw new Error("the supervisor has no workers");
  return leaf;
}
