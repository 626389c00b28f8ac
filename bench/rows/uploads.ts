import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { type IncomingMessage, request as httpRequest } from "node:http";
import { RoomhubClient } from "@roomhub/client";
import type { Child, Program } from "../../tests/faults/child.ts";
import { until } from "../../tests/support/waiting.ts";
import { settledRssBytes } from "../figures/memory.ts";
import { fineCpuMsOf } from "../figures/process-cpu.ts";
import { median } from "../figures/spread.ts";
import { rotated } from "../measurements/interleave.ts";
import { startNginx } from "../peers/nginx.ts";
import { joinByTunnel, joinDirectly, keepOnline, openRoom, startHub } from "../processes/hub.ts";
import type { BenchWorld } from "../processes/world.ts";
import type { UploadProviderHandlers } from "../programs/upload-provider.ts";
import { type BenchFigure, measured, type Row } from "../row.ts";

const uploadBytes = 100_000_000;
const mib = 1024 * 1024;
const before = (model: string) =>
  `--b\r\nContent-Disposition: form-data; name="model"\r\n\r\n${model}\r\n--b\r\nContent-Disposition: form-data; name="file"; filename="a.wav"\r\n\r\n`;
const end = "\r\n--b--\r\n";

interface Place {
  name: string;
  port: number;
  path: string;
  model: string;
  pid: number;
}

/** Uploads through the hub, on both paths, and through an nginx that does not buffer them. */
export const uploads: Row = {
  id: "32",
  title: "forms of 100 MB: bytes, hub CPU per MB against nginx without request buffering, memory",
  seconds: { full: 60, quick: 20 },
  async run(world) {
    const lab = await openLab(world);
    const sound = randomBytes(uploadBytes);
    const expected = createHash("sha256").update(before("fake-model")).update(sound).update(end);
    const hash = expected.digest("hex");
    const costs: Record<string, number[]> = {};
    let wrong = 0;
    for (let round = 0; round < world.either(5, 2); round++) {
      for (const place of rotated(lab.places, round)) {
        const startMs = fineCpuMsOf(place.pid);
        if ((await upload(place, sound)) !== hash) wrong++;
        // The first one warms up.
        if (round > 0)
          (costs[place.name] ??= []).push(
            (fineCpuMsOf(place.pid) - startMs) / (uploadBytes / 1_000_000),
          );
      }
    }
    const costOf = (name: string) => median(costs[name] ?? [Number.NaN]);
    const figures: BenchFigure[] = [
      { what: "forms that differ in more than their model", value: wrong, goal: 0, unit: "" },
    ];
    const nginx = lab.places.some(({ name }) => name === "nginx") ? costOf("nginx") : undefined;
    if (nginx !== undefined) {
      const direct = costOf("direct path") / nginx;
      const tunnel = costOf("tunnel") / nginx;
      figures.push({ what: "direct path / nginx", value: direct, goal: 2.5, unit: "×" });
      figures.push({ what: "tunnel / nginx", value: tunnel, goal: undefined, unit: "×" });
    }
    figures.push(...(await memoryFigures(lab, sound)), await speechFigure(lab));
    const seen = Object.keys(costs).map(
      (name) => `${name}: ${(costOf(name) * 1_000).toFixed(0)} µs of CPU per MB`,
    );
    return measured(figures, seen);
  },
};

interface Lab {
  places: Place[];
  hub: Child;
  agent: Child;
  provider: Program<UploadProviderHandlers>;
}

