import crypto from "node:crypto";
import fs from "node:fs";
import fsPromises from "node:fs/promises";
import http from "node:http";
import { syncBuiltinESMExports } from "node:module";
import net from "node:net";
import os from "node:os";
import timersPromises from "node:timers/promises";
import { type Disk, diskRoot } from "./disk.ts";
import type { Network } from "./network.ts";
import { realSetImmediate } from "./real.ts";
import { simulatedFetch } from "./simulated-fetch.ts";
import type { Machine, Scheduled, Scheduler } from "./scheduler.ts";

/** What stands behind the globals of this process while a history runs. */
export interface Platform {
  scheduler: Scheduler;
  network: Network;
  /** of the machines that have one */
  disks: ReadonlyMap<Machine, Disk>;
}

const real = {
  Date,
  now: Date.now,
  monotonicMs: performance.now.bind(performance),
  random: Math.random,
  setTimeout,
  clearTimeout,
  setInterval,
  clearInterval,
  setImmediate: realSetImmediate,
  clearImmediate,
  connect: net.connect,
  server: Object.create(null, Object.getOwnPropertyDescriptors(net.Server.prototype)) as net.Server,
  randomBytes: crypto.randomBytes,
  randomFillSync: crypto.randomFillSync,
  randomInt: crypto.randomInt,
  randomUUID: crypto.randomUUID,
  fetch,
};

/** 2026-01-01T00:00:00Z: the wall clock of a simulation begins here. */
const epochMs = 1_767_225_600_000;

let platform: Platform | undefined;

/** The platform of the history that runs; undefined between two of them. */
export function usePlatform(next: Platform | undefined): void {
  platform = next;
}

/** Whether the code that runs now is a machine's: everything else keeps the real platform. */
function active(): Platform | undefined {
  return platform?.scheduler.isRunning === true ? platform : undefined;
}

class SimulatedTimer {
  readonly #start: () => Scheduled;
  #scheduled: Scheduled;

  constructor(start: () => Scheduled) {
    this.#start = start;
    this.#scheduled = start();
  }

  cancel(): void {
    this.#scheduled.cancel();
  }

  again(): void {
    this.#scheduled = this.#start();
  }

  refresh(): this {
    this.#scheduled.cancel();
    this.#scheduled = this.#start();
    return this;
  }

  ref(): this {
    return this;
  }

  unref(): this {
    return this;
  }

  hasRef(): boolean {
    return true;
  }

  close(): this {
    this.cancel();
    return this;
  }

  [Symbol.dispose](): void {
    this.cancel();
  }
}

type Task = (...values: unknown[]) => void;

function startTimer(
  { scheduler }: Platform,
  what: string,
  task: Task,
  ms: number | undefined,
  values: unknown[],
): SimulatedTimer {
  const { machine } = scheduler;
  const delayMs = Math.max(what === "immediate" ? 0 : 1, ms ?? 1);
  return new SimulatedTimer(() =>
    scheduler.schedule(machine, delayMs, what, () => task(...values)),
  );
}

function stopTimer(timer: unknown, otherwise: (timer: never) => void): void {
  if (timer instanceof SimulatedTimer) timer.cancel();
  else otherwise(timer as never);
}

/**
 * Replaces time, timers, randomness and sockets of this process: what runs on a machine of a simulation gets the
 * simulation's. To be called before anything of the product is loaded, since modules keep what they import.
 */
export function installPlatform(): void {
  replaceTimers();
  replaceClocks();
  replaceRandomness();
  replaceSockets();
  replaceInterfaces();
  replaceFiles();
  globalThis.fetch = (input, init) =>
    active() === undefined ? real.fetch(input, init) : simulatedFetch(input as string, init ?? {});
  AbortSignal.timeout = (ms) => {
    const controller = new AbortController();
    setTimeout(() => {
      controller.abort(new DOMException("The operation timed out", "TimeoutError"));
    }, ms);
    return controller.signal;
  };
  syncBuiltinESMExports();
}

