/** Many watchers of one event stream in a process of their own, on bare sockets. */
import { connect, type Socket } from "node:net";
import { sharedNowMs } from "../shared-clock.ts";
import { serveHarness } from "./rpc.ts";

export interface WatchWish {
  port: number;
  path: string;
  count: number;
  /** never read anything */
  isStalled: boolean;
}

interface Watcher {
  socket: Socket;
  events: number;
  /** of the first and the last event */
  lastMs: number;
  greeted: boolean;
  isClosed: boolean;
}

const watchers: Watcher[] = [];
let marker = Buffer.from("event: ");

const handlers = {
  /** Resolves when all have received the first comment, or, stalled, are connected. */
  async open({ port, path, count, isStalled }: WatchWish) {
    for (let at = 0; at < count; at += 500) {
      const part = Array.from({ length: Math.min(500, count - at) }, (_, index) =>
        open(port, path, isStalled, `127.0.0.${2 + ((at + index) % 4)}`),
      );
      await Promise.all(part);
    }
  },
  /** Only events whose line begins like this are counted from now on. */
  count(eventLine: string) {
    marker = Buffer.from(eventLine);
    for (const watcher of watchers) watcher.events = 0;
  },
  seen: () => ({
    watchers: watchers.length,
    closed: watchers.filter(({ isClosed }) => isClosed).length,
    withEvents: watchers.filter(({ events }) => events > 0).length,
    events: watchers.reduce((sum, { events }) => sum + events, 0),
    lastMs: watchers.reduce((last, { lastMs }) => Math.max(last, lastMs), 0),
  }),
  close() {
    for (const { socket } of watchers.splice(0)) socket.destroy();
  },
};
export type SubscriberHandlers = typeof handlers;

function open(port: number, path: string, isStalled: boolean, localAddress: string): Promise<void> {
  const socket = connect({ port, host: "127.0.0.1", localAddress });
  const watcher: Watcher = { socket, events: 0, lastMs: 0, greeted: false, isClosed: false };
  watchers.push(watcher);
  return new Promise((resolve, reject) => {
    socket.on("connect", () => {
      socket.write(`GET ${path} HTTP/1.1\r\nhost: hub\r\naccept: text/event-stream\r\n\r\n`);
      if (!isStalled) return;
      socket.pause();
      resolve();
    });
    if (!isStalled) {
      socket.on("data", (bytes) => {
        watcher.greeted ||= bytes.includes("retry:");
        if (watcher.greeted) resolve();
        for (let at = bytes.indexOf(marker); at !== -1; at = bytes.indexOf(marker, at + 1)) {
          watcher.events++;
          watcher.lastMs = sharedNowMs();
        }
      });
    }
    socket.on("error", reject);
    socket.on("close", () => {
      watcher.isClosed = true;
      reject(new Error("closed before the greeting"));
    });
  });
}

serveHarness(handlers);
