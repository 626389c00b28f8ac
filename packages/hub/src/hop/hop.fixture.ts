import { systemWorld } from "@roomhub/protocol";
import { once } from "node:events";
import { createServer, type IncomingMessage, type RequestListener, type Server } from "node:http";
import { type AddressInfo, connect, createServer as createTcpServer, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import { text } from "node:stream/consumers";
import { acceptHop } from "./accept.ts";
import type { HopTarget } from "./dial.ts";
import { HOME_ELSEWHERE, PEER_HEADER } from "./heads.ts";
import { Hops, type HopsOptions } from "./hops.ts";
import type { PipeOutcome } from "./exchange.ts";
import { PipedRequest } from "./pipe.ts";
import type { UpgradeOutcome } from "./pipe-upgrade.ts";
import { type HopKind, ProofCheck } from "./proof.ts";

export const secret = Buffer.alloc(32, "cluster");
export const ada = { hubId: "00000000000000aa", bootId: "000000a1" };
export const bob = { hubId: "00000000000000bb", bootId: "000000b1" };
export const cyd = { hubId: "00000000000000cc", bootId: "000000c1" };
export const world = { ...systemWorld, wallMs: () => 1_000_000 };

/** The headers of a hub's refusal that says that another one is the home. */
export const notHome = { [PEER_HEADER]: HOME_ELSEWHERE };

export async function listening(server: Pick<Server, "listen" | "once" | "address">) {
  server.listen(0, "127.0.0.1");
  await new Promise((resolve) => void server.once("listening", () => resolve(undefined)));
  return (server.address() as AddressInfo).port;
}

/** @returns a URL at which nothing listens */
export async function refusingUrl(): Promise<string> {
  const server = createTcpServer();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return `http://127.0.0.1:${port}`;
}

/** A hub that takes connections of others. @param onSocket - an accepted one; @returns `dialled`: the first is here */
export async function startAcceptor(
  stack: AsyncDisposableStack,
  self: typeof bob,
  onSocket: (socket: Duplex, kind: HopKind, peer: typeof ada) => void,
) {
  const sockets = new Set<Socket>();
  const check = new ProofCheck(self, secret, world.wallMs);
  const front = createServer();
  const dialled = once(front, "upgrade");
  front.on("upgrade", (request, socket: Socket, head) => {
    const claim = acceptHop(check, request, socket, head);
    if (claim === undefined) return;
    sockets.add(socket);
    socket.on("error", () => {}).on("close", () => sockets.delete(socket));
    onSocket(socket, claim.kind, claim.from);
  });
  const port = await listening(front);
  stack.defer(() => {
    for (const socket of sockets) socket.destroy();
    front.closeAllConnections();
    front.close();
  });
  return { ...self, linkUrl: `http://127.0.0.1:${port}`, sockets, dialled };
}

/** A home that serves hops by `listener`. */
export async function startHome(
  stack: AsyncDisposableStack,
  self: typeof bob,
  listener: RequestListener,
  onUpgrade?: (request: IncomingMessage, socket: Socket, head: Buffer) => void,
) {
  const served = createServer({ requestTimeout: 0, keepAliveTimeout: 0 }, listener);
  served.on("checkContinue", listener);
  if (onUpgrade !== undefined) served.on("upgrade", onUpgrade);
  return startAcceptor(stack, self, (socket) => void served.emit("connection", socket));
}

export function hopsTo(homes: readonly HopTarget[], options: Partial<HopsOptions> = {}) {
  const ignore = () => {};
  return new Hops({
    ...{ self: ada, secret, world, facts: '{"requestId":"req_1"}' },
    ...{ onRefused: ignore, onOpen: ignore, onReset: ignore, onNote: ignore, serve: ignore },
    ...options,
    targetOf: (hubId) => homes.find((home) => home.hubId === hubId),
  });
}

/** A hub that pipes every request to these, one after the other, until one takes it; a WebSocket to the first. */
export function startEntry(stack: AsyncDisposableStack, ...homes: HopTarget[]) {
  return startEntryAt(stack, () => world.monotonicMs(), ...homes);
}

/** The same by another clock. */
export async function startEntryAt(
  stack: AsyncDisposableStack,
  monotonicMs: () => number,
  ...homes: HopTarget[]
) {
  const outcomes: PipeOutcome[] = [];
  const upgrades: UpgradeOutcome[] = [];
  const refused: string[] = [];
  const hops = hopsTo(homes, {
    onRefused: (hubId) => refused.push(hubId),
    world: { ...world, monotonicMs },
  });
  const server = createServer();
  const pipe = async (piped: PipedRequest, response: Parameters<RequestListener>[1]) => {
    for (const home of homes) {
      const outcome = await hops.send(piped, home, '{"requestId":"req_1"}');
      outcomes.push(outcome);
      const { kind } = outcome;
      if (kind === "broken" && !response.headersSent) response.writeHead(502).end();
      else if (kind === "broken") response.destroy();
      else if (kind === "refused") response.end(`data: ${outcome.body}\n\n`);
      if (kind !== "untaken") return;
      if (!piped.canBeSent) break;
    }
    response.writeHead(503).end();
  };
  const serve: RequestListener = (request, response) => {
    // As a home that holds a stream open with comments, before it gives the room away.
    if (request.headers["x-began"] !== undefined) {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write(": waiting\n\n");
    }
    void pipe(new PipedRequest(request, response), response);
  };
  server.on("request", serve);
  server.on("checkContinue", serve);
  server.on("upgrade", (request, socket, head) => {
    const [home] = homes;
    if (home === undefined) return;
    socket.on("error", () => {});
    void hops
      .pipeUpgrade({ request, socket, head }, home, '{"requestId":"req_1"}')
      .then((outcome) => upgrades.push(outcome));
  });
  const port = await listening(server);
  stack.defer(() => {
    hops.close();
    server.closeAllConnections();
    server.close();
  });
  const kinds = () => outcomes.map(({ kind }) => kind);
  return { port, hops, outcomes, kinds, upgrades, refused };
}

/** What a home got of each request, and `ok` as its response. */
export function recording() {
  const got: { headers: string[]; url: string; body: string }[] = [];
  const listener: RequestListener = (request, response) => {
    void text(request).then((body) => {
      got.push({ headers: request.rawHeaders, url: request.url ?? "", body });
      response.end("ok");
    });
  };
  return { got, listener };
}

/** @returns everything that came until the connection was closed */
export async function raw(port: number, bytes: string): Promise<string> {
  const socket = connect(port, "127.0.0.1");
  socket.write(bytes);
  return text(socket);
}
