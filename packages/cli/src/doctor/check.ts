import { HubUnreachableError, RoomhubError } from "@roomhub/client";
import {
  type HealthResponse,
  type HubEvent,
  type ParticipantSummary,
  type Room,
  type RouteExplanation,
  timeoutSignal,
} from "@roomhub/protocol";
import type { CliContext } from "../context.ts";
import { CommandError, EXIT, type ExitCode, exitCodeOf } from "../exit-code.ts";
import { hintHere, unreachableHubHint } from "../rooms/hub-hint.ts";
import { waitingFor } from "../terminal/interactivity.ts";
import { duration, safe } from "../terminal/text.ts";
import type { Machine } from "./machine.ts";

export type RequestStart = Extract<HubEvent, { type: "llm.request" }>;

export type RequestEnd = Extract<HubEvent, { type: "llm.complete" | "llm.error" }>;

/** What to check, and the results that later checks read. */
export interface Examination {
  readonly context: CliContext;
  readonly machine: Machine;
  readonly hubUrl: string;
  /** as named on the command line */
  readonly roomCode: string | undefined;
  /** a request's `model` field */
  readonly model: string;
  /** a model server to check too */
  readonly endpoint: string | undefined;
  /** for that model server alone; their values are never shown */
  readonly headers: Readonly<Record<string, string>>;
  readonly mayRequest: boolean;
  /** aborts when the user stops the command */
  readonly signal: AbortSignal;
  /** false once a connection to the hub's port failed */
  isPortOpen: boolean;
  health?: HealthResponse | undefined;
  /** how far the hub's clock is ahead of ours, ms */
  clockSkewMs?: number | undefined;
  room?: Room | undefined;
  participants?: readonly ParticipantSummary[] | undefined;
  route?: RouteExplanation | undefined;
  events?: Pick<RequestLog, "endOf" | "runningFor" | "close"> | undefined;
}

/** One step of `doctor`. */
export interface Check {
  readonly name: string;
  /** as it follows "Waiting for" */
  readonly waitsFor: string;
  readonly timeoutMs: number;
  /** @throws RoomhubError, HubUnreachableError: both become findings */
  run(exam: Examination, signal: AbortSignal): Finding | Promise<Finding>;
  /**
   * Explains a timeout while the check's request is still running; without it, or when it returns undefined, the network is
   * blamed.
   */
  late?(exam: Examination): Promise<Finding | undefined>;
}

export interface CheckResult extends Finding {
  name: string;
  ms: number;
}

/**
 * Runs the checks one after the other, each within its timeout.
 *
 * @throws CommandError when the user stopped it
 */
export async function runChecks(
  exam: Examination,
  checks: readonly Check[],
  options: { isQuiet: boolean; onResult: (result: CheckResult) => void },
): Promise<CheckResult[]> {
  const { context } = exam;
  const results: CheckResult[] = [];
  for (const check of checks) {
    const startMs = context.world.wallMs();
    const finding = await waitingFor(
      context,
      `Waiting for ${check.waitsFor}`,
      lookWithin(exam, check),
      options,
    );
    const result = { name: check.name, ms: context.world.wallMs() - startMs, ...finding };
    results.push(result);
    options.onResult(result);
  }
  return results;
}

async function lookWithin(exam: Examination, check: Check): Promise<Finding> {
  const deadline = timeoutSignal(exam.context.world, check.timeoutMs);
  const over = AbortSignal.any([exam.signal, deadline]);
  // Aborted only after `late` has looked, since it could not find a cancelled request anywhere.
  const leaving = new AbortController();
  try {
    over.throwIfAborted();
    const signal = AbortSignal.any([exam.signal, leaving.signal]);
    return await Promise.race([check.run(exam, signal), whenAborted(over)]);
  } catch (error) {
    if (exam.signal.aborted) throw new CommandError("Stopped", undefined, EXIT.interrupted);
    if (deadline.aborted) {
      const known = await check.late?.(exam).catch(() => undefined);
      if (known !== undefined) return known;
      return failed(
        `timed out after ${duration(check.timeoutMs)} waiting for ${check.waitsFor}`,
        `check the network between here and ${exam.hubUrl}`,
        { exitCode: EXIT.unreachable },
      );
    }
    return findingOf(error, exam);
  } finally {
    leaving.abort();
  }
}

/** For checks that ignore their signal. */
function whenAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true });
  });
}

/** A refusal by the hub or a command is a finding; anything else is a bug. */
function findingOf(error: unknown, { context, hubUrl }: Examination): Finding {
  if (error instanceof HubUnreachableError) {
    const fix = unreachableHubHint(context, error);
    return failed(error.message, fix, { exitCode: EXIT.unreachable });
  }
  if (error instanceof CommandError) {
    const { message, hint, exitCode, lines: details } = error;
    return failed(message, hint, { exitCode, details });
  }
  if (!(error instanceof RoomhubError)) throw error;
  const details = (error.participants ?? []).map(
    ({ id, model, reason }) => `${safe(id)} (${safe(model)}): ${safe(reason)}`,
  );
  const fix = error.hint === undefined ? undefined : hintHere(context, error.hint, hubUrl);
  return failed(error.message, fix, { exitCode: exitCodeOf(error), details });
}

/** The result of a check. `skipped` is neither good nor bad: it could not run, or there was nothing to check. */
export interface Finding {
  verdict: "ok" | "failed" | "skipped";
  /** one sentence, without a full stop */
  found: string;
  /** the next step, as a command where there is one */
  fix: string | undefined;
  /** one line each, as for the participants of a room */
  details: readonly string[];
  /** the command's exit code when this is the first failure */
  exitCode: ExitCode;
}

export function ok(found: string, details: readonly string[] = []): Finding {
  return { verdict: "ok", found, fix: undefined, details, exitCode: EXIT.ok };
}

export function failed(
  found: string,
  fix: string | undefined,
  more: { exitCode?: ExitCode; details?: readonly string[] } = {},
): Finding {
  const { exitCode = EXIT.failure, details = [] } = more;
  return { verdict: "failed", found, fix, details, exitCode };
}

/** @param fix - how to make the check possible */
export function skipped(found: string, fix?: string, details: readonly string[] = []): Finding {
  return { verdict: "skipped", found, fix, details, exitCode: EXIT.ok };
}

/** Starts and ends of requests, kept for later checks. */
export class RequestLog {
  readonly #starts: RequestStart[] = [];
  readonly #ends: RequestEnd[] = [];
  readonly close: () => void;
  #look: () => void = () => {};

  constructor(close: () => void) {
    this.close = close;
  }

  take(data: string): void {
    const event = JSON.parse(data) as HubEvent;
    if (event.type === "llm.request") this.#starts.push(event);
    if (event.type !== "llm.complete" && event.type !== "llm.error") return;
    this.#ends.push(event);
    this.#look();
  }

  /**
   * The latest start of a request that has not ended yet; undefined when there is none.
   *
   * @param selector - the request's `model` field
   */
  runningFor(selector: string): RequestStart | undefined {
    return this.#starts.findLast(
      (start) =>
        start.selector === selector &&
        !this.#ends.some(({ requestId }) => requestId === start.requestId),
    );
  }

  /** The end of a request, past or still to come; undefined when the signal aborts first. */
  endOf(requestId: string, signal: AbortSignal): Promise<RequestEnd | undefined> {
    return new Promise((resolve) => {
      const look = () => {
        const end = this.#ends.find((event) => event.requestId === requestId);
        if (end !== undefined) resolve(end);
      };
      signal.addEventListener("abort", () => resolve(undefined), { once: true });
      this.#look = look;
      look();
    });
  }
}
