import {
  advance,
  type HomeEffect,
  type HomeEvent,
  type HomeRecord,
  isLoading,
  mayConfirm,
  NO_RECORD,
} from "../../../packages/hub/src/cluster/homes/home-record.ts";
import type { HubIdentity } from "../../../packages/hub/src/domain/hub-identity.ts";
import {
  epochOf,
  type Home,
  type Offer,
  type StoredHome,
} from "../../../packages/hub/src/cluster/homes/room-home.ts";

/** The rules of the product; a test plants defects in a copy. */
export const product = { advance, mayConfirm };
export type Rules = typeof product;

/** What is under way from or to one process. */
export type Message =
  | { kind: "read"; number: number }
  | { kind: "readReply"; number: number; stored: StoredHome | undefined }
  | { kind: "write"; home: Home; expected: number }
  | { kind: "writeReply"; home: Home; revision: number | undefined }
  | { kind: "list" }
  | { kind: "listReply"; ids: string }
  | { kind: "register"; id: string; since: number }
  | { kind: "registerReply"; id: string; since: number }
  | { kind: "confirm"; id: string; since: number }
  | { kind: "confirmReply"; id: string; since: number; stored: StoredHome | undefined }
  | { kind: "offer"; offer: Offer; ids: string }
  | { kind: "answer"; offer: number; isAccepted: boolean }
  | { kind: "tell"; epoch: number };

/** `isAbandoned`: its process does not wait for it any more, and it may still be done. */
export type Sent = Message & { hub: number; boot: number; isAbandoned?: boolean };

type Hook = { kind: "take"; epoch: number; offer: Offer | undefined } | { kind: "lose" };

export interface Hub {
  boot: number;
  isAlive: boolean;
  /** It reaches the directory. */
  isUp: boolean;
  record: HomeRecord;
  /** Letters of the agents that are registered here. */
  ids: string;
  snapshot: string | undefined;
  /** One after the other; the first one has begun. */
  hooks: Hook[];
  /** Revision of the entry that was reported last, and the entries that are to be reported. */
  known: number;
  reports: StoredHome[];
  events: number;
  offers: number;
}

/** How often what happens. */
export interface Budget {
  crashes: number;
  /** Its connection to the directory is lost. */
  cuts: number;
  /** A hub believes another one dead that is not. */
  suspicions: number;
  suspensions: number;
  /** An offer is given up although its answer may come. */
  timeouts: number;
  handOvers: number;
  /** Letters of the agents that join, each once. */
  joins: string;
}

export const noBudget: Budget = {
  ...{ crashes: 0, cuts: 0, suspicions: 0, suspensions: 0, timeouts: 0, handOvers: 0, joins: "" },
};

/** Two hubs, a directory and what is under way between them. */
export interface ClusterState {
  hubs: Hub[];
  stored: StoredHome | undefined;
  revision: number;
  registered: string;
  acknowledged: string;
  /** What went wrong on the way here. */
  problem: string | undefined;
  sent: Sent[];
  left: Budget;
}

const names = ["A", "B"];

export function nameOf(hub: number): string {
  return names[hub] ?? "";
}

export function identityOf(hub: number, boot: number): HubIdentity {
  return { hubId: nameOf(hub), bootId: `${nameOf(hub)}${boot}` };
}

function aHub(boot: number): Hub {
  return {
    ...{ boot, isAlive: true, isUp: true, record: NO_RECORD, ids: "", snapshot: undefined },
    ...{ hooks: [], known: 0, reports: [], events: 0, offers: 0 },
  };
}

export function initialCluster(left: Budget): ClusterState {
  return {
    ...{ hubs: names.map(() => aHub(1)), stored: undefined, revision: 0 },
    ...{ registered: "", acknowledged: "", problem: undefined, sent: [], left },
  };
}

/** A copy of a state, in which things happen. */
export class Cluster {
  readonly state: ClusterState;
  readonly #rules: Rules;

  constructor(state: ClusterState, rules: Rules) {
    this.#rules = rules;
    this.state = {
      ...state,
      hubs: state.hubs.map((hub) => ({ ...hub, hooks: [...hub.hooks], reports: [...hub.reports] })),
      sent: [...state.sent],
      left: { ...state.left },
    };
  }

  hub(at: number): Hub {
    const hub = this.state.hubs[at];
    if (hub === undefined) throw new Error("no such hub");
    return hub;
  }

  /** What the rules make of an event, as `HomeStates` does it. */
  event(at: number, event: HomeEvent): readonly HomeEffect[] {
    const hub = this.hub(at);
    hub.events += 1;
    const self = identityOf(at, hub.boot);
    const { record, effects } = this.#rules.advance(hub.record, event, self, hub.events);
    hub.record = record;
    for (const effect of effects) this.#run(at, effect);
    return effects;
  }

