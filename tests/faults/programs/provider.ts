/** A model server in a process of its own. Each request says in its body how it is to be answered. */
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import {
  type Behaviour,
  type RecordedRequest,
  startFakeProvider,
} from "../../support/fake-provider.ts";
import { sharedNowMs } from "../shared-clock.ts";
import { serveHarness, tellHarness } from "./rpc.ts";

/** The part of a request's body that is meant for this program. */
export interface ProviderWish {
  /** names the request in what is reported */
  tag?: string;
  behaviour?: Behaviour;
}

/** Told as `closed` when a generation's connection is over. */
export interface ClosedReport {
  tag: string;
  /** whether the other side closed it before the end */
  isGone: boolean;
  atMs: number;
}

const live = new Map<RecordedRequest, string>();

const provider = await startFakeProvider({
  model: process.argv[2] ?? "fake-model",
  behave(request) {
    const { tag, behaviour } = request.json as ProviderWish;
    if (tag !== undefined) {
      live.set(request, tag);
      tellHarness("asked", { tag, atMs: sharedNowMs() });
    }
    return behaviour;
  },
});

// Never holds: it is asked whenever something happened, which is what makes it a listener.
void provider.waitFor(reportClosed, 2 ** 31 - 1).catch(() => undefined);

function reportClosed(): boolean {
  for (const [request, tag] of live) {
    if (request.state === "answering") continue;
    live.delete(request);
    const report: ClosedReport = { tag, isGone: request.state === "gone", atMs: sharedNowMs() };
    tellHarness("closed", report);
  }
  // Answered requests are of no use to anybody here.
  if (provider.requests.length > 1_000) provider.requests.splice(0, 500);
  return false;
}

/** How the plain server answers, as `plain` in a request's body. */
export type PlainWish =
  /** as many bytes as this, as fast as they are taken */
  | { pourBytes: number }
  /** so many small pieces, this far apart */
  | { pieces: number; delayMs: number };

const bigPiece = chunk({ content: "x".repeat(15_800) }, null);
const smallPiece = chunk({ content: " word" }, null);
const end = Buffer.concat([chunk({}, "stop"), Buffer.from("data: [DONE]\n\n")]);
let pouredBytes = 0;

/** Costs next to nothing per piece, so that what is measured beside it is not itself. */
const plainServer = createServer((request, response) => {
  if (request.method === "GET") {
    response.end('{"object":"list","data":[{"id":"fake-model","object":"model"}]}');
    return;
  }
  void text(request).then((body) => {
    const { plain } = JSON.parse(body) as { plain: PlainWish };
    response.writeHead(200, { "content-type": "text/event-stream" });
    if ("pourBytes" in plain) pour(response, plain.pourBytes);
    else pace(response, plain.pieces, plain.delayMs);
  });
});
await new Promise<void>((resolve) => plainServer.listen(0, "127.0.0.1", resolve));

function chunk(delta: object, finishReason: string | null): Buffer {
  const choices = [{ index: 0, delta, finish_reason: finishReason }];
  const value = { id: "c", object: "chat.completion.chunk", model: "fake-model", choices };
  return Buffer.from(`data: ${JSON.stringify(value)}\n\n`);
}

function pour(response: ServerResponse, bytes: number): void {
  pouredBytes = 0;
  const goOn = () => {
    while (pouredBytes < bytes && !response.destroyed) {
      pouredBytes += bigPiece.length;
      if (!response.write(bigPiece)) {
        response.once("drain", goOn);
        return;
      }
    }
    response.end(end);
  };
  goOn();
}

function pace(response: ServerResponse, pieces: number, delayMs: number): void {
  let left = pieces;
  const timer = setInterval(() => {
    if (left-- > 0) response.write(smallPiece);
    else {
      clearInterval(timer);
      response.end(end);
    }
  }, delayMs);
  response.on("close", () => clearInterval(timer));
}

const handlers = {
  about() {
    const { port } = plainServer.address() as AddressInfo;
    return { url: provider.url, plainUrl: `http://127.0.0.1:${port}/v1` };
  },
  /** @returns generations being worked on, by what was seen here */
  open: () => provider.openGenerations,
  /** @returns bytes handed over so far in the newest pouring */
  poured: () => pouredBytes,
};
export type ProviderHandlers = typeof handlers;
serveHarness(handlers);
