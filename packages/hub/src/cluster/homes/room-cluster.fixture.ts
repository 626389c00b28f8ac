import {
  type Home,
  type HomeCommand,
  type HomeInput,
  NO_HOME,
  type RoomHomeState,
  type StoredHome,
  stepHome,
} from "./room-home.ts";

/** Where a request for the room goes now. */
export function destination(state: RoomHomeState): "here" | "home" | "wait" {
  if (state.kind === "home") return "here";
  return state.kind === "elsewhere" && state.stored !== undefined ? "home" : "wait";
}

/** A request, or a join of a participant, that a client sent to one of the hubs. */
interface Call {
  /** id of the participant that joins; undefined for a request */
  joins: string | undefined;
  outcome: "open" | "served" | "refused" | "cut";
  /** the highest that the client or a hop has seen */
  epoch: number;
}

interface Task {
  run: () => void;
  /** Not while this process is suspended. */
  on: Node | undefined;
}

/** Three hubs, one room and a directory, whose messages arrive in any order. */
export class RoomCluster {
  readonly nodes: Node[] = [];
  readonly calls: Call[] = [];
  readonly tasks: Task[] = [];
  readonly registrations = new Set<string>();
  /** confirmed to their participants, and not lost with the only hub that had them */
  readonly confirmed = new Set<string>();
  stored: StoredHome | undefined;
  highestServed = 0;
  #revision = 0;
  #wasEmptied = false;

  constructor(count = 3) {
    for (let index = 0; index < count; index += 1) this.nodes.push(new Node(this, index, 1));
  }

  node(index: number): Node {
    const node = this.nodes[index % this.nodes.length];
    if (node === undefined) throw new Error("no such hub");
    return node;
  }

  later(on: Node | undefined, run: () => void): void {
    this.tasks.push({ on, run });
  }

  /** @param choice - which of the tasks that can run now */
  deliver(choice: number): boolean {
    const ready = this.tasks.filter(({ on }) => on === undefined || !on.isSuspended);
    const task = ready[choice % Math.max(1, ready.length)];
    if (task === undefined) return false;
    this.tasks.splice(this.tasks.indexOf(task), 1);
    task.run();
    this.check();
    return true;
  }

  write(home: Home, expected: number): number | undefined {
    if ((this.stored?.revision ?? 0) !== expected) return undefined;
    this.#revision += 1;
    this.stored = { home, revision: this.#revision };
    for (const node of this.nodes) node.watch();
    return this.#revision;
  }

  /** The directory loses what it had, as a server does that restarts without its disk. */
  empty(): void {
    this.stored = undefined;
    this.#revision = 0;
    this.registrations.clear();
    this.#wasEmptied = true;
  }

  call(at: number, joins: string | undefined): void {
    const call: Call = { joins, outcome: "open", epoch: 0 };
    this.calls.push(call);
    const node = this.node(at);
    if (!node.isAlive) call.outcome = "cut";
    else this.later(node, () => node.take(call));
  }

  crash(at: number): void {
    const node = this.node(at);
    node.isAlive = false;
    node.isSuspended = false;
    for (const call of node.held) call.outcome = "cut";
    for (const id of node.unwritten) this.confirmed.delete(id);
    for (const call of node.underWay) if (call.outcome === "open") call.outcome = "cut";
  }

  restart(at: number): void {
    const node = this.node(at);
    if (node.isAlive) this.crash(at);
    const next = new Node(this, node.index, node.boot + 1);
    this.nodes[this.nodes.indexOf(node)] = next;
    next.watch();
  }

  restartDead(): void {
    for (const node of this.nodes) if (!node.isAlive) this.restart(node.index);
  }

  /** All faults end, and everything under way arrives. */
  settle(): void {
    this.restartDead();
    for (const node of this.nodes) {
      node.resume();
      node.setDirectory(true);
    }
    this.#drain();
    for (let round = 0; round < 4; round += 1) {
      for (const node of this.nodes) node.retry();
      this.#drain();
    }
  }

  /** At no time two hubs serve the room in one epoch, as long as the directory remembers which epochs there were. */
  check(): void {
    if (this.#wasEmptied) return;
    const serving = this.nodes.filter((node) => node.isAlive && node.epochServed !== undefined);
    const epochs = new Set(serving.map((node) => node.epochServed));
    if (epochs.size !== serving.length) throw new Error("two homes in one epoch");
  }

  #drain(): void {
    for (let count = 0; this.deliver(0); count += 1) {
      if (count > 5_000) throw new Error("messages without end");
    }
  }
}

/** One hub: the shell that `stepHome` will have, with messages instead of sockets. */
export class Node {
  readonly cluster: RoomCluster;
  readonly index: number;
  readonly boot: number;
  isAlive = true;
  isSuspended = false;
  isDirectoryUp = true;
  state: RoomHomeState = NO_HOME;
  /** calls that wait for a home */
  readonly held = new Set<Call>();
  /** calls on a hop or behind a write */
  readonly underWay = new Set<Call>();
  participants = new Set<string>();
  /** confirmed while the directory was away */
  readonly unwritten = new Set<string>();
  #snapshot = new Set<string>();
  #reads = 0;
  #offers = 0;

