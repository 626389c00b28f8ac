import type { RoomPassword } from "./passwords.ts";

/** One try at a room's password. */
export interface Guess {
  roomCode: string;
  roomPassword: RoomPassword;
  /** whose wrong guesses count together: an address, or a network */
  caller: string;
  password: string | undefined;
  /** whether its client has left */
  hasLeft: () => boolean;
}

export type PasswordResult =
  | { kind: "right" }
  | { kind: "wrong" }
  /**
   * not checked: the caller's guesses are used up, or those of unknown callers at the room; or too many wait at the hub
   */
  | { kind: "throttled"; by: "caller" | "room" | "hub"; retryAfterMs: number }
  /** not checked: its client left before its turn */
  | { kind: "left" };

/** A guess with something to check. */
export type SlowGuess = Guess & { password: string };

/** What the gate knows of waiting guesses. */
interface GuessRules {
  /** Undefined while it may be checked. */
  refusalOf(guess: SlowGuess): PasswordResult | undefined;
  /** Counts a verdict. */
  settle(guess: SlowGuess, isRight: boolean): PasswordResult;
  /** wrong guesses of its caller that still count, at all rooms */
  checksUsed(guess: SlowGuess): number;
}

interface Waiting {
  guess: SlowGuess;
  resolve: (result: PasswordResult) => void;
  reject: (error: unknown) => void;
}

/**
 * Guesses that only scrypt can check, one at a time for the whole hub. Contract §6.
 *
 * The caller with the fewest used checks goes first, among equals the newest: however many addresses guess, the
 * password of a new caller waits only for the running check. Guesses whose clients have left, or that are refused
 * meanwhile, are not checked.
 */
export class SlowChecks {
  readonly #rules: GuessRules;
  readonly #maxWaiting: number;
  /** oldest first */
  #waiting: Waiting[] = [];
  #isRunning = false;

  /** @param maxWaiting - beyond it, the last guess in order is refused */
  constructor(rules: GuessRules, maxWaiting: number) {
    this.#rules = rules;
    this.#maxWaiting = maxWaiting;
  }

  add(guess: SlowGuess): Promise<PasswordResult> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ guess, resolve, reject });
      if (this.#waiting.length > this.#maxWaiting) this.#refuseLast();
      if (!this.#isRunning) void this.#run();
    });
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    for (let next = this.#takeFirst(); next !== undefined; next = this.#takeFirst()) {
      await this.#check(next);
    }
    this.#isRunning = false;
  }

  /** Never rejects: a failing check rejects the guess of its caller alone. */
  async #check({ guess, resolve, reject }: Waiting): Promise<void> {
    let isRight: boolean;
    try {
      isRight = await guess.roomPassword.slowly(guess.password);
    } catch (error) {
      reject(error);
      return;
    }
    resolve(this.#rules.settle(guess, isRight));
    if (isRight) this.#settleQuickOnes();
  }

  #takeFirst(): Waiting | undefined {
    this.#waiting = this.#waiting.filter((one) => !this.#isDismissed(one));
    const first = this.#inOrder(this.#waiting)[0];
    if (first !== undefined) this.#waiting.splice(this.#waiting.indexOf(first), 1);
    return first;
  }

  /** When a thousand participants of a room return, one runs scrypt and the others use its result. */
  #settleQuickOnes(): void {
    const isQuick = ({ guess }: Waiting) =>
      guess.roomPassword.quickly(guess.password) !== undefined;
    const quick = new Set(this.#waiting.filter(isQuick));
    this.#waiting = this.#waiting.filter((one) => !quick.has(one));
    for (const one of this.#inOrder([...quick])) {
      if (this.#isDismissed(one)) continue;
      const isRight = one.guess.roomPassword.quickly(one.guess.password) === true;
      one.resolve(this.#rules.settle(one.guess, isRight));
    }
  }

  #isDismissed({ guess, resolve }: Waiting): boolean {
    const result = guess.hasLeft() ? ({ kind: "left" } as const) : this.#rules.refusalOf(guess);
    if (result !== undefined) resolve(result);
    return result !== undefined;
  }

  #refuseLast(): void {
    const last = this.#inOrder(this.#waiting).at(-1);
    if (last === undefined) return;
    this.#waiting.splice(this.#waiting.indexOf(last), 1);
    last.resolve({ kind: "throttled", by: "hub", retryAfterMs: 1_000 });
  }

  #inOrder(waiting: readonly Waiting[]): Waiting[] {
    return waiting
      .map((one) => ({ one, used: this.#rules.checksUsed(one.guess) }))
      .reverse()
      .sort((a, b) => a.used - b.used)
      .map(({ one }) => one);
  }
}
