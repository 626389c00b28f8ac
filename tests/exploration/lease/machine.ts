import { epochOf, isLeaving } from "../../../packages/hub/src/cluster/homes/room-home.ts";
import type { Machine, Step } from "../explore.ts";
import {
  type Budget,
  Cluster,
  type ClusterState,
  type Hub,
  identityOf,
  initialCluster,
  isRunning,
  nameOf,
  product,
  type Rules,
  type Sent,
} from "./cluster.ts";

/** Two hubs, a room, and agents that join it, in every order in which what is under way can arrive. */
export function leaseMachine(budget: Budget, rules: Rules = product): Machine<ClusterState> {
  return {
    initial: withHome(budget, rules),
    steps: (state) => new Steps(state, rules).all(),
    keyOf,
    problemOf,
    isCalm,
  };
}

/** A is the room's home, and everything has arrived. */
function withHome(budget: Budget, rules: Rules): ClusterState {
  const cluster = new Cluster(initialCluster(budget), rules);
  cluster.event(0, { kind: "wanted" });
  while (cluster.state.sent.length > 0) cluster.deliver(0);
  for (const [at, { reports }] of cluster.state.hubs.entries())
    if (reports.length > 0) cluster.report(at);
  return cluster.state;
}

class Steps {
  readonly #found: Step<ClusterState>[] = [];
  readonly #state: ClusterState;
  readonly #rules: Rules;

  constructor(state: ClusterState, rules: Rules) {
    this.#state = state;
    this.#rules = rules;
  }

  all(): Step<ClusterState>[] {
    const seen = new Set<string>();
    for (const [index, message] of this.#state.sent.entries()) {
      const text = JSON.stringify(message);
      if (!seen.has(text)) this.#ofMessage(index, message);
      seen.add(text);
    }
    for (const [at, hub] of this.#state.hubs.entries()) {
      if (hub.isAlive) this.#ofHub(at, hub);
      else this.#add(`${nameOf(at)} restarts`, (cluster) => cluster.restart(at));
    }
    return this.#found;
  }

  #ofMessage(index: number, message: Sent): void {
    const text = `${message.kind} of ${nameOf(message.hub)}`;
    this.#add(`${text} arrives`, (cluster) => cluster.deliver(index));
    if (message.isAbandoned === true)
      this.#add(`${text} is lost`, (cluster) => cluster.drop(index));
  }

  /** As a hub does it in its turn, without a clock: whatever time may have passed. */
  #ofHub(at: number, hub: Hub): void {
    const { record, isUp, reports } = hub;
    const { state } = record;
    const name = nameOf(at);
    const other = 1 - at;
    if (reports.length > 0) this.#add(`${name} sees the entry`, (cluster) => cluster.report(at));
    const event = (what: string, value: Parameters<Cluster["event"]>[1]) =>
      this.#add(`${name} ${what}`, (cluster) => cluster.event(at, value));
    const canTake = isUp && state.kind === "elsewhere" && record.read === undefined;
    const entry = state.kind === "elsewhere" ? state.stored : undefined;
    const isOver = entry === undefined || !isRunning(this.#state, entry.home);
    if (canTake && entry?.home.bootId === identityOf(at, hub.boot).bootId)
      event("takes its room", { kind: "stored", stored: entry, isRead: false });
    else if (canTake && isOver) event("takes the room", { kind: "wanted" });
    else if (canTake)
      this.#fault("suspicions", `${name} takes the room of a hub that runs`, (cluster) =>
        cluster.event(at, { kind: "wanted" }),
      );
    const isToRetry = record.read?.hasFailed === true || record.unloaded !== undefined;
    if ((isUp && isToRetry) || record.isRefused) event("tries again", { kind: "retry", isUp });
    const seen = this.#state.stored?.home.epoch ?? 0;
    if (seen > epochOf(state)) event("hears of the epoch", { kind: "newerEpoch", epoch: seen });
    if (!isLeaving(state)) this.#joins(at);
    if (isUp && state.kind === "home" && this.#state.hubs[other]?.isAlive === true)
      this.#limited("handOvers", `${name} hands over`, (cluster) => cluster.handOver(at, other));
    if (state.kind === "offering")
      this.#fault("timeouts", `${name} gives its offer up`, (cluster) =>
        cluster.event(at, { kind: "declined", offer: state.offer }),
      );
    this.#fault("crashes", `${name} dies`, (cluster) => cluster.crash(at));
    this.#fault("suspensions", `${name} was suspended`, (cluster) =>
      cluster.event(at, { kind: "suspended" }),
    );
    if (isUp) this.#fault("cuts", `${name} is cut off`, (cluster) => cluster.cut(at));
    else this.#add(`${name} is connected again`, (cluster) => cluster.reconnect(at));
    if (!isUp && state.kind === "verifying")
      event("has waited long enough for the directory", { kind: "directoryDown" });
  }

  #joins(at: number): void {
    for (const id of this.#state.left.joins)
      this.#add(`agent ${id} joins at ${nameOf(at)}`, (cluster) => cluster.join(at, id));
  }

  #add(name: string, run: (cluster: Cluster) => void, isFault = false): void {
    const cluster = new Cluster(this.#state, this.#rules);
    run(cluster);
    this.#found.push({ name, isFault, state: cluster.state });
  }

  #limited(
    what: Exclude<keyof Budget, "joins">,
    name: string,
    run: (cluster: Cluster) => void,
    isFault = false,
  ): void {
    if (this.#state.left[what] === 0) return;
    const spend = (cluster: Cluster) => {
      cluster.state.left[what] -= 1;
      run(cluster);
    };
    this.#add(name, spend, isFault);
  }

  #fault(
    what: Exclude<keyof Budget, "joins">,
    name: string,
    run: (cluster: Cluster) => void,
  ): void {
    this.#limited(what, name, run, true);
  }
}

