import { Machine, type JobEvent, type MachineSpec } from "./machine.ts";
import type { Choice, Policy } from "./policy.ts";
import { type Conversation, requestOf, type RoomRequest } from "./traffic.ts";

/** Something that happens to a machine at a set time. */
export interface Incident {
  atMs: number;
  index: number;
  kind: "leaves" | "returns" | "unloads";
}

export interface Scenario {
  machines: readonly MachineSpec[];
  /** requests that the hub sends each machine at once; their slots by default */
  limits?: readonly number[];
  conversations: readonly Conversation[];
  incidents: readonly Incident[];
}

/** What became of one request. */
export interface Served {
  arrivedMs: number;
  /** of the attempt that succeeded */
  startedMs: number;
  firstMs: number;
  endMs: number;
  promptBytes: number;
  warmBytes: number;
  /** by machines whose context was too small */
  refusals: number;
  /** how long it waited for one machine though another was free */
  heldMs: number;
  /** in truth, to the first token at the best free machine when it was first held; 0 when it never was */
  recomputeMs: number;
}

interface Waiting {
  request: RoomRequest;
  hold: Extract<Choice, { kind: "hold" }> | undefined;
  heldSinceMs: number | undefined;
  heldMs: number;
  recomputeMs: number;
  refusals: number;
}

/** The hub looks at what is overdue four times a second. */
export const sweepMs = 250;

/** A room from its first request to its last response, in simulated time. */
export function simulate(scenario: Scenario, policy: Policy): Served[] {
  return new Simulation(scenario, policy).run();
}

class Simulation {
  readonly #machines: Machine[];
  readonly #policy: Policy;
  readonly #arrivals: { atMs: number; conversation: Conversation; turn: number }[];
  readonly #incidents: Incident[];
  readonly #waiting: Waiting[] = [];
  readonly #started = new Map<RoomRequest, Waiting>();
  readonly #served: Served[] = [];
  #nowMs = 0;