  constructor(cluster: RoomCluster, index: number, boot: number) {
    this.cluster = cluster;
    this.index = index;
    this.boot = boot;
  }

  get identity(): { hubId: string; bootId: string } {
    return { hubId: String(this.index), bootId: String(this.boot) };
  }

  get epochServed(): number | undefined {
    return this.state.kind === "home" ? this.state.stored.home.epoch : undefined;
  }

  step(input: HomeInput): void {
    if (!this.isAlive) return;
    const before = this.state;
    const { state, commands } = stepHome(before, input, this.identity);
    this.state = state;
    for (const command of commands) this.#run(command);
    // Only after a change: a hub that knows no more than before would get the same 421 again.
    if (destination(state) !== "wait" && placeOf(state) !== placeOf(before)) this.#release();
  }

  route(call: Call): void {
    if (call.outcome !== "open" || !this.isAlive) return;
    const to = destination(this.state);
    if (to === "here") this.#serveUnlessOver(call);
    else if (to === "home") this.#hop(call);
    else {
      this.held.add(call);
      if (this.state.kind === "elsewhere") this.step({ kind: "wanted" });
    }
  }

  /** The home is dead, as far as this hub can tell. It may be wrong. */
  suspect(): void {
    if (this.isDirectoryUp && !this.isSuspended) this.step({ kind: "wanted" });
  }

