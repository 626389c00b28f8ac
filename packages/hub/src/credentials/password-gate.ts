import { Throttle } from "./throttle.ts";
import { type Guess, type PasswordResult, SlowChecks, type SlowGuess } from "./slow-checks.ts";
import type { RoomPassword } from "./passwords.ts";

export interface GateLimits {
  /** wrong passwords at once, per room and caller */
  burst: number;
  /** one more is allowed each */
  intervalMs: number;
  /** wrong passwords per room and minute, of all callers together */
  perRoomAndMinute: number;
  /** slow checks that may wait; 10,000 when left out */
  maxWaiting?: number | undefined;
}

/** The guesses at one room that still count, on their way to another hub. */
export interface GateMemory extends RoomGuessesMemory {
  /** with ms until none of its wrong guesses counts */
  callers: [caller: string, untilFullMs: number][];
}

/** More wrong guesses than this make no difference between callers. */
const manyChecks = 1_000;

/**
 * Checks passwords of rooms, and keeps guessing slow. Contract §6.
 *
 * A wrong guess counts, a right one costs nothing. A missing password counts for its caller, not for the room. Once a
 * room's total is spent, only callers that gave its password within 24 h are checked.
 */
export class PasswordGate {
  readonly #guesses: Throttle;
  /** by caller at all rooms: for the order, never for a refusal */
  readonly #checksUsed: Throttle;
  readonly #perRoomAndMinute: number;
  readonly #rooms = new WeakMap<RoomPassword, RoomGuesses>();
  readonly #slowChecks: SlowChecks;
  readonly #nowMs: () => number;

  /** @param nowMs - monotonic */
  constructor(limits: GateLimits, nowMs: () => number) {
    const { burst, intervalMs, perRoomAndMinute, maxWaiting = 10_000 } = limits;
    this.#guesses = new Throttle({ burst, intervalMs });
    this.#checksUsed = new Throttle({ burst: manyChecks, intervalMs });
    this.#perRoomAndMinute = perRoomAndMinute;
    this.#nowMs = nowMs;
    const rules = {
      refusalOf: (guess: SlowGuess) => this.#refusalOf(guess),
      settle: (guess: SlowGuess, isRight: boolean) => this.#settle(guess, isRight),
      checksUsed: ({ caller }: SlowGuess) => this.#checksUsed.spent(caller, nowMs()),
    };
    this.#slowChecks = new SlowChecks(rules, maxWaiting);
  }

  async check(guess: Guess): Promise<PasswordResult> {
    const refusal = this.#refusalOf(guess);
    if (refusal !== undefined) return refusal;
    const { password, roomPassword } = guess;
    if (password === undefined) {
      this.#guesses.record(keyOf(guess), this.#nowMs());
      return { kind: "wrong" };
    }
    // Counted in the same turn of the event loop: of a thousand guesses sent at once, each is counted before the next
    // is checked.
    const verdict = roomPassword.quickly(password);
    if (verdict !== undefined) return this.#settle(guess, verdict);
    return await this.#slowChecks.add({ ...guess, password });
  }

  memoryOf(roomCode: string, roomPassword: RoomPassword): GateMemory {
    const nowMs = this.#nowMs();
    const prefix = guessKey(roomCode, "");
    const callers = this.#guesses
      .all(prefix, nowMs)
      .map(([key, untilFullMs]): [string, number] => [key.slice(prefix.length), untilFullMs]);
    return { ...this.#guessesAt(roomPassword).memory(nowMs), callers };
  }

  /** Takes over what the gate of another hub has counted. */
  remember(roomCode: string, roomPassword: RoomPassword, memory: GateMemory): void {
    const nowMs = this.#nowMs();
    // Replaces what this hub counted when it was the room's home before.
    this.#rooms.delete(roomPassword);
    this.#guessesAt(roomPassword).remember(memory, nowMs);
    for (const [caller, untilFullMs] of memory.callers)
      this.#guesses.restore(guessKey(roomCode, caller), untilFullMs, nowMs);
  }

  #refusalOf(guess: Guess): PasswordResult | undefined {
    const nowMs = this.#nowMs();
    const callerMs = this.#guesses.retryAfterMs(keyOf(guess), nowMs);
    if (callerMs > 0) return { kind: "throttled", by: "caller", retryAfterMs: callerMs };
    const room = this.#guessesAt(guess.roomPassword);
    const roomMs = room.isKnown(guess.caller, nowMs) ? 0 : room.retryAfterMs(nowMs);
    return roomMs === 0 ? undefined : { kind: "throttled", by: "room", retryAfterMs: roomMs };
  }

