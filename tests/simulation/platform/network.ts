import type { Server } from "node:net";
import { Duplex } from "node:stream";
import type { Machine, Scheduled, Scheduler } from "./scheduler.ts";

/** How bytes travel between two machines. */
export interface Weather {
  leastMs: number;
  mostMs: number;
  /** a write arrives in up to so many pieces, cut anywhere */
  mostPieces: number;
  /** of the writes that a system with room for them reads late, from 0 to 1 */
  lateRate: number;
}

/** What a sender may have on its way and unread at the other end. */
const windowBytes = 64 * 1024;

/** How late a system reads what a process has written, at most. */
const lateMs = 2;

/** A packet that is lost is sent again after this time: the network may have healed. */
const resendMs = 200;

/** When a dial that nothing responds to is given up. */
const dialMs = 20_000;

/** The machines of a simulation and what connects them: a TCP whose timing, order and ends a seed decides. */
export class Network {
  readonly scheduler: Scheduler;
  weather: Weather = { leastMs: 0.05, mostMs: 1, mostPieces: 3, lateRate: 0.25 };
  /** what was changed, or given back, after it was written and before the system had read it */
  readonly changedMemory: string[] = [];
  readonly #machines = new Map<string, Machine>();
  readonly #listeners = new Map<string, { server: Server; boot: number }>();
  /** all that ever listened */
  readonly #servers = new Set<Server>();
  readonly #cuts = new Set<string>();
  readonly #open = new Set<SimulatedSocket>();
  /** of machines whose dials break: within so many ms */
  readonly #brokenDials = new Map<Machine, number>();
  #nextPort = 40_000;

  constructor(scheduler: Scheduler) {
    this.scheduler = scheduler;
  }

  add(machine: Machine): void {
    this.#machines.set(machine.address, machine);
  }