  /** A message arrives. */
  deliver(index: number): void {
    const [message] = this.state.sent.splice(index, 1);
    if (message === undefined) return;
    const { hub: at, boot, isAbandoned = false } = message;
    const done = this.#atDirectory(message);
    if (done !== undefined && !isAbandoned) this.state.sent.push({ ...done, hub: at, boot });
    if (done !== undefined) return;
    if (isRunning(this.state, identityOf(at, boot))) this.#arrive(at, message);
    else if (message.kind === "offer") this.#answer(message.offer, false);
  }

  drop(index: number): void {
    this.state.sent.splice(index, 1);
  }

  /** The watch reports an entry, unless a read has shown it. */
  report(at: number): void {
    const stored = this.hub(at).reports.shift();
    if (stored !== undefined) this.#show(at, stored);
  }

  join(at: number, id: string): void {
    const { left } = this.state;
    left.joins = left.joins.replace(id, "");
    this.hub(at).ids = withIds(this.hub(at).ids, id);
    this.#call(at, { kind: "register", id, since: epochOf(this.hub(at).record.state) });
  }

  handOver(at: number, to: number): void {
    const offer = (this.hub(at).offers += 1);
    this.event(at, { kind: "release", to: identityOf(to, this.hub(to).boot), offer });
  }

  crash(at: number): void {
    const hub = this.hub(at);
    hub.isAlive = false;
    this.#abandon(at);
    // A hub that offers it the room finds it dead.
    this.state.sent = this.state.sent.filter(
      (one) => one.isAbandoned === true || one.hub !== at || one.kind === "offer",
    );
    this.state.hubs[at] = { ...aHub(hub.boot), isAlive: false };
  }

  restart(at: number): void {
    const { hubs, stored } = this.state;
    hubs[at] = aHub(this.hub(at).boot + 1);
    if (stored !== undefined) this.#show(at, stored);
  }

  cut(at: number): void {
    this.hub(at).isUp = false;
    this.hub(at).reports = [];
    for (const message of this.#abandon(at)) this.#fail(at, message);
  }

  reconnect(at: number): void {
    const { stored } = this.state;
    this.hub(at).isUp = true;
    if (stored !== undefined) this.#show(at, stored);
    this.event(at, { kind: "directoryUp" });
  }

  // — what the product's shell does with effects —

  #run(at: number, effect: HomeEffect): void {
    const { record, ids } = this.hub(at);
    switch (effect.kind) {
      case "read":
        return this.#call(at, effect);
      case "write":
        return this.#call(at, effect);
      case "load": {
        const epoch = record.state.kind === "loading" ? record.state.stored.home.epoch : 0;
        return this.#hook(at, { kind: "take", epoch, offer: effect.offer });
      }
      case "yield":
        return this.#hook(at, { kind: "lose" });
      case "offer": {
        if (record.state.kind !== "offering") return undefined;
        const offer = { from: record.state.stored.home, number: effect.offer };
        return this.#tell(effect.to, { kind: "offer", offer, ids });
      }
      case "notify":
        return this.#tell(effect.stored.home, { kind: "tell", epoch: effect.stored.home.epoch });
      case "serve":
      case "answerOffer":
        return undefined;
    }
  }