  #settle(guess: Guess, isRight: boolean): PasswordResult {
    const nowMs = this.#nowMs();
    const room = this.#guessesAt(guess.roomPassword);
    if (isRight) {
      room.recordRight(guess.caller, nowMs);
      return { kind: "right" };
    }
    this.#guesses.record(keyOf(guess), nowMs);
    this.#checksUsed.record(guess.caller, nowMs);
    room.recordWrong(nowMs);
    return { kind: "wrong" };
  }

  #guessesAt(roomPassword: RoomPassword): RoomGuesses {
    const known = this.#rooms.get(roomPassword);
    if (known !== undefined) return known;
    const guesses = new RoomGuesses(this.#perRoomAndMinute);
    this.#rooms.set(roomPassword, guesses);
    return guesses;
  }
}

function keyOf({ roomCode, caller }: Guess): string {
  return guessKey(roomCode, caller);
}

const minuteMs = 60_000;
/** How long a caller that gave the right password stays known. */
const knownMs = 24 * 3_600_000;
/** Callers remembered per room. Only callers that have the password take a place. */
const maxKnown = 1_024;

/** In ms before the snapshot, since another hub has another clock. */
interface RoomGuessesMemory {
  wrongAgoMs: number[];
  rightAgoMs: [caller: string, agoMs: number][];
}

/** The wrong passwords of one room, of all callers together, and the callers that gave the right one. Contract §6. */
class RoomGuesses {
  readonly #perMinute: number;
  /** when the last wrong guesses came, at most as many as are allowed, oldest first */
  readonly #wrongAtMs: number[] = [];
  /** by caller, the longest ago first */
  readonly #rightAtMs = new Map<string, number>();

  /** @param perMinute - wrong passwords in any 60 s */
  constructor(perMinute: number) {
    this.#perMinute = perMinute;
  }

  /** 0 while guesses of unknown callers are checked. */
  retryAfterMs(nowMs: number): number {
    if (this.#perMinute === 0) return minuteMs;
    const oldest = this.#wrongAtMs[0];
    if (oldest === undefined || this.#wrongAtMs.length < this.#perMinute) return 0;
    return Math.max(0, oldest + minuteMs - nowMs);
  }

  recordWrong(nowMs: number): void {
    this.#wrongAtMs.push(nowMs);
    if (this.#wrongAtMs.length > this.#perMinute) this.#wrongAtMs.shift();
  }

  recordRight(caller: string, nowMs: number): void {
    // Deleted first, so that the map stays ordered.
    this.#rightAtMs.delete(caller);
    const [oldest] = this.#rightAtMs.keys();
    if (oldest !== undefined && this.#rightAtMs.size >= maxKnown) this.#rightAtMs.delete(oldest);
    this.#rightAtMs.set(caller, nowMs);
  }

  memory(nowMs: number): RoomGuessesMemory {
    return {
      wrongAgoMs: this.#wrongAtMs.map((atMs) => nowMs - atMs),
      rightAgoMs: [...this.#rightAtMs].map(([caller, atMs]) => [caller, nowMs - atMs]),
    };
  }

  /** What another hub knew. */
  remember({ wrongAgoMs, rightAgoMs }: RoomGuessesMemory, nowMs: number): void {
    for (const agoMs of wrongAgoMs) this.recordWrong(nowMs - agoMs);
    for (const [caller, agoMs] of rightAgoMs) this.recordRight(caller, nowMs - agoMs);
  }

  /** Whether it gave the right password within 24 h. */
  isKnown(caller: string, nowMs: number): boolean {
    const rightAtMs = this.#rightAtMs.get(caller);
    return rightAtMs !== undefined && nowMs - rightAtMs <= knownMs;
  }
}

/** @param caller - "" for the prefix of all callers of the room */
function guessKey(roomCode: string, caller: string): string {
  return `${roomCode} ${caller}`;
}
