import { systemWorld } from "@roomhub/protocol";
import type { HubIdentity } from "../../domain/hub-identity.ts";
import { aPresence } from "../directory-compliance.fixture.ts";
import { DirectoryUnavailable } from "../directory.ts";
import { SILENCE_MS } from "../hubs/hubs.ts";
import { RollCall } from "../hubs/roll-call.ts";
import type { MemoryDirectory } from "../memory-cluster.fixture.ts";
import type { Call, HomesWorld } from "./homes-world.fixture.ts";
import type { Home, Offer } from "./room-home.ts";
import { RoomHomes } from "./room-homes.ts";

const tickMs = 250;
const redialMs = 400;
/** An offer without an answer is given up. */
const offerMs = 2_000;

/** @param name - of the place: a hub that restarts has the same */
export function startHub(world: HomesWorld<HubNode>, name: string): HubNode {
  const life = world.nodes.filter(({ self }) => self.hubId === name).length + 1;
  const node = new HubNode(world, { hubId: name, bootId: `${name}${life}` });
  world.nodes.push(node);
  node.begin();
  return node;
}

/** One hub process: what a front, control sockets and hops are to its `RoomHomes`. */
export class HubNode {
  readonly self: HubIdentity;
  readonly directory: MemoryDirectory;
  readonly roll: RollCall;
  readonly homes: RoomHomes;
  /** room and epoch */
  readonly taken: string[] = [];
  readonly lost: string[] = [];
  isAlive = true;
  isSuspended = false;
  isDraining = false;
  /** it gives no sign of its death */
  isSilent = false;
  /** of the directory: the outcome of each write is lost */
  losesOutcomes = false;
  /** of the registrations */
  failsToLoad = false;
  keepsSnapshots = true;
  /** hubs that it cannot dial */
  readonly cutFrom = new Set<HubNode>();
  reads = 0;
  readonly #world: HomesWorld<HubNode>;
  /** calls of the directory under way */
  readonly #pending = new Set<() => void>();
  #endedMs = 0;
  #suspendedMs = 0;
  #frozenMs = 0;
  #deliveredMs = 0;

  constructor(world: HomesWorld<HubNode>, self: HubIdentity) {
    this.#world = world;
    this.self = self;
    const nowMs = () => world.nowMs - this.#frozenMs;
    this.directory = world.directories.directory({
      nowMs,
      every: (ms, run) => this.#repeat(ms, run),
      deliver: (action) => this.#deliver(action),
    });
    this.roll = this.#rollCall(nowMs);
    this.homes = new RoomHomes({
      self,
      directory: this.#slowDirectory(),
      roll: this.roll,
      exists: (code) => world.rooms.has(code),
      isInUse: () => true,
      mayMove: () => true,
      hooks: {
        onTaken: async (code, home) => {
          await this.#call(async () => undefined);
          if (this.failsToLoad) throw new DirectoryUnavailable("no registrations");
          this.taken.push(`${code} ${home.epoch}`);
        },
        onServe: () => undefined,
        onLost: (code, home) => void this.lost.push(`${code} ${home.epoch}`),
        offer: (code, to, offer) => this.#offer(code, to, offer),
        tell: (hubId, code, epoch) => {
          const to = world.alive().find((node) => node.self.hubId === hubId);
          world.after(world.latency(), to, () => to?.homes.sawEpoch(code, epoch));
        },
      },
      nowMs,
      time: { monotonicMs: () => world.nowMs, wallMs: () => world.nowMs },
      reportBug: (error) => void world.bugs.push(error),
    });
  }

