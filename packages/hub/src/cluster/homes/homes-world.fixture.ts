import type { HubIdentity } from "../../domain/participant.ts";
import { aPresence } from "../directory-compliance.fixture.ts";
import { DirectoryUnavailable, PRESENCE_INTERVAL_MS } from "../directory.ts";
import type { HubPresence } from "../hubs/hub-presence.ts";
import { SILENCE_MS } from "../hubs/hubs.ts";
import { RollCall } from "../hubs/roll-call.ts";
import type { Home, StoredHome } from "./room-home.ts";
import { RoomHomes } from "./room-homes.ts";

const tickMs = 250;
const redialMs = 400;

/** A request that a client sent to one of the hubs. */
export interface Call {
  at: HubNode;
  code: string;
  sentMs: number;
  /** the highest that it has seen */
  epoch: number;
  served: { by: HubNode; epoch: number; ms: number } | undefined;
  error: unknown;
  endedMs: number | undefined;
}

interface Event {
  atMs: number;
  number: number;
  /** waits while this hub is suspended, and never happens once it is dead */
  on: HubNode | undefined;
  run: () => void;
}

/** Several hubs, the directory and the time, in one process: messages take some ms, hubs die, stop and are suspended. */
export class HomesWorld {
  nowMs = 0;
  readonly nodes: HubNode[] = [];
  readonly calls: Call[] = [];
  readonly rooms = new Set<string>();
  readonly homes = new Map<string, StoredHome>();
  readonly presences = new Map<string, HubPresence>();
  readonly bugs: unknown[] = [];
  /** who served in which epoch */
  readonly #servedBy = new Map<string, HubNode>();
  readonly #random: () => number;
  #events: Event[] = [];
  #number = 0;
  #revision = 0;

  /** @param random - uniform in `[0, 1)` */
  constructor(random: () => number = () => 0.5) {
    this.#random = random;
  }

  /** @param name - of the place: a hub that restarts has the same */
  start(name: string): HubNode {
    const life = this.nodes.filter(({ self }) => self.hubId === name).length + 1;
    const node = new HubNode(this, { hubId: name, bootId: `${name}${life}` });
    this.nodes.push(node);
    node.begin();
    return node;
  }

  latency(): number {
    return 1 + Math.floor(this.#random() * 9);
  }

  after(ms: number, on: HubNode | undefined, run: () => void): void {
    this.#events.push({ atMs: this.nowMs + ms, number: (this.#number += 1), on, run });
  }

  async run(ms: number): Promise<void> {
    const untilMs = this.nowMs + ms;
    for (let event = this.#next(untilMs); event !== undefined; event = this.#next(untilMs)) {
      this.nowMs = Math.max(this.nowMs, event.atMs);
      event.run();
      await new Promise((resolve) => setImmediate(resolve));
    }
    this.nowMs = untilMs;
  }

  async runUntil(isDone: () => boolean, limitMs: number): Promise<void> {
    for (const startMs = this.nowMs; !isDone() && this.nowMs - startMs < limitMs;)
      await this.run(10);
  }

  request(at: HubNode, code: string): Call {
    const sent = { sentMs: this.nowMs, epoch: 0, endedMs: undefined };
    const call: Call = { at, code, ...sent, served: undefined, error: undefined };
    this.calls.push(call);
    this.rooms.add(code);
    this.after(0, at, () => void at.carry(call));
    return call;
  }

  serve(call: Call, by: HubNode, epoch: number): void {
    const key = `${call.code} ${epoch}`;
    const owner = this.#servedBy.get(key) ?? by;
    this.#servedBy.set(key, owner);
    if (owner !== by) throw new Error(`two hubs serve ${call.code} in epoch ${epoch}`);
    if (epoch < call.epoch) throw new Error("served in an epoch that is over");
    call.served = { by, epoch, ms: this.nowMs };
    call.endedMs = this.nowMs;
  }

  write(code: string, home: Home | undefined, expected: number): number | undefined {
    if ((this.homes.get(code)?.revision ?? 0) !== expected) return undefined;
    const revision = (this.#revision += 1);
    if (home === undefined) this.homes.delete(code);
    else this.homes.set(code, { home, revision });
    for (const node of this.nodes) node.watch(code, home, revision);
    return revision;
  }

  /** The directory restarts without what it had. */
  empty(): void {
    this.homes.clear();
    this.#revision += 1_000;
    for (const node of this.alive()) node.cutOff();
    for (const node of this.alive()) node.heal();
  }

  alive(): HubNode[] {
    return this.nodes.filter(({ isAlive }) => isAlive);
  }

  #next(untilMs: number): Event | undefined {
    this.#events = this.#events.filter(({ on }) => on === undefined || on.isAlive);
    let next: Event | undefined;
    for (const event of this.#events) {
      if (event.on?.isSuspended === true || event.atMs > untilMs) continue;
      if (next === undefined || isBefore(event, next)) next = event;
    }
    if (next !== undefined) this.#events.splice(this.#events.indexOf(next), 1);
    return next;
  }
}

function isBefore(one: Event, other: Event): boolean {
  return one.atMs < other.atMs || (one.atMs === other.atMs && one.number < other.number);
}

/** One hub process. */
export class HubNode {
  readonly self: HubIdentity;
  readonly homes: RoomHomes;
  readonly roll: RollCall;
  readonly taken: string[] = [];
  readonly lost: string[] = [];
  readonly #world: HomesWorld;
  isAlive = true;
  isSuspended = false;
  isUp = false;
  /** of the directory: the outcome of each write is lost */
  losesOutcomes = false;
  /** of the registrations */
  failsToLoad = false;
  acceptsOffers = true;
  reads = 0;
  deadSinceMs: number | undefined;
  /** it gives no sign of its death */
  isSilent = false;
  readonly #known = new Map<string, number>();
  readonly #pending = new Set<() => void>();
  #upSinceMs: number | undefined;
  #frozenMs = 0;
  #suspendedMs = 0;
  #connection = 0;
  isDraining = false;