function replaceTimers(): void {
  const replaced = {
    setTimeout(task: Task, ms?: number, ...values: unknown[]) {
      const now = active();
      return now === undefined
        ? real.setTimeout(task, ms, ...values)
        : startTimer(now, "timer", task, ms, values);
    },
    setInterval(task: Task, ms?: number, ...values: unknown[]) {
      const now = active();
      if (now === undefined) return real.setInterval(task, ms, ...values);
      const again: Task = (...given) => {
        timer.again();
        task(...given);
      };
      const timer = startTimer(now, "interval", again, ms, values);
      return timer;
    },
    setImmediate(task: Task, ...values: unknown[]) {
      const now = active();
      return now === undefined
        ? real.setImmediate(task, ...values)
        : startTimer(now, "immediate", task, 0, values);
    },
    clearTimeout: (timer: unknown) => stopTimer(timer, real.clearTimeout),
    clearInterval: (timer: unknown) => stopTimer(timer, real.clearInterval),
    clearImmediate: (timer: unknown) => stopTimer(timer, real.clearImmediate),
  };
  Object.assign(globalThis, replaced);
  const { setTimeout: realPause, setImmediate: realTurn } = timersPromises;
  Object.assign(timersPromises, {
    setTimeout: (ms: number, value: unknown, ...rest: never[]) =>
      active() === undefined
        ? realPause(ms, value, ...rest)
        : new Promise((resolve) => replaced.setTimeout(() => resolve(value), ms)),
    setImmediate: (value: unknown, ...rest: never[]) =>
      active() === undefined
        ? realTurn(value, ...rest)
        : new Promise((resolve) => replaced.setImmediate(() => resolve(value))),
  });
}

function replaceClocks(): void {
  performance.now = () => active()?.scheduler.nowMs ?? real.monotonicMs();
  const { timeOrigin } = performance;
  // By it a hub distinguishes the processes that had its lock.
  Object.defineProperty(performance, "timeOrigin", {
    get: () => {
      const now = active();
      return now === undefined ? timeOrigin : epochMs + now.scheduler.machine.startedMs;
    },
  });
  const wallMs = (): number => {
    const now = active();
    if (now === undefined) return real.now();
    return Math.floor(epochMs + now.scheduler.nowMs + now.scheduler.machine.wallOffsetMs);
  };
  globalThis.Date = new Proxy(real.Date, {
    construct: (target, values: [], newTarget) =>
      Reflect.construct(target, values.length === 0 ? [wallMs()] : values, newTarget) as Date,
    get: (target, key) => (key === "now" ? wallMs : (Reflect.get(target, key) as unknown)),
  });
}

function replaceRandomness(): void {
  const fill = <Bytes extends NodeJS.ArrayBufferView>(bytes: Bytes): Bytes => {
    const now = active();
    // ws fills a pool that outlives a history, for masks: what it draws and when must not shift what follows.
    if (now === undefined || bytes.byteLength >= 4_096) return real.randomFillSync(bytes);
    const view = new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    for (let at = 0; at < view.length; at++) view[at] = Math.floor(now.scheduler.random() * 256);
    return bytes;
  };
  const uuid = (): string => {
    if (active() === undefined) return real.randomUUID();
    const hex = fill(Buffer.alloc(16)).toString("hex");
    const [one, two, four, five] = [
      hex.slice(0, 8),
      hex.slice(8, 12),
      hex.slice(17, 20),
      hex.slice(20),
    ];
    return `${one}-${two}-4${hex.slice(13, 16)}-8${four}-${five}`;
  };
  Math.random = () => active()?.scheduler.random() ?? real.random();
  Object.assign(crypto, {
    randomBytes: (count: number, done?: (error: null, bytes: Buffer) => void) => {
      if (active() === undefined) return real.randomBytes(count, done as never);
      const bytes = fill(Buffer.alloc(count));
      done?.(null, bytes);
      return bytes;
    },
    randomFillSync: fill,
    randomInt: (least: number, bound?: number) => {
      const now = active();
      if (now === undefined) return real.randomInt(least, bound as number);
      const [from, to] = bound === undefined ? [0, least] : [least, bound];
      return from + Math.floor(now.scheduler.random() * (to - from));
    },
    randomUUID: uuid,
  });
  globalThis.crypto.getRandomValues = ((bytes: Uint8Array<ArrayBuffer>) => fill(bytes)) as never;
  globalThis.crypto.randomUUID = uuid as never;
}

/** Where a server of the simulation listens. */
const listening = new WeakMap<net.Server, { port: number; host: string; stop: () => void }>();