  begin(): void {
    const opened = this.directory.open({
      roomChanged: () => undefined,
      registrationsLost: () => undefined,
      homeChanged: (code, home, revision) => this.homes.homeChanged(code, home, revision),
      hubSeen: (hubId, presence) => this.roll.seen(hubId, presence),
      stateChanged: (isUp) => {
        if (!isUp) for (const fail of this.#pending) fail();
        this.#pending.clear();
        this.homes.directoryChanged(isUp);
      },
    });
    // A hub that cannot open its directory does not start.
    opened.catch(() => this.kill());
    this.roll.announce({ advertiseUrl: `http://${this.self.hubId}`, linkUrl: "http://link" });
    this.#repeat(tickMs, () => {
      if (this.directory.isUp) this.roll.judge(this.directory.upSinceMs);
      this.homes.tick();
    });
    this.#repeat(redialMs, () => this.#redial());
  }

  /** Its sockets are reset. */
  kill(): void {
    this.#end();
    for (const node of this.#world.alive())
      this.#world.after(this.#world.latency(), node, () => node.roll.hubs.reset(this.self.hubId));
  }

  /** As when its computer loses its power. */
  fallSilent(): void {
    this.isSilent = true;
    this.#end();
  }

  /** In order. */
  async stop(): Promise<void> {
    this.isDraining = true;
    this.roll.announceNow();
    await this.homes.stop();
    await this.directory.close();
    this.kill();
  }

  suspend(): void {
    this.isSuspended = true;
    this.#suspendedMs = this.#world.nowMs;
  }

  resume(): void {
    this.isSuspended = false;
    this.#frozenMs += this.#world.nowMs - this.#suspendedMs;
  }

  /** What the front does with a request. */
  async carry(call: Call): Promise<void> {
    call.sentTo = undefined;
    try {
      const place = await this.homes.placed(call.code);
      if (place.kind === "there") this.#hop(call, place.home, place.mustTake);
      else if (place.kind === "here" && place.epoch >= call.epoch)
        this.#world.serve(call, this, place.epoch);
      else {
        this.homes.sawEpoch(call.code, call.epoch);
        await this.carry(call);
      }
    } catch (error) {
      this.#world.fail(call, error);
    }
  }

  #hop(call: Call, home: Home, mustTake: boolean): void {
    const world = this.#world;
    call.epoch = Math.max(call.epoch, home.epoch);
    const target = world.nodes.find((node) => isSame(node.self, home));
    if (target === undefined || target.isSilent || this.cutFrom.has(target)) {
      this.#dialInVain(call, home);
    } else if (target.isAlive) {
      call.sentTo = target.self;
      world.after(world.latency(), target, () => void target.#piped(call, mustTake, this, home));
    } else {
      this.homes.redialRefused(home.hubId);
      world.after(world.latency(), this, () => void this.carry(call));
    }
  }

  /** A request that another hub sends, which is never sent on. */
  async #piped(call: Call, mustTake: boolean, from: HubNode, home: Home): Promise<void> {
    const world = this.#world;
    if (mustTake) this.homes.askedToTake(call.code, home.epoch);
    else this.homes.sawEpoch(call.code, call.epoch);
    try {
      const place = await this.homes.placed(call.code);
      // Its own end, meanwhile, has sent the request elsewhere.
      if (call.sentTo !== this.self) return;
      call.sentTo = undefined;
      if (place.kind === "here" && place.epoch >= call.epoch) {
        world.serve(call, this, place.epoch);
        return;
      }
      const known = place.kind === "there" ? place.home.epoch : 0;
      world.after(world.latency(), from, () => {
        from.homes.sawEpoch(call.code, known);
        from.homes.notServedBy(call.code, home);
        void from.carry(call);
      });
    } catch (error) {
      if (call.sentTo !== this.self) return;
      call.sentTo = undefined;
      world.after(world.latency(), from, () => world.fail(call, error));
    }
  }

  #sentInVain(call: Call, target: HubNode): void {
    if (target.isSilent) this.#dialInVain(call, target.self);
    else this.#world.after(this.#world.latency(), this, () => void this.carry(call));
  }

  /** There is no answer, until the hub is judged dead. */
  #dialInVain(call: Call, home: HubIdentity): void {
    this.#world.after(tickMs, this, () => {
      if (this.roll.isDead(home)) void this.carry(call);
      else this.#dialInVain(call, home);
    });
  }

  #rollCall(nowMs: () => number): RollCall {
    return new RollCall({
      self: this.self,
      startedAt: this.#world.nowMs,
      directory: this.directory,
      facts: () => {
        const { version, participants } = aPresence(this.self.hubId);
        return { version, participants, isDraining: this.isDraining };
      },
      links: {
        isOpen: (hubId) => this.#isLinked(hubId),
        problemOf: () => undefined,
        hubPresent: () => undefined,
        hubLeft: () => undefined,
      },
      hubGone: () => undefined,
      log: { warn: () => undefined },
      world: { ...systemWorld, monotonicMs: nowMs },
    });
  }

  /** Dead hubs refuse a dial, others are reached. */
  #redial(): void {
    for (const { hubId } of this.roll.hubs.list()) {
      const life = this.#lifeOf(hubId);
      if (life === undefined || life.isSilent || life.isSuspended || this.cutFrom.has(life))
        continue;
      if (life.isAlive) this.homes.hubReached(hubId);
      else this.homes.redialRefused(hubId);
    }
  }

  /** Responds, or did so a moment ago. */
  #isLinked(hubId: string): boolean {
    const life = this.#lifeOf(hubId);
    if (life === undefined || this.cutFrom.has(life)) return false;
    const silentMs = this.#world.nowMs - (life.isAlive ? life.#suspendedMs : life.#endedMs);
    if (life.isAlive && !life.isSuspended) return true;
    return (life.isAlive || life.isSilent) && silentMs < SILENCE_MS;
  }

  #lifeOf(hubId: string): HubNode | undefined {
    return this.#world.nodes.findLast(({ self }) => self.hubId === hubId);
  }

  #slowDirectory() {
    const { server } = this.#world;
    const isUp = () => this.directory.isUp;
    return {
      get isUp() {
        return isUp();
      },
      putHome: async (code: string, home: Home, expected: number) => {
        const revision = await this.#call(() => server.putHome(code, home, expected));
        if (this.losesOutcomes) throw new DirectoryUnavailable("the outcome is lost");
        return revision;
      },
      deleteHome: (code: string, expected: number) =>
        this.#call(() => server.deleteHome(code, expected)),
      readHome: (code: string) => {
        this.reads += 1;
        return this.#call(() => server.readHome(code));
      },
    };
  }

  /** Fails when the connection is lost: the directory may have done it, or do it later. */
  #call<Result>(act: () => Promise<Result>): Promise<Result> {
    const world = this.#world;
    return new Promise((resolve, reject) => {
      const fail = () => reject(new DirectoryUnavailable("the directory cannot be reached"));
      if (!this.directory.isUp) {
        fail();
        return;
      }
      this.#pending.add(fail);
      world.after(world.latency(), undefined, () => {
        void act().then((result) =>
          world.after(world.latency(), this, () => {
            this.#pending.delete(fail);
            resolve(result);
          }),
        );
      });
    });
  }

  #offer(code: string, to: HubIdentity, offer: Offer): Promise<boolean> {
    const world = this.#world;
    const target = world.alive().find(({ self }) => isSame(self, to));
    return new Promise((resolve) => {
      if (target === undefined) {
        resolve(false);
        return;
      }
      world.after(offerMs, this, () => resolve(false));
      world.after(world.latency(), target, () => {
        const isKept = target.keepsSnapshots && target.homes.offered(code, offer);
        world.after(world.latency(), this, () => resolve(isKept));
      });
    });
  }

  /** In order. */
  #deliver(action: () => void): void {
    const { nowMs } = this.#world;
    this.#deliveredMs = Math.max(this.#deliveredMs, nowMs + this.#world.latency());
    this.#world.after(this.#deliveredMs - nowMs, this, action);
  }

  #repeat(ms: number, run: () => void): () => void {
    let isOver = false;
    const again = () =>
      this.#world.after(ms, this, () => {
        if (isOver) return;
        run();
        again();
      });
    again();
    return () => {
      isOver = true;
    };
  }

  #end(): void {
    this.isAlive = false;
    this.#endedMs = this.#world.nowMs;
    for (const call of this.#world.calls) {
      if (call.endedMs !== undefined) continue;
      // What clients sent to it ends with it; what hubs sent on to it is theirs again.
      if (call.at === this) call.endedMs = this.#world.nowMs;
      else if (call.sentTo === this.self) {
        const from = this.#world.nodes.find((node) => node === call.at);
        if (from !== undefined) from.#sentInVain(call, this);
      }
    }
  }
}

function isSame(one: HubIdentity, other: HubIdentity): boolean {
  return one.hubId === other.hubId && one.bootId === other.bootId;
}