  constructor(world: HomesWorld, self: HubIdentity) {
    this.#world = world;
    this.self = self;
    const nowMs = () => world.nowMs - this.#frozenMs;
    this.roll = new RollCall({
      self,
      startedAt: world.nowMs,
      announce: () => undefined,
      facts: () => ({ version: "1", participants: 0, wantsDetail: false, isDraining: false }),
      links: {
        isOpen: (hubId) => this.#isLinked(hubId),
        problemOf: () => undefined,
        hubPresent: () => undefined,
        hubLeft: () => undefined,
        hubGone: () => undefined,
        refusedForMs: (hubId) => this.homes.refusedForMs(hubId),
      },
      detailWatchedElsewhere: () => undefined,
      log: { event() {}, warn() {}, bug() {} },
      nowMs,
    });
    this.homes = new RoomHomes({
      self,
      directory: this.#directory(),
      roll: this.roll,
      exists: (code) => world.rooms.has(code),
      isInUse: () => true,
      hooks: {
        onTaken: async (code, home) => {
          await this.#call(() => undefined);
          if (this.failsToLoad) throw new DirectoryUnavailable("no registrations");
          this.taken.push(`${code} ${home.epoch}`);
        },
        onLost: (code, home) => void this.lost.push(`${code} ${home.epoch}`),
        offer: (code, to, offer) => this.#offer(code, to, offer),
        tell: (hubId, code, epoch) => {
          const to = world.alive().find((node) => node.self.hubId === hubId);
          if (to !== undefined)
            world.after(world.latency(), to, () => to.homes.sawEpoch(code, epoch));
        },
      },
      nowMs,
      time: { monotonicMs: () => world.nowMs, wallMs: () => world.nowMs },
      reportBug: (error) => void world.bugs.push(error),
    });
  }

  begin(): void {
    this.heal();
    this.#repeat(tickMs, () => this.#tick());
    this.#repeat(redialMs, () => this.#redial());
    this.#repeat(PRESENCE_INTERVAL_MS, () => this.#beat());
  }