  #hook(at: number, hook: Hook): void {
    const { hooks } = this.hub(at);
    hooks.push(hook);
    if (hooks.length === 1) this.#beginHook(at, hook);
  }

  #beginHook(at: number, hook: Hook): void {
    const hub = this.hub(at);
    if (hook.kind === "lose") {
      hub.ids = "";
      return this.#endHook(at);
    }
    if (!isLoading(hub.record, hook.epoch)) return this.#endHook(at);
    if (hook.offer === undefined || hub.snapshot === undefined)
      return this.#call(at, { kind: "list" });
    hub.ids = withIds(hub.ids, hub.snapshot);
    hub.snapshot = undefined;
    return this.#endHook(at, { kind: "taken", epoch: hook.epoch });
  }

  #endHook(at: number, event?: HomeEvent): void {
    const { hooks } = this.hub(at);
    // As the promise of a hook: what it reports may add another one behind it.
    if (event !== undefined) this.event(at, event);
    hooks.shift();
    const [next] = hooks;
    if (next !== undefined) this.#beginHook(at, next);
  }

  // — messages —

  #call(at: number, message: Message): void {
    const hub = this.hub(at);
    if (hub.isUp) this.state.sent.push({ ...message, hub: at, boot: hub.boot });
    else this.#fail(at, message);
  }

  #tell({ hubId, bootId }: HubIdentity, message: Message): void {
    const hub = names.indexOf(hubId);
    this.state.sent.push({ ...message, hub, boot: Number(bootId.slice(1)) });
  }

  /** @returns the reply; undefined for what is not for the directory */
  #atDirectory(message: Message): Message | undefined {
    const { state } = this;
    switch (message.kind) {
      case "read":
        return { kind: "readReply", number: message.number, stored: state.stored };
      case "write":
        return { kind: "writeReply", home: message.home, revision: this.#store(message) };
      case "list":
        return { kind: "listReply", ids: state.registered };
      case "register":
        state.registered = withIds(state.registered, message.id);
        return { ...message, kind: "registerReply" };
      case "confirm":
        return { ...message, kind: "confirmReply", stored: state.stored };
      default:
        return undefined;
    }
  }

  #store({ home, expected }: { home: Home; expected: number }): number | undefined {
    const { state } = this;
    if ((state.stored?.revision ?? 0) !== expected) return undefined;
    if (home.epoch <= (state.stored?.home.epoch ?? 0)) state.problem = "an epoch goes back";
    state.revision += 1;
    state.stored = { home, revision: state.revision };
    for (const hub of state.hubs) if (hub.isAlive && hub.isUp) hub.reports.push(state.stored);
    return state.revision;
  }

  #arrive(at: number, message: Message): void {
    switch (message.kind) {
      case "readReply": {
        const { number: read, stored } = message;
        if (stored !== undefined) this.#show(at, stored);
        return void this.event(at, { kind: "replied", read, stored });
      }
      case "writeReply": {
        const { home, revision } = message;
        if (revision === undefined) return void this.event(at, { kind: "refused" });
        return void this.event(at, { kind: "written", stored: { home, revision } });
      }
      case "listReply": {
        const [hook] = this.hub(at).hooks;
        this.hub(at).ids = withIds(this.hub(at).ids, message.ids);
        if (hook?.kind === "take") this.#endHook(at, { kind: "taken", epoch: hook.epoch });
        return;
      }
      case "registerReply":
        return this.#call(at, { ...message, kind: "confirm" });
      case "confirmReply":
        return this.#confirm(at, message);
      case "offer":
        return this.#consider(at, message.offer, message.ids);
      case "answer": {
        const { offer, isAccepted } = message;
        return void this.event(at, { kind: isAccepted ? "accepted" : "declined", offer });
      }
      default:
        if (message.kind === "tell") this.event(at, { kind: "newerEpoch", epoch: message.epoch });
    }
  }

  /** As `RoomHomes.confirm`. */
  #confirm(at: number, reply: Message & { kind: "confirmReply" }): void {
    const { state } = this;
    const { id, since, stored } = reply;
    if (stored === undefined) return;
    this.#show(at, stored);
    this.event(at, { kind: "stored", stored, isRead: false });
    const { record, boot } = this.hub(at);
    if (this.#rules.mayConfirm(record, stored.home, identityOf(at, boot), since))
      state.acknowledged = withIds(state.acknowledged, id);
  }

  #consider(at: number, offer: Offer, ids: string): void {
    const effects = this.event(at, { kind: "offered", offer });
    const isAccepted = effects.some((one) => one.kind === "answerOffer" && one.isAccepted);
    if (isAccepted) this.hub(at).snapshot = ids;
    this.#answer(offer, isAccepted);
  }

  #answer({ from, number: offer }: Offer, isAccepted: boolean): void {
    this.#tell(from, { kind: "answer", offer, isAccepted });
  }

  /** As `ClusterDirectory`: each revision once, none after a later one. */
  #show(at: number, stored: StoredHome): void {
    const hub = this.hub(at);
    if (stored.revision <= hub.known) return;
    hub.known = stored.revision;
    hub.reports = hub.reports.filter(({ revision }) => revision > hub.known);
    this.event(at, { kind: "stored", stored, isRead: false });
  }

  /** What this process has asked the directory for has no reply any more. @returns that */
  #abandon(at: number): Message[] {
    const abandoned: Message[] = [];
    const sent: Sent[] = [];
    for (const one of this.state.sent) {
      const isCall = one.hub === at && callKinds.has(one.kind) && one.isAbandoned !== true;
      if (isCall) abandoned.push(one);
      if (!isCall) sent.push(one);
      else if (one.kind === "write" || one.kind === "register")
        sent.push({ ...one, isAbandoned: true });
    }
    this.state.sent = sent;
    return abandoned;
  }

  #fail(at: number, message: Message): void {
    switch (message.kind) {
      case "read":
      case "readReply":
        return void this.event(at, { kind: "unread", read: message.number });
      case "write":
      case "writeReply":
        return void this.event(at, { kind: "unanswered" });
      case "list":
      case "listReply": {
        const [hook] = this.hub(at).hooks;
        if (hook?.kind === "take") this.#endHook(at, { ...hook, kind: "untaken" });
        return;
      }
      // A join without a reply is not acknowledged.
      default:
    }
  }
}

/** Whether this life of a hub runs. */
export function isRunning({ hubs }: ClusterState, { hubId, bootId }: HubIdentity): boolean {
  const at = names.indexOf(hubId);
  const hub = hubs[at];
  return hub !== undefined && hub.isAlive && identityOf(at, hub.boot).bootId === bootId;
}

const callKinds = new Set(
  ["read", "write", "list", "register", "confirm"].flatMap((kind) => [kind, `${kind}Reply`]),
);

function withIds(ids: string, more: string): string {
  return [...new Set((ids + more).split(""))].sort().join("");
}