function replaceSockets(): void {
  const connect = (...values: unknown[]): unknown => {
    const now = active();
    if (now === undefined) return real.connect(...(values as Parameters<typeof real.connect>));
    const [first, second] = values as [net.TcpNetConnectOpts | number, string | undefined];
    const { port, host = "127.0.0.1" } =
      typeof first === "number" ? { port: first, host: second } : first;
    const socket = now.network.connect(now.scheduler.machine, host, port);
    const onConnect = values.find((value) => typeof value === "function");
    if (onConnect !== undefined) socket.once("connect", onConnect as () => void);
    return socket;
  };
  Object.assign(net, { connect, createConnection: connect });
  Object.assign(http.Agent.prototype, { createConnection: connect });
  net.Server.prototype.listen = function (this: net.Server, ...values: never[]) {
    const now = active();
    if (now === undefined) return real.server.listen.call(this, ...(values as unknown as [number]));
    const [first] = values as unknown[];
    const options =
      typeof first === "object" ? (first as net.ListenOptions) : { port: first as number };
    const { machine } = now.scheduler;
    if (options.host === "::1") {
      process.nextTick(() =>
        this.emit("error", Object.assign(new Error("EADDRNOTAVAIL"), { code: "EADDRNOTAVAIL" })),
      );
      return this;
    }
    const port = now.network.listen(machine, options.port ?? 0, this);
    const stop = () => now.network.stopListening(machine, port);
    listening.set(this, { port, host: options.host ?? machine.address, stop });
    process.nextTick(() => this.emit("listening"));
    return this;
  } as typeof real.server.listen;
  net.Server.prototype.address = function (this: net.Server) {
    const at = listening.get(this);
    if (at === undefined) return real.server.address.call(this);
    return { address: at.host, port: at.port, family: "IPv4" };
  };
  net.Server.prototype.close = function (this: net.Server, done?: (error?: Error) => void) {
    const at = listening.get(this);
    if (at === undefined) return real.server.close.call(this, done);
    at.stop();
    process.nextTick(() => {
      this.emit("close");
      done?.();
    });
    return this;
  };
}

function replaceInterfaces(): void {
  const { networkInterfaces } = os;
  const interfaceAt = (address: string): os.NetworkInterfaceInfo => ({
    ...{ address, netmask: "255.255.255.0", mac: "00:00:00:00:00:00", cidr: `${address}/24` },
    ...{ family: "IPv4", internal: address === "127.0.0.1" },
  });
  os.networkInterfaces = () => {
    const now = active();
    if (now === undefined) return networkInterfaces();
    const { address } = now.scheduler.machine;
    return { lo: [interfaceAt("127.0.0.1")], eth0: [interfaceAt(address)] };
  };
}

/** What is below {@link diskRoot} is on the disk of the machine. */
function replaceFiles(): void {
  const names = [
    ...(["mkdir", "readdir", "readFile", "writeFile", "stat", "lstat"] as const),
    ...(["rename", "link", "unlink", "open"] as const),
  ];
  for (const name of names) {
    const realCall = fsPromises[name] as (path: string, ...rest: unknown[]) => unknown;
    const call = (path: string, ...rest: unknown[]): unknown => {
      const now = active();
      const disk = now?.disks.get(now.scheduler.machine);
      if (disk === undefined || !path.startsWith(diskRoot)) return realCall(path, ...rest);
      return (disk.calls[name] as typeof realCall)(path, ...rest);
    };
    Object.assign(fsPromises, { [name]: call });
  }
  const syncNames = [
    ...(["mkdirSync", "readdirSync", "rmSync", "openSync", "closeSync"] as const),
    ...(["fstatSync", "readSync", "writeSync"] as const),
  ];
  for (const name of syncNames) {
    const realCall = fs[name] as (file: unknown, ...rest: unknown[]) => unknown;
    const call = (file: unknown, ...rest: unknown[]): unknown => {
      const now = active();
      const disk = now?.disks.get(now.scheduler.machine);
      const isOfDisk =
        typeof file === "string" ? file.startsWith(diskRoot) : disk?.hasOpen(file) === true;
      if (disk === undefined || !isOfDisk) return realCall(file, ...rest);
      return (disk.callsSync[name] as typeof realCall)(file, ...rest);
    };
    Object.assign(fs, { [name]: call });
  }
}