  /** Its sockets are reset. */
  kill(): void {
    this.#die();
    for (const node of this.#world.alive())
      this.#world.after(this.#world.latency(), node, () => node.homes.hubReset(this.self.hubId));
  }

  /** As when its computer loses its power. */
  fallSilent(): void {
    this.isSilent = true;
    this.#die();
  }

  /** In order. */
  async stop(): Promise<void> {
    this.isDraining = true;
    this.#beat();
    await this.homes.stop();
    this.#world.presences.delete(this.self.hubId);
    for (const node of this.#world.nodes) node.sees(this.self.hubId, undefined);
    this.kill();
  }

  suspend(): void {
    this.isSuspended = true;
    this.#suspendedMs = this.#world.nowMs;
  }

  resume(): void {
    this.isSuspended = false;
    // Less than the clock of a hub forgives, which is up to the next tick.
    this.#frozenMs += this.#world.nowMs - this.#suspendedMs;
  }

  cutOff(): void {
    this.#connection += 1;
    this.isUp = false;
    this.#upSinceMs = undefined;
    for (const fail of this.#pending) fail();
    this.#pending.clear();
    this.homes.directoryChanged(false);
  }

  heal(): void {
    const world = this.#world;
    const connection = (this.#connection += 1);
    world.after(world.latency(), this, () => {
      if (connection !== this.#connection) return;
      for (const [hubId, presence] of world.presences) this.#hear(hubId, presence);
      for (const [code, { home, revision }] of world.homes) this.#learn(code, home, revision);
      for (const [code, revision] of this.#known) {
        if (!world.homes.has(code)) this.#learn(code, undefined, revision);
      }
      this.isUp = true;
      this.#upSinceMs = world.nowMs - this.#frozenMs;
      this.#beat();
      this.homes.directoryChanged(true);
    });
  }

  watch(code: string, home: Home | undefined, revision: number): void {
    this.#watched(() => this.#learn(code, home, revision));
  }

  sees(hubId: string, presence: HubPresence | undefined): void {
    this.#watched(() => this.#hear(hubId, presence));
  }

  /** What the front does with a request. */
  async carry(call: Call): Promise<void> {
    const { code } = call;
    try {
      const place = await this.homes.placed(code);
      if (place.kind === "here") {
        if (place.epoch >= call.epoch) this.#world.serve(call, this, place.epoch);
        else {
          this.homes.sawEpoch(code, call.epoch);
          await this.carry(call);
        }
      } else if (place.kind === "there") this.#hop(call, place.home, place.mustTake);
    } catch (error) {
      call.error = error;
      call.endedMs = this.#world.nowMs;
    }
  }

  #hop(call: Call, home: Home, mustTake: boolean): void {
    const world = this.#world;
    call.epoch = Math.max(call.epoch, home.epoch);
    const target = world.nodes.find((node) => isSelf(node, home));
    const again = () => world.after(world.latency(), this, () => void this.carry(call));
    if (target === undefined || !target.isAlive) {
      if (target?.isSilent === true) this.#hopToNowhere(call, home);
      else {
        this.homes.redialRefused(home.hubId);
        again();
      }
      return;
    }
    world.after(world.latency(), target, () => {
      if (mustTake) target.homes.askedToTake(call.code, home.epoch);
      else target.homes.sawEpoch(call.code, home.epoch);
      target.homes.placed(call.code).then(
        (place) => {
          if (place.kind === "here" && place.epoch >= call.epoch)
            return world.serve(call, target, place.epoch);
          if (place.kind === "here") target.homes.sawEpoch(call.code, call.epoch);
          const known = place.kind === "there" ? place.home.epoch : 0;
          world.after(world.latency(), this, () => {
            this.homes.sawEpoch(call.code, known);
            this.homes.notServedBy(call.code, home);
            void this.carry(call);
          });
        },
        (error: unknown) => {
          call.error = error;
          call.endedMs = world.nowMs;
        },
      );
    });
  }

  /** The dial gets no answer, until the hub is judged dead. */
  #hopToNowhere(call: Call, home: Home): void {
    const world = this.#world;
    world.after(tickMs, this, () => {
      if (this.roll.isDead(home)) void this.carry(call);
      else this.#hopToNowhere(call, home);
    });
  }

  #tick(): void {
    if (this.isUp) this.roll.judge(this.#upSinceMs);
    this.homes.tick();
  }

  /** Dead hubs refuse a dial, others are reached. */
  #redial(): void {
    for (const { hubId } of this.roll.hubs.list()) {
      const lives = this.#world.nodes.filter(({ self }) => self.hubId === hubId);
      const life = lives.at(-1);
      if (life === undefined || life.isSilent) continue;
      if (!life.isAlive) this.homes.redialRefused(hubId);
      else if (!life.isSuspended) this.homes.hubReached(hubId);
    }
  }

  /** Responds, or did so a moment ago. */
  #isLinked(hubId: string): boolean {
    const life = this.#world.nodes.findLast(({ self }) => self.hubId === hubId);
    if (life === undefined) return false;
    if (life.isAlive)
      return !life.isSuspended || this.#world.nowMs - life.#suspendedMs < SILENCE_MS;
    return life.isSilent && this.#world.nowMs - (life.deadSinceMs ?? 0) < SILENCE_MS;
  }

  #beat(): void {
    const world = this.#world;
    if (!this.isUp) return;
    const { self, isDraining } = this;
    const startedAt = world.nodes.indexOf(this);
    const presence = { ...aPresence(self.hubId), ...self, startedAt, isDraining };
    world.presences.set(self.hubId, presence);
    for (const node of world.nodes) node.sees(self.hubId, presence);
  }