  constructor({ machines, limits, conversations, incidents }: Scenario, policy: Policy) {
    this.#machines = machines.map((spec, index) => new Machine(spec, limits?.[index]));
    this.#policy = policy;
    this.#incidents = [...incidents];
    this.#arrivals = conversations.map((conversation) => ({
      atMs: conversation.startMs,
      conversation,
      turn: 0,
    }));
  }

  run(): Served[] {
    for (;;) {
      const nextMs = this.#nextMs();
      if (nextMs === Number.POSITIVE_INFINITY) break;
      this.#nowMs = nextMs;
      for (const [index, machine] of this.#machines.entries()) {
        for (const event of machine.advance(nextMs)) this.#onJob(index, event);
      }
      this.#incidentsNow();
      this.#arrivalsNow();
      this.#wake();
    }
    if (this.#waiting.length > 0) throw new Error(`${this.#waiting.length} requests wait forever`);
    return this.#served;
  }

  #nextMs(): number {
    const isOver =
      this.#arrivals.length === 0 && this.#waiting.length === 0 && this.#started.size === 0;
    if (isOver) return Number.POSITIVE_INFINITY;
    return Math.min(
      Number.POSITIVE_INFINITY,
      ...this.#arrivals.map(({ atMs }) => atMs),
      ...this.#incidents.map(({ atMs }) => atMs),
      ...this.#machines.map((machine) => machine.nextMs()),
      ...this.#waiting.flatMap(({ hold }) =>
        hold === undefined ? [] : [this.#sweepAt(hold.untilMs)],
      ),
    );
  }

  /** The first sweep at which a time is over, and not now. */
  #sweepAt(untilMs: number): number {
    const atMs = Math.max(untilMs, this.#nowMs);
    const sweep = Math.ceil(atMs / sweepMs) * sweepMs;
    return sweep > this.#nowMs ? sweep : sweep + sweepMs;
  }

  #onJob(index: number, { kind, job }: JobEvent): void {
    if (kind === "first") return;
    const nowMs = this.#nowMs;
    const { request, startedMs, warmBytes } = job;
    const waited = this.#started.get(request);
    this.#started.delete(request);
    if (kind === "refused") {
      this.#policy.refused?.(index, job, nowMs);
      const refusals = (waited?.refusals ?? 0) + 1;
      this.#waiting.unshift({ ...newlyWaiting(request), refusals });
      return;
    }
    this.#policy.ended?.(index, job, nowMs);
    const { arrivedMs, promptBytes, conversation, turn } = request;
    this.#served.push({
      ...{
        arrivedMs,
        startedMs,
        firstMs: job.firstMs ?? nowMs,
        endMs: nowMs,
        promptBytes,
        warmBytes,
      },
      ...{ heldMs: waited?.heldMs ?? 0, recomputeMs: waited?.recomputeMs ?? 0 },
      refusals: waited?.refusals ?? 0,
    });
    const next = conversation.turns[turn + 1];
    if (next === undefined) return;
    const thinkMs = conversation.turns[turn]?.thinkMs ?? 0;
    this.#arrivals.push({ atMs: nowMs + thinkMs, conversation, turn: turn + 1 });
  }

  #incidentsNow(): void {
    for (const incident of this.#incidents.filter(({ atMs }) => atMs <= this.#nowMs)) {
      this.#incidents.splice(this.#incidents.indexOf(incident), 1);
      const machine = this.#machines[incident.index];
      if (machine === undefined) throw new Error(`no machine ${incident.index}`);
      if (incident.kind === "leaves") this.#leave(incident.index, machine);
      else if (incident.kind === "returns") machine.isPresent = true;
      else if (machine.jobs.length === 0) machine.unload();
      else this.#incidents.push({ ...incident, atMs: machine.nextMs() });
    }
  }

  /** Its requests are retried, ahead of those that wait. */
  #leave(index: number, machine: Machine): void {
    const requests = machine.leave();
    this.#policy.left?.(index);
    for (const request of requests) {
      this.#started.delete(request);
      this.#waiting.unshift(newlyWaiting(request));
    }
  }

  #arrivalsNow(): void {
    for (const arrival of this.#arrivals.filter(({ atMs }) => atMs <= this.#nowMs)) {
      this.#arrivals.splice(this.#arrivals.indexOf(arrival), 1);
      const { conversation, turn, atMs } = arrival;
      this.#waiting.push(newlyWaiting(requestOf(conversation, turn, atMs)));
    }
  }

  /** Lets requests start, in order, until none can. A request that is held does not hold up the others. */
  #wake(): void {
    for (let hasMoved = true; hasMoved;) {
      hasMoved = false;
      for (const waiting of [...this.#waiting]) {
        const choice = this.#policy.choose(waiting.request, this.#machines, this.#nowMs);
        this.#hold(waiting, choice);
        if (choice.kind === "full") break;
        if (choice.kind === "hold") continue;
        this.#start(waiting, choice.index);
        hasMoved = true;
      }
    }
  }

  #hold(waiting: Waiting, choice: Choice): void {
    const nowMs = this.#nowMs;
    if (waiting.hold !== undefined) this.#policy.waits?.(waiting.hold.index, -1);
    if (waiting.heldSinceMs !== undefined) waiting.heldMs += nowMs - waiting.heldSinceMs;
    const hold = choice.kind === "hold" ? choice : undefined;
    waiting.hold = hold;
    waiting.heldSinceMs = hold === undefined ? undefined : nowMs;
    if (hold === undefined) return;
    this.#policy.waits?.(hold.index, 1);
    if (waiting.recomputeMs > 0) return;
    const free = this.#machines.filter((machine) => machine.hasRoom);
    waiting.recomputeMs = Math.min(...free.map((machine) => machine.firstMsOf(waiting.request)));
  }

  #start(waiting: Waiting, index: number): void {
    const { request } = waiting;
    this.#waiting.splice(this.#waiting.indexOf(waiting), 1);
    this.#started.set(request, waiting);
    this.#policy.started?.(index, request, this.#nowMs);
    this.#machines[index]?.start(request, this.#nowMs);
  }
}

function newlyWaiting(request: RoomRequest): Waiting {
  return {
    request,
    hold: undefined,
    heldSinceMs: undefined,
    heldMs: 0,
    recomputeMs: 0,
    refusals: 0,
  };
}