  /** Once the history is over: servers and parsers of `node:http` stay in memory until they are closed. */
  close(): void {
    for (const socket of this.#open) socket.forget();
    for (const server of this.#servers) {
      // What waits for its end would run in the next history.
      server.removeAllListeners();
      server.close();
    }
  }

  get machines(): Iterable<Machine> {
    return this.#machines.values();
  }

  /** Both ends of each open connection, in the order in which they were made. */
  get sockets(): readonly SimulatedSocket[] {
    return [...this.#open];
  }

  listen(machine: Machine, port: number, server: Server): number {
    const chosen = port === 0 ? this.#nextPort++ : port;
    const key = `${machine.address}:${chosen}`;
    const earlier = this.#listeners.get(key);
    if (earlier?.boot === machine.boot) {
      throw Object.assign(new Error(`listen EADDRINUSE: ${key}`), { code: "EADDRINUSE" });
    }
    this.#listeners.set(key, { server, boot: machine.boot });
    this.#servers.add(server);
    return chosen;
  }

  stopListening(machine: Machine, port: number): void {
    this.#listeners.delete(`${machine.address}:${port}`);
  }

  /** Nothing passes between them until {@link heal}; what is on its way arrives afterwards. */
  cut(one: Machine, other: Machine): void {
    this.#cuts.add(pairOf(one, other));
  }

  heal(one: Machine, other: Machine): void {
    this.#cuts.delete(pairOf(one, other));
  }

  /** What it dials at another machine breaks within so many ms; undefined: no more. */
  breakDials(machine: Machine, mostMs: number | undefined): void {
    if (mostMs === undefined) this.#brokenDials.delete(machine);
    else this.#brokenDials.set(machine, mostMs);
  }

  healAll(): void {
    this.#cuts.clear();
    this.#brokenDials.clear();
  }

  isCut(one: Machine, other: Machine): boolean {
    return one !== other && this.#cuts.has(pairOf(one, other));
  }

  latencyMs(one: Machine, other: Machine): number {
    if (one === other) return 0.01;
    const { leastMs, mostMs } = this.weather;
    return leastMs + this.scheduler.random() * (mostMs - leastMs);
  }

  /** The process of the machine has ended: its system closes the connections and refuses new ones. */
  processEnded(machine: Machine): void {
    for (const [key, { boot }] of this.#listeners) {
      if (key.startsWith(`${machine.address}:`) && boot !== machine.boot)
        this.#listeners.delete(key);
    }
    for (const socket of this.#open) {
      if (socket.machine === machine) socket.vanish();
    }
  }

  connect(from: Machine, host: string, port: number): SimulatedSocket {
    const isHere = host === "127.0.0.1" || host === "localhost" || host === "::1";
    const to = isHere ? from : this.#machines.get(host);
    const socket = new SimulatedSocket(this, from, {
      localAddress: isHere ? "127.0.0.1" : from.address,
      localPort: this.#nextPort++,
      remoteAddress: isHere ? "127.0.0.1" : host,
      remotePort: port,
      allowHalfOpen: false,
    });
    this.opened(socket);
    const fail = (code: string) =>
      socket.destroy(Object.assign(new Error(`connect ${code} ${host}:${port}`), { code }));
    if (to === undefined) {
      this.scheduler.schedule(from, 1, "dial unreachable", () => fail("EHOSTUNREACH"));
      return socket;
    }
    this.#dial(socket, to, port, this.scheduler.nowMs + dialMs, fail);
    return socket;
  }

  #dial(
    socket: SimulatedSocket,
    to: Machine,
    port: number,
    giveUpMs: number,
    fail: (code: string) => void,
  ): void {
    const { scheduler } = this;
    const from = socket.machine;
    if (socket.destroyed) return;
    if (this.isCut(from, to)) {
      if (scheduler.nowMs > giveUpMs) return fail("ETIMEDOUT");
      scheduler.schedule(from, resendMs, "dial again", () => {
        this.#dial(socket, to, port, giveUpMs, fail);
      });
      return;
    }
    const boot = to.boot;
    // The system of the other machine accepts, also while the process there stands still.
    scheduler.schedule(from, this.latencyMs(from, to), "dial", () => {
      if (socket.destroyed) return;
      const key = `${to.address}:${port}`;
      const listener = this.#listeners.get(key);
      if (listener === undefined || listener.boot !== to.boot || boot !== to.boot) {
        return fail("ECONNREFUSED");
      }
      const accepted = new SimulatedSocket(this, to, {
        localAddress: socket.remoteAddress,
        localPort: port,
        remoteAddress: socket.localAddress,
        remotePort: socket.localPort,
        allowHalfOpen: true,
      });
      this.opened(accepted);
      accepted.joinTo(socket);
      socket.joinTo(accepted);
      scheduler.schedule(to, this.latencyMs(to, from), "accept", () => {
        if (accepted.destroyed) return;
        // A system resets what a process has not accepted when it closes the port.
        if (this.#listeners.get(key) !== listener) return void accepted.resetAndDestroy();
        accepted.isConnected();
        listener.server.emit("connection", accepted);
      });
      socket.isConnected();
      const breaksWithinMs = from === to ? undefined : this.#brokenDials.get(from);
      if (breaksWithinMs === undefined) return;
      const breaksAfterMs = scheduler.random() * breaksWithinMs;
      scheduler.schedule(from, breaksAfterMs, "break", () => socket.break());
    });
  }

  /** What a socket had to send was not the same anymore when its system read it. */
  noteChanged({ machine, remotePort }: SimulatedSocket): void {
    this.changedMemory.push(`bytes of ${machine.name} for port ${remotePort}`);
  }

  opened(socket: SimulatedSocket): void {
    this.#open.add(socket);
  }

  closed(socket: SimulatedSocket): void {
    this.#open.delete(socket);
  }
}

function pairOf(one: Machine, other: Machine): string {
  return one.name < other.name ? `${one.name} ${other.name}` : `${other.name} ${one.name}`;
}

type Done = (error?: Error) => void;

/** What a process has written: its system may read it until it calls back. */
interface Lent {
  parts: readonly Buffer[];
  /** what they were */
  written: Buffer;
  done: Done;
}

function isGivenBack({ buffer }: Buffer): boolean {
  return buffer instanceof ArrayBuffer && buffer.detached;
}

interface Addresses {
  localAddress: string;
  localPort: number;
  remoteAddress: string;
  remotePort: number;
  /** stays writable when the other end has ended: an HTTP server's do, those that were dialled do not */
  allowHalfOpen: boolean;
}

/** One end of a connection: what the code of a platform's `net.Socket` needs. */
export class SimulatedSocket extends Duplex {
  readonly machine: Machine;
  readonly localAddress: string;
  readonly localPort: number;
  readonly remoteAddress: string;
  readonly remotePort: number;
  readonly remoteFamily = "IPv4";
  connecting = true;
  bytesRead = 0;
  bytesWritten = 0;
  timeout = 0;
  readonly #network: Network;
  /** of the process that has it */
  readonly #boot: number;
  #peer: SimulatedSocket | undefined;
  /** that run once it is connected */
  readonly #waiting: (() => void)[] = [];
  /** received and not read yet */
  readonly #received: (Buffer | null)[] = [];
  #receivedBytes = 0;
  #isReading = false;
  /** sent and not read at the other end */
  #unreadBytes = 0;
  /** written, and still in the memory of the process */
  #lent: Lent | undefined;
  /** what the other end has sent and has not arrived */
  readonly #underWay: (() => void)[] = [];
  #hasSentEnd = false;
  #idle: Scheduled | undefined;

  constructor(network: Network, machine: Machine, addresses: Addresses) {
    super({ allowHalfOpen: addresses.allowHalfOpen, emitClose: true });
    // http adds one for each response of a connection.
    this.setMaxListeners(0);
    this.#network = network;
    this.machine = machine;
    this.#boot = machine.boot;
    this.localAddress = addresses.localAddress;
    this.localPort = addresses.localPort;
    this.remoteAddress = addresses.remoteAddress;
    this.remotePort = addresses.remotePort;
  }

  joinTo(peer: SimulatedSocket): void {
    this.#peer = peer;
  }

  get peer(): SimulatedSocket | undefined {
    return this.#peer;
  }

  isConnected(): void {
    if (this.destroyed || !this.connecting) return;
    this.connecting = false;
    this.emit("connect");
    this.emit("ready");
    for (const task of this.#waiting.splice(0)) task();
  }

  override _write(chunk: Buffer, _encoding: string, done: Done): void {
    this.#lend([chunk], done);
  }

  override _writev(chunks: { chunk: Buffer }[], done: Done): void {
    this.#lend(
      chunks.map(({ chunk }) => chunk),
      done,
    );
  }

  /** As of a system: it reads the memory of the process at once where it has room, else late. */
  #lend(written: readonly Buffer[], done: Done): void {
    const parts = written.filter((part) => !isGivenBack(part));
    if (parts.length < written.length) this.#network.noteChanged(this);
    this.#lent = { parts, written: Buffer.concat(parts), done };
    if (this.connecting) this.#waiting.push(() => this.#takeLent());
    else if (this.#isRoomFor(this.#lent) && !this.#isLate()) this.#takeLent();
  }

  #isRoomFor({ written }: Lent): boolean {
    return this.#unreadBytes === 0 || this.#unreadBytes + written.length <= windowBytes;
  }

  #isLate(): boolean {
    const { scheduler, weather } = this.#network;
    if (scheduler.random() >= weather.lateRate) return false;
    scheduler.schedule(this.machine, scheduler.random() * lateMs, "read late", () => {
      this.#takeLent();
    });
    return true;
  }

