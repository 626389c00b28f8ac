import { crc32 } from "node:zlib";
import { RequestBodyReader } from "../../packages/hub/src/inference/request/request-head.ts";
import { measured, type Row } from "../row.ts";
import { median } from "../figures/spread.ts";

const mib = 1024 * 1024;
/** as much as a socket is read at once */
const chunkBytes = 64 * 1024;

/** In this process: the largest body that is allowed, as the hub reads it from a socket. */
export const bodyScan: Row = {
  id: "18",
  title: "reading a body of 64 MiB: longest step between two turns of the event loop",
  seconds: { full: 3, quick: 2 },
  run(world) {
    const body = bodyOf(64 * mib);
    const runs = Array.from({ length: world.either(7, 3) }, () => scan(body));
    const value = median(runs.map(({ longestMs }) => longestMs));
    const wholeMs = median(runs.map((run) => run.wholeMs));
    return Promise.resolve(
      measured(
        [{ what: "longest step", value, goal: 5, unit: "ms" }],
        [`all of it: ${wholeMs.toFixed(0)} ms`],
      ),
    );
  },
};

function scan(body: Buffer): { longestMs: number; wholeMs: number } {
  const reader = new RequestBodyReader(512, true, crc32);
  const startMs = performance.now();
  let longestMs = 0;
  let stepMs = startMs;
  const step = () => {
    const nowMs = performance.now();
    longestMs = Math.max(longestMs, nowMs - stepMs);
    stepMs = nowMs;
  };
  for (let at = 0; at < body.length; at += chunkBytes) {
    reader.push(body.subarray(at, at + chunkBytes));
    step();
  }
  if (reader.end().model !== "fake-model") throw new Error("the model was not found");
  step();
  return { longestMs, wholeMs: stepMs - startMs };
}

/** A conversation with many messages, and one long picture in it. */
function bodyOf(bytes: number): Buffer {
  const message = { role: "user", content: [{ type: "text", text: 'He said: "hi"\n'.repeat(20) }] };
  const picture = { type: "image_url", image_url: { url: "A".repeat(bytes / 2) } };
  const messages: object[] = [{ role: "user", content: [picture] }];
  const one = JSON.stringify(message).length + 1;
  for (let at = bytes / 2 + 200; at + one < bytes; at += one) messages.push(message);
  return Buffer.from(JSON.stringify({ messages, model: "fake-model" }));
}