/** Numbers of reads count only in their order. */
function keyOf({ hubs, sent, ...others }: ClusterState): string {
  const ranks = hubs.map(({ record, boot }, at) => {
    const numbers = [record.read?.number ?? 0];
    for (const one of sent)
      if ("number" in one && one.hub === at && one.boot === boot) numbers.push(one.number);
    return numbers.sort((a, b) => a - b);
  });
  const rankOf = (hub: number, number: number) => ranks[hub]?.indexOf(number) ?? 0;
  const keys = hubs.map((hub, at) => {
    const { read } = hub.record;
    const rank = read && { ...read, number: rankOf(at, read.number) };
    return { ...hub, events: 0, record: { ...hub.record, read: rank } };
  });
  const texts = sent.map((one) =>
    JSON.stringify("number" in one ? { ...one, number: rankOf(one.hub, one.number) } : one),
  );
  return JSON.stringify([keys, texts.sort(), others]);
}

function problemOf({ hubs, stored, acknowledged, problem }: ClusterState): string | undefined {
  if (problem !== undefined) return problem;
  const epochs = new Set<number>();
  for (const [at, { isAlive, boot, record, known, ids }] of hubs.entries()) {
    const { state } = record;
    if (!isAlive || state.kind !== "home") continue;
    const { epoch } = state.stored.home;
    if (epochs.has(epoch)) return "two hubs serve the room in one epoch";
    epochs.add(epoch);
    const { hubId, bootId } = identityOf(at, boot);
    const isNamed =
      stored?.home.hubId === hubId && stored.home.bootId === bootId && stored.home.epoch === epoch;
    if (!isNamed && known === stored?.revision)
      return `${hubId} serves the room although it has seen that another hub is its home`;
    if (isNamed && !acknowledged.split("").every((id) => ids.includes(id)))
      return `${hubId} is the home, and lacks an agent whose registration was acknowledged`;
  }
  return undefined;
}

/** The directory's home serves the room, the other hub knows it, and nothing is under way. */
function isCalm({ hubs, stored, sent }: ClusterState): boolean {
  if (stored === undefined || sent.length > 0) return false;
  return hubs.every(({ isAlive, isUp, boot, record, reports }, at) => {
    if (!isAlive || !isUp || reports.length > 0) return false;
    const { state } = record;
    const { hubId, bootId } = identityOf(at, boot);
    const isHome = stored.home.hubId === hubId && stored.home.bootId === bootId;
    if (isHome) return state.kind === "home" && state.stored.home.epoch === stored.home.epoch;
    return state.kind === "elsewhere" && state.stored?.home.epoch === stored.home.epoch;
  });
}
