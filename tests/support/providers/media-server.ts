import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export const SOUND = Buffer.from(Array.from({ length: 200_000 }, (_, at) => (at * 31) % 251));
export const PICTURE = Buffer.from("89504e470d0a1a0a", "hex").toString("base64");
export const RANKING = {
  id: "r1",
  results: [
    { index: 1, relevance_score: 0.9 },
    { index: 0, relevance_score: 0.1 },
  ],
  // Required by the AI SDK.
  meta: { api_version: { version: "2" } },
};
const usage = { type: "tokens", input_tokens: 3, output_tokens: 4, total_tokens: 7 };

/** What came for one surface. */
interface MediaRequest {
  path: string;
  /** `model` of the form or the JSON */
  model: string | undefined;
  hasSound: boolean;
}

const modelOf = /name="model"\r\n\r\n([^\r]*)|"model":"([^"]*)"/;

/** A model server with sound, pictures and reranking, in the shapes of OpenAI's and Cohere's APIs, and without chat. */
export async function startMediaServer() {
  const requests: MediaRequest[] = [];
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on("data", (part: Buffer) => parts.push(part));
    request.on("end", () => {
      const path = request.url ?? "";
      if (path === "/v1/models")
        return json(response, { object: "list", data: [{ id: "tiny-media" }] });
      if (path === "/openapi.json") return json(response, { paths: listed });
      const serve = surfaces[path];
      if (serve === undefined) return void response.writeHead(404).end("{}");
      const body = Buffer.concat(parts);
      const text = body.toString("latin1");
      const [, inForm, inJson] = modelOf.exec(text) ?? [];
      requests.push({ path, model: inForm ?? inJson, hasSound: body.includes(SOUND) });
      const isStream = /name="stream"\r\n\r\ntrue|"stream":true|"stream_format":"sse"/.test(text);
      serve(response, isStream);
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    requests,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

type Serve = (response: ServerResponse, isStream: boolean) => void;

const hear: Serve = (response, isStream) => {
  if (!isStream) return json(response, { text: "hello there", usage });
  events(response, [
    { type: "transcript.text.delta", delta: "hello " },
    { type: "transcript.text.delta", delta: "there" },
    { type: "transcript.text.done", text: "hello there", usage },
  ]);
};

const paint =
  (kind: string): Serve =>
  (response, isStream) => {
    if (!isStream) return json(response, { created: 1, data: [{ b64_json: PICTURE }] });
    events(response, [
      { type: `${kind}.partial_image`, b64_json: "AAAA", partial_image_index: 0 },
      { type: `${kind}.completed`, b64_json: PICTURE, usage },
    ]);
  };

const rank: Serve = (response) => json(response, RANKING);

const surfaces: Record<string, Serve> = {
  "/v1/audio/transcriptions": hear,
  "/v1/audio/translations": hear,
  "/v1/audio/speech": (response, isStream) => {
    if (isStream)
      return events(response, [
        { type: "speech.audio.delta", audio: PICTURE },
        { type: "speech.audio.done", usage },
      ]);
    response.writeHead(200, { "content-type": "audio/mpeg" });
    response.end(SOUND);
  },
  "/v1/images/generations": paint("image_generation"),
  "/v1/images/edits": paint("image_edit"),
  "/v1/rerank": rank,
  "/v2/rerank": rank,
};

const listed = Object.fromEntries(Object.keys(surfaces).map((path) => [path, {}]));

function json(response: ServerResponse, value: object): void {
  response.writeHead(200, { "content-type": "application/json" });
  response.end(JSON.stringify(value));
}

function events(response: ServerResponse, all: readonly object[]): void {
  response.writeHead(200, { "content-type": "text/event-stream" });
  response.end(all.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(""));
}
