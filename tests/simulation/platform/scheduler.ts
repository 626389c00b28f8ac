import { createRandom } from "../../faults/seeded-random.ts";
import { realSetImmediate } from "./real.ts";

/** A machine of the simulation. What runs on it stands still while it is frozen, and never runs again once it is killed. */
export class Machine {
  readonly name: string;
  /** as others dial it */
  readonly address: string;
  /** grows with each kill: what an earlier process left in the queue is dropped */
  boot = 0;
  /** when its process began, on the simulation's clock */
  startedMs = 0;
  frozenUntilMs = 0;
  /** what its wall clock is ahead of the simulation's */
  wallOffsetMs = 0;

  constructor(name: string, address: string) {
    this.name = name;
    this.address = address;
  }
}

interface Entry {
  dueMs: number;
  /** when it was due first: what waits for a frozen machine keeps its order */
  readonly firstDueMs: number;
  /** drawn from the seed: decides between entries of the same time */
  rank: number;
  readonly machine: Machine;
  readonly boot: number;
  /** what it is, for the trace */
  readonly what: string;
  task: (() => void) | undefined;
}

/** A place in the queue. */
export interface Scheduled {
  cancel(): void;
}

/** A process that never comes to rest is reported after so many steps. */
const mostSteps = 5_000_000;

/** Immediates of one turn of the event loop run one after the other, each with its microtasks: a turn for each costs more. */
const turnsAtOnce = 64;

/**
 * The one queue of a simulation: timers, bytes on their way, disk writes. A seed orders what is due at the same time, so
 * that one seed gives one history.
 */
export class Scheduler {
  readonly random: () => number;
  readonly #heap: Entry[] = [];
  #nowMs = 0;
  #machine: Machine | undefined;
  #steps = 0;
  #digest = 0x811c9dc5;
  #second = 0;
  #stepsOfSecond = 0;
  /** The most steps within one second of the simulation, without those of bytes on their way: a large response has many. */
  mostInASecond = 0;
  /** called with each line of the trace; undefined: only the digest is kept */
  onTrace: ((line: string) => void) | undefined;

  constructor(seed: number) {
    this.random = createRandom(seed);
  }

  /** ms since the start of the simulation */
  get nowMs(): number {
    return this.#nowMs;
  }

  get steps(): number {
    return this.#steps;
  }

  /** Of all that ran, in its order: 8 hex digits. */
  get digest(): string {
    return (this.#digest >>> 0).toString(16).padStart(8, "0");
  }

  /** The one whose code runs now. @throws Error outside of a step */
  get machine(): Machine {
    if (this.#machine === undefined) throw new Error("no machine of the simulation runs now");
    return this.#machine;
  }

  get isRunning(): boolean {
    return this.#machine !== undefined;
  }

  /** @param afterMs - not negative */
  schedule(machine: Machine, afterMs: number, what: string, task: () => void): Scheduled {
    return this.at(machine, this.#nowMs + Math.max(0, afterMs), what, task);
  }

  at(machine: Machine, dueMs: number, what: string, task: () => void): Scheduled {
    const rank = this.random();
    const entry: Entry = {
      dueMs,
      firstDueMs: dueMs,
      rank,
      machine,
      boot: machine.boot,
      what,
      task,
    };
    this.#push(entry);
    return { cancel: () => void (entry.task = undefined) };
  }

  /** Runs what is due until then, each step to its end. */
  runUntil(untilMs: number): Promise<void> {
    return new Promise((resolve, reject) => {
      let isOver = false;
      const turn = (): void => {
        if (isOver) return;
        this.#machine = undefined;
        const next = this.#takeDue(untilMs);
        isOver = next === undefined;
        if (next === undefined) {
          this.#nowMs = Math.max(this.#nowMs, untilMs);
          return resolve();
        }
        try {
          this.#step(next.machine, next.what, next.task);
        } catch (error) {
          isOver = true;
          this.#machine = undefined;
          reject(error);
        }
      };
      const turns = (): void => {
        if (isOver) return;
        for (let left = turnsAtOnce; left > 0; left--) realSetImmediate(turn);
        realSetImmediate(turns);
      };
      turns();
    });
  }

  /** One step: the task, and everything that follows from it without a timer or a socket. */
  async run(machine: Machine, what: string, task: () => void): Promise<void> {
    try {
      this.#step(machine, what, task);
      await new Promise<void>((resolve) => void realSetImmediate(resolve));
    } finally {
      this.#machine = undefined;
    }
  }

  #count(): void {
    const second = Math.floor(this.#nowMs / 1_000);
    this.#stepsOfSecond = second === this.#second ? this.#stepsOfSecond + 1 : 1;
    this.#second = second;
    this.mostInASecond = Math.max(this.mostInASecond, this.#stepsOfSecond);
  }

  /** Begins a step. It ends with the turn of Node in which it began: microtasks and ticks belong to it. */
  #step(machine: Machine, what: string, task: () => void): void {
    if (++this.#steps > mostSteps) throw new Error(`the simulation did not rest: ${what}`);
    if (!what.endsWith(" bytes") && what !== "sent again") this.#count();
    this.#note(`${this.#nowMs.toFixed(3)} ${machine.name} ${what}`);
    this.#machine = machine;
    task();
  }

  #takeDue(untilMs: number): (Entry & { task: () => void }) | undefined {
    for (;;) {
      const next = this.#heap[0];
      if (next === undefined || next.dueMs > untilMs) return undefined;
      this.#pop();
      const { machine, task } = next;
      if (task === undefined || next.boot !== machine.boot) continue;
      if (machine.frozenUntilMs > next.dueMs) {
        next.dueMs = machine.frozenUntilMs;
        this.#push(next);
        continue;
      }
      this.#nowMs = Math.max(this.#nowMs, next.dueMs);
      return next as Entry & { task: () => void };
    }
  }

  #note(line: string): void {
    let hash = this.#digest;
    for (let index = 0; index < line.length; index++) {
      hash = Math.imul(hash ^ line.charCodeAt(index), 0x01000193);
    }
    this.#digest = hash;
    this.onTrace?.(line);
  }

  #push(entry: Entry): void {
    const heap = this.#heap;
    let at = heap.push(entry) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!isBefore(entry, heap[parent]!)) break;
      heap[at] = heap[parent]!;
      at = parent;
    }
    heap[at] = entry;
  }

  #pop(): void {
    const heap = this.#heap;
    const last = heap.pop()!;
    if (heap.length === 0) return;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && isBefore(heap[child + 1]!, heap[child]!)) child++;
      if (!isBefore(heap[child]!, last)) break;
      heap[at] = heap[child]!;
      at = child;
    }
    heap[at] = last;
  }
}

function isBefore(one: Entry, other: Entry): boolean {
  if (one.dueMs !== other.dueMs) return one.dueMs < other.dueMs;
  if (one.firstDueMs !== other.firstDueMs) return one.firstDueMs < other.firstDueMs;
  return one.rank < other.rank;
}