  #hear(hubId: string, presence: HubPresence | undefined): void {
    if (hubId !== this.self.hubId) this.roll.seen(hubId, presence);
  }

  #learn(code: string, home: Home | undefined, revision: number): void {
    if (home !== undefined && revision <= (this.#known.get(code) ?? 0)) return;
    if (home === undefined) this.#known.delete(code);
    else this.#known.set(code, revision);
    this.homes.homeChanged(code, home, revision);
  }

  #watched(run: () => void): void {
    if (!this.isAlive) return;
    const connection = this.#connection;
    this.#world.after(this.#world.latency(), this, () => {
      if (connection === this.#connection && this.isUp) run();
    });
  }

  #directory() {
    const world = this.#world;
    const isUp = () => this.isUp;
    return {
      get isUp() {
        return isUp();
      },
      putHome: (code: string, home: Home, expected: number) =>
        this.#call(() => world.write(code, home, expected)).then((revision) => {
          if (this.losesOutcomes) throw new DirectoryUnavailable("lost");
          return revision;
        }),
      deleteHome: async (code: string, expected: number) =>
        (await this.#call(() => world.write(code, undefined, expected))) !== undefined,
      readHome: (code: string) => {
        this.reads += 1;
        return this.#call(() => world.homes.get(code));
      },
    };
  }

  /** Fails when the connection is lost; the directory may have done it, or do it later. */
  #call<Result>(act: () => Result): Promise<Result> {
    const world = this.#world;
    return new Promise((resolve, reject) => {
      const fail = () => reject(new DirectoryUnavailable("the directory cannot be reached"));
      if (!this.isUp) return fail();
      this.#pending.add(fail);
      world.after(world.latency(), undefined, () => {
        const result = act();
        world.after(world.latency(), this, () => {
          this.#pending.delete(fail);
          resolve(result);
        });
      });
    });
  }

  #offer(code: string, to: HubIdentity, offer: { from: Home; number: number }): Promise<boolean> {
    const world = this.#world;
    const target = world.alive().find((node) => isSelf(node, to));
    return new Promise((resolve) => {
      if (target === undefined) return resolve(false);
      world.after(world.latency(), target, () => {
        const isKept = target.acceptsOffers && target.homes.offered(code, offer);
        world.after(world.latency(), this, () => resolve(isKept));
      });
    });
  }

  #repeat(ms: number, run: () => void): void {
    this.#world.after(ms, this, () => {
      run();
      this.#repeat(ms, run);
    });
  }

  #die(): void {
    this.isAlive = false;
    this.deadSinceMs = this.#world.nowMs;
    // What clients sent to it ends with it.
    for (const call of this.#world.calls) {
      if (call.at === this && call.endedMs === undefined) call.endedMs = this.#world.nowMs;
    }
  }
}

function isSelf({ self }: HubNode, { hubId, bootId }: HubIdentity): boolean {
  return self.hubId === hubId && self.bootId === bootId;
}