  /** The system reads what was written, as it is now. */
  #takeLent(): void {
    if (this.#lent === undefined || this.destroyed || !this.#isRoomFor(this.#lent)) return;
    const { parts, written, done } = this.#lent;
    this.#lent = undefined;
    const bytes = Buffer.concat(parts.filter((part) => !isGivenBack(part)));
    if (!bytes.equals(written)) this.#network.noteChanged(this);
    this.#touch();
    this.bytesWritten += bytes.length;
    this.#unreadBytes += bytes.length;
    this.#sendInPieces(bytes);
    done();
  }

  #sendInPieces(bytes: Buffer): void {
    const { scheduler, weather } = this.#network;
    let rest = bytes;
    for (let left = 1 + Math.floor(scheduler.random() * weather.mostPieces); left > 1; left--) {
      if (rest.length < 2) break;
      const at = 1 + Math.floor(scheduler.random() * (rest.length - 1));
      this.#send(rest.subarray(0, at));
      rest = rest.subarray(at);
    }
    this.#send(rest);
  }

  override _final(done: Done): void {
    if (this.connecting) {
      this.#waiting.push(() => this._final(done));
      return;
    }
    this.#sendEnd();
    done();
  }

  override _read(): void {
    this.#isReading = true;
    this.#deliver();
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.connecting = false;
    this.#idle?.cancel();
    this.#network.closed(this);
    if (this.#receivedBytes > 0 || error !== null) this.#sendReset();
    else this.#sendEnd();
    this.#lent = undefined;
    done(error);
  }

  /** The connection breaks, and both ends hear of it. */
  break(): void {
    const peer = this.#peer;
    this.#hear("reset", () => this.#onReset());
    if (peer !== undefined) peer.#hear("reset", () => peer.#onReset());
  }

  /** No code of its machine runs anymore, so none would release what parses it. */
  forget(): void {
    const { parser } = this as { parser?: { remove(): void; close(): void } | null };
    parser?.remove();
    parser?.close();
  }

  /** Its process has ended: the other end hears of it, this one runs no code anymore. */
  vanish(): void {
    this.forget();
    this.#network.closed(this);
    this.#idle?.cancel();
    if (this.#network.scheduler.random() < 0.5) this.#sendReset();
    else this.#sendEnd();
  }

  setNoDelay(): this {
    return this;
  }

  setKeepAlive(): this {
    return this;
  }

  ref(): this {
    return this;
  }

  unref(): this {
    return this;
  }

  setTimeout(ms: number, listener?: () => void): this {
    this.timeout = ms;
    if (listener !== undefined) this.once("timeout", listener);
    this.#touch();
    return this;
  }

  address(): { address: string; port: number; family: string } {
    return { address: this.localAddress, port: this.localPort, family: "IPv4" };
  }

  destroySoon(): void {
    if (this.writable) this.end();
    if (this.writableFinished) this.destroy();
    else this.once("finish", () => this.destroy());
  }

  resetAndDestroy(): this {
    this.#sendReset();
    this.destroy();
    return this;
  }

  #touch(): void {
    this.#idle?.cancel();
    if (this.timeout <= 0 || this.destroyed) return;
    const { scheduler } = this.#network;
    this.#idle = scheduler.schedule(this.machine, this.timeout, "socket idle", () => {
      this.emit("timeout");
    });
  }

  #send(bytes: Buffer): void {
    const peer = this.#peer;
    if (peer === undefined) return;
    // What a socket reads is memory of its own, which its reader may give back.
    const own = Buffer.allocUnsafeSlow(bytes.length);
    bytes.copy(own);
    peer.#arrive(this, `${own.length} bytes`, () => peer.#onBytes(own));
  }

  #sendEnd(): void {
    const peer = this.#peer;
    if (this.#hasSentEnd) return;
    this.#hasSentEnd = true;
    if (peer !== undefined) peer.#arrive(this, "end", () => peer.#onEnd());
  }

  #sendReset(): void {
    const peer = this.#peer;
    if (this.#hasSentEnd && peer?.destroyed === true) return;
    this.#hasSentEnd = true;
    if (peer !== undefined) peer.#arrive(this, "reset", () => peer.#onReset());
  }

  /** What the other end sent, in its order; held while nothing passes between the machines. */
  #arrive(from: SimulatedSocket, what: string, task: () => void): void {
    const { scheduler } = this.#network;
    if (this.#boot !== this.machine.boot) return;
    this.#underWay.push(task);
    const latencyMs = this.#network.latencyMs(from.machine, this.machine);
    scheduler.schedule(this.machine, latencyMs, what, () => this.#nextArrival(from, what));
  }

  /** Arrivals are as many as what is under way: each takes the oldest. */
  #nextArrival(from: SimulatedSocket, what: string): void {
    const { scheduler } = this.#network;
    if (this.#network.isCut(from.machine, this.machine)) {
      scheduler.schedule(this.machine, resendMs, "sent again", () => {
        this.#nextArrival(from, what);
      });
      return;
    }
    this.#underWay.shift()?.();
  }

  #hear(what: string, task: () => void): void {
    if (this.#boot !== this.machine.boot) return;
    this.#network.scheduler.schedule(this.machine, 0.01, what, task);
  }

  #onBytes(bytes: Buffer): void {
    if (this.destroyed) {
      this.#sendReset();
      return;
    }
    this.#touch();
    this.bytesRead += bytes.length;
    this.#receivedBytes += bytes.length;
    this.#received.push(bytes);
    if (this.#isReading) this.#deliver();
  }

  #onEnd(): void {
    if (this.destroyed) return;
    this.#received.push(null);
    if (this.#isReading) this.#deliver();
  }

  #onReset(): void {
    if (this.destroyed) return;
    this.#hasSentEnd = true;
    const error = Object.assign(new Error("read ECONNRESET"), { code: "ECONNRESET" });
    // One that its server has not accepted yet is lost without a word.
    this.destroy(this.connecting ? undefined : error);
  }

  #deliver(): void {
    for (let next = this.#received.shift(); next !== undefined; next = this.#received.shift()) {
      if (next === null) {
        this.push(null);
        return;
      }
      this.#receivedBytes -= next.length;
      const { length } = next;
      const peer = this.#peer;
      if (peer !== undefined) peer.#wasRead(length);
      if (!this.push(next)) {
        this.#isReading = false;
        return;
      }
    }
  }

  /** The other end has read so much. */
  #wasRead(bytes: number): void {
    this.#unreadBytes -= bytes;
    // What a process that was killed had still to write is lost with it.
    if (this.#boot !== this.machine.boot) return;
    if (this.#lent === undefined || this.connecting || !this.#isRoomFor(this.#lent)) return;
    this.#network.scheduler.schedule(this.machine, 0.01, "window", () => this.#takeLent());
  }
}