  release(to: Node): void {
    this.#offers += 1;
    this.step({ kind: "release", to: to.identity, offer: this.#offers });
  }

  giveUp(): void {
    this.step({ kind: "declined", offer: this.#offers });
  }

  suspend(): void {
    this.isSuspended = this.isAlive;
  }

  resume(): void {
    if (!this.isSuspended) return;
    this.isSuspended = false;
    this.#reads += 1;
    this.step({ kind: "suspended" });
    if (!this.isDirectoryUp) this.step({ kind: "directoryDown" });
  }

  setDirectory(isUp: boolean): void {
    if (isUp === this.isDirectoryUp) return;
    this.isDirectoryUp = isUp;
    this.step({ kind: isUp ? "directoryUp" : "directoryDown" });
    if (!isUp) return;
    this.watch();
    this.#writeLate();
  }

  /** The watch reports the entry as it is, unless it changes again before. */
  watch(): void {
    const { cluster } = this;
    cluster.later(this, () => {
      const { stored } = cluster;
      if (this.isDirectoryUp) this.step({ kind: "stored", stored, isRead: false });
    });
  }

  /** What waits too long is refused. */
  expire(): void {
    for (const call of this.held) call.outcome = "refused";
    this.held.clear();
  }

  /** What a timer does: the home of another process is tried again, or replaced when it is dead. */
  retry(): void {
    if (!this.isAlive || this.isSuspended) return;
    const { state } = this;
    const home = state.kind === "elsewhere" ? state.stored?.home : undefined;
    if (home !== undefined && this.#find(home) === undefined) this.suspect();
    this.#release();
    this.#writeLate();
  }

  read(): void {
    const number = (this.#reads += 1);
    const { cluster } = this;
    this.cluster.later(undefined, () => {
      const { stored } = cluster;
      const isUp = this.isDirectoryUp;
      cluster.later(this, () => {
        if (number !== this.#reads) return;
        if (isUp && this.isDirectoryUp) this.step({ kind: "stored", stored, isRead: true });
        else this.step({ kind: "directoryDown" });
      });
    });
  }

  #run(command: HomeCommand): void {
    switch (command.kind) {
      case "read":
        return this.read();
      case "write":
        return this.#write(command.home, command.expected);
      case "load":
        return this.#load(command.offer !== undefined);
      case "offer":
        return this.#offer(this.#find(command.to), command.offer);
      case "answerOffer":
        return undefined;
      case "notify":
        return this.#notify(command.stored);
      case "serve":
        this.#writeLate();
        return undefined;
      case "yield":
        this.participants = new Set();
        return this.#writeLate();
    }
  }

  #write(home: Home, expected: number): void {
    const { cluster } = this;
    let isAnswered = false;
    const answer = (input: HomeInput) => {
      if (!isAnswered) this.step(input);
      isAnswered = true;
    };
    cluster.later(undefined, () => {
      const revision = cluster.write(home, expected);
      cluster.later(this, () => {
        if (!this.isDirectoryUp) answer({ kind: "unanswered" });
        else
          answer(
            revision === undefined
              ? { kind: "refused" }
              : { kind: "written", stored: { home, revision } },
          );
      });
    });
    // The acknowledgement may be lost, while the write happens before or after.
    if (!this.isDirectoryUp) cluster.later(this, () => answer({ kind: "unanswered" }));
  }

  #load(fromOffer: boolean): void {
    const { cluster } = this;
    if (fromOffer) {
      this.participants = new Set(this.#snapshot);
      this.step({ kind: "loaded" });
      return;
    }
    cluster.later(undefined, () => {
      const found = new Set(cluster.registrations);
      cluster.later(this, () => {
        for (const id of found) this.participants.add(id);
        this.step({ kind: "loaded" });
      });
    });
  }

  #offer(to: Node | undefined, offer: number): void {
    const snapshot = new Set(this.participants);
    const home = this.state.kind === "offering" ? this.state.stored.home : undefined;
    if (to === undefined || home === undefined) {
      this.step({ kind: "declined", offer });
      return;
    }
    const { cluster } = this;
    cluster.later(to, () => {
      if (!to.isAlive) {
        cluster.later(this, () => this.step({ kind: "declined", offer }));
        return;
      }
      const { state, commands } = stepHome(
        to.state,
        { kind: "offered", offer: { from: home, number: offer } },
        to.identity,
      );
      to.state = state;
      const isAccepted = commands.some((one) => one.kind === "answerOffer" && one.isAccepted);
      if (isAccepted) to.#snapshot = snapshot;
      cluster.later(this, () => this.step({ kind: isAccepted ? "accepted" : "declined", offer }));
    });
  }

  #notify(stored: StoredHome): void {
    const to = this.#find(stored.home);
    if (to === undefined) return;
    this.cluster.later(to, () => to.step({ kind: "stored", stored, isRead: false }));
  }

  #serveUnlessOver(call: Call): void {
    if ((this.epochServed ?? 0) >= call.epoch) {
      this.#serve(call);
      return;
    }
    this.held.add(call);
    this.step({ kind: "newerEpoch", epoch: call.epoch });
  }

  #serve(call: Call): void {
    const epoch = this.epochServed ?? 0;
    if (call.joins !== undefined) {
      this.#join(call, call.joins, epoch);
      return;
    }
    this.#end(call, epoch);
  }

  #end(call: Call, epoch: number): void {
    if (call.outcome !== "open") throw new Error("a call that ended is served again");
    if (epoch < call.epoch) throw new Error("served in an epoch that is over");
    call.outcome = "served";
    this.cluster.highestServed = Math.max(this.cluster.highestServed, epoch);
  }

