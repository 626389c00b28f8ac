import { durationInWords, isInHours, type TimeSource } from "@roomhub/protocol";
import type { TunnelBudget } from "@roomhub/tunnel";
import type { BudgetRules } from "./budget-options.ts";
import type { BudgetRefusal } from "./budget-refusal.ts";
import type { Ledger, LedgerSums } from "./ledger.ts";
import {
  firstQuarterHour,
  hoursInWords,
  type LocalTime,
  type ReadLocalTime,
} from "./local-time.ts";

export interface BudgetDeps {
  /** names the participant in refusals */
  participantId: string;
  ledger: Ledger;
  /** Days, hours and other processes are on its wall clock. */
  world: TimeSource;
  readLocalTime: ReadLocalTime;
  onFault: (error: unknown) => void;
}

/** While the ledger cannot be written, requests are refused with this `retry-after`. */
const faultMs = 60_000;

/** Decides which requests a participant serves within its budget. Exceeded at most by the responses that run when it is used up. */
export class Budget {
  readonly #rules: BudgetRules;
  readonly #deps: BudgetDeps;

  constructor(rules: BudgetRules, deps: BudgetDeps) {
    this.#rules = rules;
    this.#deps = deps;
  }

  /** Why no request is served at this hour, for people; undefined when requests are served. */
  get closedReason(): string | undefined {
    const { hours } = this.#rules;
    if (hours === undefined || this.#isOpen(this.#localTime)) return undefined;
    return `shares ${hoursInWords(hours)}`;
  }

  /** Why no request is served now, as the end of a sentence about the participant; undefined when requests are served. */
  get problem(): string | undefined {
    const { tokensPerDay } = this.#rules;
    const isUsedUp = tokensPerDay !== undefined && this.#remainingTokens(tokensPerDay) === 0;
    return this.closedReason ?? (isUsedUp ? usedUp(tokensPerDay) : undefined);
  }

  /** For STATUS; undefined when only hours are limited. */
  get report(): TunnelBudget | undefined {
    const { tokensPerDay, batchTokensPerDay, requestsPerMinute } = this.#rules;
    if (!this.#countsTokens) {
      return requestsPerMinute === undefined ? undefined : { requestsPerMinute };
    }
    return {
      tokensPerDay,
      remainingTokens: tokensPerDay && this.#remainingTokens(tokensPerDay),
      batchTokensPerDay,
      remainingBatchTokens: batchTokensPerDay && this.#remainingTokens(batchTokensPerDay, true),
      requestsPerMinute,
      resetAt: this.#nextDayMs(),
    };
  }

  get #countsTokens(): boolean {
    const { tokensPerDay, batchTokensPerDay } = this.#rules;
    return tokensPerDay !== undefined || batchTokensPerDay !== undefined;
  }

  /**
   * Admits a request, which is then entered in the ledger, or refuses it.
   *
   * @returns undefined when the request is admitted
   */
  admit(isBatch = false): BudgetRefusal | undefined {
    const closed = this.closedReason;
    if (closed !== undefined) return this.#refuseUntil(this.#nextOpeningMs(), closed);
    try {
      const nowMs = this.#deps.world.wallMs();
      const sums = this.#deps.ledger.sums(nowMs);
      const spent = this.#refuseTokens(sums) ?? (isBatch ? this.#refuseBatch(sums) : undefined);
      return spent ?? this.#refuseRate(sums, nowMs);
    } catch (error) {
      this.#deps.onFault(error);
      const reason = "cannot write down what is spent, so it serves no requests";
      return this.#refuseUntil(this.#deps.world.wallMs() + faultMs, reason);
    }
  }

  /** Enters the tokens of one response. */
  spend(tokens: number, isBatch = false): void {
    if (tokens <= 0 || !this.#countsTokens) return;
    try {
      this.#deps.ledger.spend(this.#deps.world.wallMs(), tokens, isBatch);
    } catch (error) {
      this.#deps.onFault(error);
    }
  }

  #refuseTokens({ totalTokens }: LedgerSums): BudgetRefusal | undefined {
    const { tokensPerDay: limit } = this.#rules;
    if (limit === undefined || totalTokens < limit) return undefined;
    return this.#refuseToday(limit, usedUp(limit));
  }

  #refuseBatch({ batchTokens }: LedgerSums): BudgetRefusal | undefined {
    const { batchTokensPerDay: limit } = this.#rules;
    if (limit === undefined || batchTokens < limit) return undefined;
    return { ...this.#refuseToday(limit, `${usedUp(limit)} for batches`), isForBatches: true };
  }

  #refuseToday(limit: number, reason: string): BudgetRefusal {
    const untilMs = this.#nextDayMs();
    const resetMs = untilMs - this.#deps.world.wallMs();
    const tokens = { limit, remaining: 0, resetMs };
    return { ...this.#refuseUntil(untilMs, reason), tokens };
  }

  #refuseRate(sums: LedgerSums, nowMs: number): BudgetRefusal | undefined {
    const { requestsPerMinute: limit } = this.#rules;
    if (limit === undefined) return undefined;
    const nextMs = sums.nextStartMs(limit, nowMs);
    if (nextMs <= nowMs && this.#deps.ledger.start(nowMs, limit)) return undefined;
    const reason = `serves ${count(limit)} ${limit === 1 ? "request" : "requests"} a minute`;
    return this.#refuseUntil(Math.max(nextMs, nowMs + 1_000), reason);
  }

  /** @param reason - the end of a sentence about the participant */
  #refuseUntil(untilMs: number, reason: string): BudgetRefusal {
    const waitMs = Math.max(1_000, untilMs - this.#deps.world.wallMs());
    const next = `Try again in ${durationInWords(waitMs)}, or use another participant.`;
    return {
      message: `${this.#deps.participantId} ${reason}. ${next}`,
      retryAfterSeconds: Math.ceil(waitMs / 1_000),
      tokens: undefined,
    };
  }

  #remainingTokens(limit: number, isOfBatches = false): number {
    const { ledger, world } = this.#deps;
    try {
      const { totalTokens, batchTokens } = ledger.sums(world.wallMs());
      return Math.max(0, limit - (isOfBatches ? batchTokens : totalTokens));
    } catch {
      return 0; // reported when a request is refused for it
    }
  }

  get #localTime(): LocalTime {
    return this.#deps.readLocalTime(this.#deps.world.wallMs());
  }

  #isOpen({ hour }: LocalTime): boolean {
    const { hours } = this.#rules;
    return hours === undefined || isInHours(hours, hour);
  }

  #nextOpeningMs(): number {
    return this.#firstMs((time) => this.#isOpen(time));
  }

  #nextDayMs(): number {
    const { day } = this.#localTime;
    return this.#firstMs((time) => time.day !== day);
  }

  #firstMs(isSought: (time: LocalTime) => boolean): number {
    const { world, readLocalTime } = this.#deps;
    return firstQuarterHour(world.wallMs(), readLocalTime, isSought);
  }
}

function usedUp(tokensPerDay: number): string {
  return `has used up its budget of ${count(tokensPerDay)} tokens a day`;
}

/** `100,000` */
function count(number: number): string {
  return number.toLocaleString("en-US");
}