async function openLab(world: BenchWorld): Promise<Lab> {
  const file = new URL("../programs/upload-provider.ts", import.meta.url);
  const provider = await world.children.program<UploadProviderHandlers>(file);
  const url = await provider.call("url");
  const [hub, nginx] = await Promise.all([
    startHub(world),
    startNginx(world, { folder: "uploads", uploadsTo: Number(new URL(url).port) }),
  ]);
  const [tunnelled, direct] = [await openRoom(hub), await openRoom(hub)];
  const wish = { count: 1, prefix: "uploads", endpoint: url };
  const agent = await joinByTunnel(world, hub.url, tunnelled, wish);
  await joinDirectly(hub, direct, "direct", url);
  keepOnline(world, hub, direct, "direct");
  await until(
    "the transcriptions to be known",
    () => new RoomhubClient({ hubUrl: hub.url }).listParticipants(tunnelled),
    ([one]) => one?.capabilities["audioTranscriptions"] === "supported",
  );
  const inRoom = (name: string, room: string) => ({
    ...{ name, port: hub.port, path: `/rooms/${room}/v1`, model: "*", pid: hub.child.pid },
  });
  const places = [inRoom("tunnel", tunnelled), inRoom("direct path", direct)];
  if (nginx !== undefined)
    places.push({ ...nginx, name: "nginx", path: "/v1", model: "fake-model" });
  return { places, hub: hub.child, agent, provider };
}

/** Resolves with the hash of what the model server got. */
async function upload({ port, path, model }: Place, sound: Buffer): Promise<string> {
  const start = before(model);
  const length = Buffer.byteLength(start) + sound.length + Buffer.byteLength(end);
  const headers = { "content-type": "multipart/form-data; boundary=b", "content-length": length };
  const request = httpRequest({
    ...{ host: "127.0.0.1", port, path: `${path}/audio/transcriptions`, method: "POST", headers },
    agent: false,
  });
  const responding = once(request, "response");
  request.write(start);
  for (let at = 0; at < sound.length; at += mib) {
    if (!request.write(sound.subarray(at, at + mib))) await once(request, "drain");
  }
  request.end(end);
  const [response] = (await responding) as [AsyncIterable<Buffer>];
  const parts: Buffer[] = [];
  for await (const part of response) parts.push(part);
  const { text, error } = JSON.parse(Buffer.concat(parts).toString()) as Record<string, unknown>;
  if (typeof text !== "string") throw new Error(`an upload failed: ${JSON.stringify(error)}`);
  return text;
}

/** What four at once add, of the highest that was seen. */
async function memoryFigures({ places, hub, agent }: Lab, sound: Buffer): Promise<BenchFigure[]> {
  const figures: BenchFigure[] = [];
  for (const place of places.filter(({ name }) => name !== "nginx")) {
    const isTunnel = place.name === "tunnel";
    const watched = isTunnel ? { hub, agent } : { hub };
    for (const [who, child] of Object.entries(watched)) {
      const idleBytes = await settledRssBytes(child);
      let mostBytes = 0;
      const timer = setInterval(() => (mostBytes = Math.max(mostBytes, child.rssBytes())), 10);
      await Promise.all([1, 2, 3, 4].map(() => upload(place, sound)));
      clearInterval(timer);
      const value = (mostBytes - idleBytes) / mib;
      figures.push({ what: `four at once, ${place.name}, ${who}`, value, goal: 24, unit: "MB" });
    }
  }
  return figures;
}

/** Speech of 10 MB whose client leaves after the first: until the model server's connection is closed. */
async function speechFigure({ places: [place], provider }: Lab): Promise<BenchFigure> {
  const tookMs: number[] = [];
  for (let round = 0; round < 5; round++) {
    await provider.call("expectSpeech");
    const request = httpRequest({
      ...{ host: "127.0.0.1", port: place?.port, path: `${place?.path}/audio/speech` },
      ...{ method: "POST", agent: false },
    });
    request.end(JSON.stringify({ model: "*", input: "hello", voice: "alloy" }));
    const [response] = (await once(request, "response")) as [IncomingMessage];
    let bytes = 0;
    await new Promise<void>((resolve) => {
      response.on("error", () => undefined);
      response.on("data", (chunk: Buffer) => {
        bytes += chunk.length;
        if (bytes > 1_000_000) resolve();
      });
    });
    response.pause();
    const leftAt = Date.now();
    request.destroy();
    tookMs.push((await provider.call("speechClosed")) - leftAt);
  }
  const value = median(tookMs);
  return { what: "speech whose client leaves, tunnel: closed after", value, goal: 100, unit: "ms" };
}