  /** Confirmed once it is written and the home is still this one. */
  #join(call: Call, id: string, epoch: number): void {
    const { cluster } = this;
    this.participants.add(id);
    if (!this.isDirectoryUp) {
      this.unwritten.add(id);
      cluster.confirmed.add(id);
      this.#end(call, epoch);
      return;
    }
    this.underWay.add(call);
    cluster.later(undefined, () => {
      if (!this.isAlive) return;
      if (this.isDirectoryUp) cluster.registrations.add(id);
      cluster.later(this, () => {
        this.underWay.delete(call);
        if (call.outcome !== "open") return;
        const { stored } = cluster;
        const isKnown = this.isDirectoryUp && stored !== undefined && cluster.registrations.has(id);
        if (isKnown && stored.home.epoch === this.epochServed && this.#isSelf(stored.home)) {
          cluster.confirmed.add(id);
          this.#end(call, stored.home.epoch);
          return;
        }
        if (this.isDirectoryUp) this.step({ kind: "stored", stored, isRead: true });
        this.route(call);
      });
    });
  }

  #hop(call: Call): void {
    const { state, cluster } = this;
    const home = state.kind === "elsewhere" ? state.stored?.home : undefined;
    const target = home === undefined ? undefined : this.#find(home);
    if (home === undefined || target === undefined) {
      this.held.add(call);
      return;
    }
    call.epoch = Math.max(call.epoch, home.epoch);
    this.underWay.add(call);
    cluster.later(target, () => {
      this.underWay.delete(call);
      if (call.outcome !== "open") return;
      const epoch = target.isAlive ? target.epochServed : undefined;
      if (epoch !== undefined && epoch >= call.epoch) {
        target.#serve(call);
        return;
      }
      target.step({ kind: "newerEpoch", epoch: call.epoch });
      // 421: with what that hub knows. The call waits here until a change, or the next try.
      const known = target.state.kind === "elsewhere" ? target.state.stored : undefined;
      this.held.add(call);
      if (known !== undefined)
        cluster.later(this, () => this.step({ kind: "stored", stored: known, isRead: false }));
    });
  }

  #release(): void {
    const waiting = [...this.held];
    this.held.clear();
    for (const call of waiting) this.cluster.later(this, () => this.take(call));
  }

  take(call: Call): void {
    if (this.isAlive) this.route(call);
    else if (call.outcome === "open") call.outcome = "cut";
  }

  /** What was confirmed without the directory is written, by the home of now. */
  #writeLate(): void {
    if (!this.isDirectoryUp) return;
    for (const id of this.unwritten) {
      const { state, cluster } = this;
      const home = state.kind === "elsewhere" ? state.stored?.home : undefined;
      const target = home === undefined ? this : this.#find(home);
      if (target === undefined) continue;
      cluster.later(target, () => {
        const epoch = target.isAlive ? target.epochServed : undefined;
        if (epoch === undefined || !target.isDirectoryUp) return;
        target.participants.add(id);
        cluster.registrations.add(id);
        // As for a join: a home that took over before may have read without it.
        cluster.later(target, () => {
          if (cluster.stored?.home.epoch === epoch && target.epochServed === epoch)
            this.unwritten.delete(id);
        });
      });
    }
  }

  #isSelf(home: Home): boolean {
    return home.hubId === this.identity.hubId && home.bootId === this.identity.bootId;
  }

  #find({ hubId, bootId }: { hubId: string; bootId: string }): Node | undefined {
    const node = this.cluster.node(Number(hubId));
    return node.isAlive && String(node.boot) === bootId ? node : undefined;
  }
}

function placeOf(state: RoomHomeState): string {
  const revision = state.kind === "taking" ? undefined : state.stored?.revision;
  return `${destination(state)} ${revision}`;
}
