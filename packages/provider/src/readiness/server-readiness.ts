import { isSameModel, type Readiness, readinessOfModelList } from "@roomhub/protocol";
import type { ProviderFailureCode } from "../call/failure.ts";
import { LoadingSpell, MAX_LOADING_PAUSE_MS } from "./loading-spell.ts";
import type { ProbeResult } from "../learn/probe.ts";

/** The one verdict on a model server. Contract §3. */
export interface ReadinessVerdict {
  readiness: Readiness;
  /**
   * Why no request should come, as the end of a sentence about the server. When it is ready: that it refused its last
   * call, if it did; else undefined.
   */
  problem: string | undefined;
  /** ms, when this readiness began */
  sinceMs: number;
  /** What the server lists in place of the participant's model, in its order; empty but for `wrong-model`. */
  serves: readonly string[];
}

export interface ServerReadinessOptions {
  /** ms on the clock of all events */
  nowMs: number;
  /** the participant's model; undefined: the list is not compared */
  model: () => string | undefined;
  /** A list had the model before the first look. */
  isModelListed: boolean;
  /** loading for longer than this is `down` */
  loadingMs: number;
  /** a server that is ready is looked at so often */
  readyLookMs: number;
  /** a server that is down is looked at so often */
  downLookMs: number;
  onVerdict: (verdict: ReadinessVerdict) => void;
  /** The next look is due earlier than it was. */
  onLookMoved: () => void;
}

/** A silent server is down when it has neither responded, nor accepted a connection, nor run a request for so long. */
const silenceMs = 60_000;
/** However many calls fail, the probes that they cause are so far apart. */
const hurriedPauseMs = 1_000;

/**
 * The verdict on one model server from probes of its model list and responses to calls: a state machine that reads no
 * clock and sets no timer.
 *
 * | Verdict | Begins with | Ends with |
 * |---|---|---|
 * | `down` | no connection; 502 or 504 at the list; 60 s of silence; loading for too long | any other response |
 * | `loading` | 503 at the list; a call whose 503 says so | a list without it, or a call that succeeds |
 * | `wrong-model` | a list that has lost the model | a list that has it again |
 * | `needs-credentials` | 401, 403 or 407 at the list; 401 or 407 at a call | a call that succeeds, other credentials; after a refusal by the list alone, also a list |
 *
 * After a call has succeeded, one refusal only casts doubt on its credentials. They are invalid when the list, which they
 * opened before, refuses them too, or after {@link CredentialDoubt.isProven enough} refusals.
 *
 * If several of these hold, the first one is the verdict.
 */
export class ServerReadiness {
  readonly #options: ServerReadinessOptions;
  #verdict: ReadinessVerdict;
  readonly #loading = new LoadingSpell();
  /** why it is down; undefined when it is not */
  #downProblem: string | undefined;
  #refusedAt: "list" | "call" | undefined;
  #credentials = 0;
  /** A call succeeded with these credentials; the model list may still require others. */
  #haveCredentialsWorked = false;
  /** They also opened the model list. */
  #haveOpenedList = false;
  readonly #doubt = new CredentialDoubt();
  /** the participant's model, once a list had it */
  #listedModel: string | undefined;
  /** what the list has in its place */
  #serves: readonly string[] = [];
  #running = 0;
  #hasBytes = false;
  /** of the last response, accepted connection or running request */
  #signMs: number;
  #nextLookMs: number;
  /** of the latest look that a call or a change caused */
  #hurriedMs = -Infinity;

  constructor(options: ServerReadinessOptions) {
    const { nowMs } = options;
    this.#options = options;
    this.#listedModel = options.isModelListed ? options.model() : undefined;
    this.#verdict = { readiness: "ready", problem: undefined, sinceMs: nowMs, serves: [] };
    this.#signMs = nowMs;
    this.#nextLookMs = nowMs;
  }

  /** `ready` until a probe or a call shows otherwise. */
  get verdict(): ReadinessVerdict {
    return this.#verdict;
  }

  /** When to look at the model list again; 0 when that is due. */
  lookInMs(nowMs: number): number {
    return Math.max(0, this.#nextLookMs - nowMs);
  }

  /**
   * Begins a probe when one is due. Bytes of a running response since the last probe count as one, unless the credentials
   * are in doubt.
   *
   * @returns whether to request the model list now
   */
  startLook(nowMs: number): boolean {
    if (nowMs < this.#nextLookMs) return false;
    const isFlowing = this.#hasBytes && this.#running > 0;
    const isAlive = isFlowing && this.#verdict.readiness === "ready" && !this.#isDoubted;
    this.#hasBytes = false;
    if (isAlive) this.#nextLookMs = nowMs + this.#options.readyLookMs;
    return !isAlive;
  }

  /** A probe of the model list is over. */
  probed(finding: ProbeFinding, nowMs: number): void {
    this.#hasBytes = false;
    const isSilent = finding.kind === "silent" && !finding.isAccepted && this.#running === 0;
    if (!isSilent) this.#signMs = nowMs;
    switch (finding.kind) {
      case "responds":
        this.#downProblem = undefined;
        this.#loading.endAtList(nowMs);
        if (this.#refusedAt === "list") this.#refusedAt = undefined;
        this.#haveOpenedList ||= finding.isList;
        this.#compare(finding.models, finding.aliases);
        break;
      case "refuses":
        this.#downProblem = undefined;
        this.#loading.endAtList(nowMs);
        if (!this.#haveCredentialsWorked || (this.#haveOpenedList && this.#isDoubted)) {
          this.#refusedAt ??= "list";
        }
        break;
      case "loads":
        this.#downProblem = undefined;
        this.#loading.seenAtList(nowMs);
        break;
      case "down":
        this.#goDown(finding.problem);
        break;
      case "silent":
        if (nowMs - this.#signMs >= silenceMs) this.#goDown(finding.problem);
        break;
    }
    this.#publish(nowMs);
    this.#nextLookMs = nowMs + this.#pauseMs(nowMs, isSilent);
  }

  /** Number of the credentials that a call starting now uses; changes with them. */
  get credentials(): number {
    return this.#credentials;
  }

  /** calls without their end */
  get running(): number {
    return this.#running;
  }

  callStarted(): void {
    this.#running += 1;
  }

  callEnded(nowMs: number): void {
    this.#running -= 1;
    this.#signMs = nowMs;
  }

  /** Bytes of a response came. On the hot path. */
  callFlows(): void {
    this.#hasBytes = true;
  }

  /**
   * The head of a response came: nothing was generated yet.
   *
   * @param credentials - when the call started: a response to earlier ones says nothing about the current ones
   * @param client - whose request it was
   */
  callResponded(status: number, nowMs: number, credentials: number, client: string): void {
    const isCurrent = credentials === this.#credentials;
    if (status >= 200 && status < 300) {
      this.#succeed(isCurrent);
      // The usual case.
      if (this.#verdict.readiness === "ready" && this.#verdict.problem === undefined) return;
    } else {
      this.#signMs = nowMs;
      if (status !== 401 && status !== 407) this.#respond(status, nowMs);
      else if (isCurrent) this.#refuse(status, client, nowMs);
    }
    this.#publish(nowMs);
  }

  /** A call's response is 503, and says that the server loads its model. */
  callLoads(nowMs: number): void {
    this.#signMs = nowMs;
    this.#downProblem = undefined;
    this.#loading.seenAtCall(nowMs);
    this.#probeAt(nowMs + this.#loading.lookInMs(nowMs, this.#options.loadingMs));
    this.#publish(nowMs);
  }

  callFailed(code: ProviderFailureCode, nowMs: number): void {
    const hasLostServer = code === "provider_unreachable" || code === "provider_disconnected";
    if (!hasLostServer || this.#downProblem !== undefined) return;
    this.#hasBytes = false;
    this.#probeAt(nowMs);
  }

  /** Other credentials are sent from now on: nothing is known of them. */
  credentialsChanged(nowMs: number): void {
    this.#credentials += 1;
    this.#refusedAt = undefined;
    this.#haveCredentialsWorked = false;
    this.#haveOpenedList = false;
    this.#doubt.end();
    this.#publish(nowMs);
    this.#probeAt(nowMs);
  }

  /** The participant serves another model: what was listed before proves nothing about it. */
  modelChanged(nowMs: number): void {
    const model = this.#options.model();
    // The list that had it in place of the old model has listed it.
    this.#listedModel = this.#serves.some((name) => name === model) ? model : undefined;
    this.#serves = [];
    this.#publish(nowMs);
    this.#probeAt(nowMs);
  }

  #succeed(isCurrent: boolean): void {
    this.#downProblem = undefined;
    this.#loading.callSucceeded();
    if (!isCurrent) return;
    this.#refusedAt = undefined;
    this.#haveCredentialsWorked = true;
    this.#doubt.end();
  }

  get #isDoubted(): boolean {
    return this.#doubt.status !== undefined;
  }

  #refuse(status: number, client: string, nowMs: number): void {
    this.#downProblem = undefined;
    this.#loading.end();
    this.#doubt.note(status, client, nowMs);
    if (this.#haveCredentialsWorked && !this.#doubt.isProven) return this.#probeAt(nowMs);
    this.#refusedAt = "call";
    this.#haveCredentialsWorked = false;
  }

  #respond(status: number, nowMs: number): void {
    switch (status) {
      case 403:
        // The refusal may be about the prompt.
        return;
      case 502:
      case 503:
      case 504:
        // From a gateway, or because of too many requests: the model list decides.
        return this.#probeAt(nowMs);
      default:
        this.#downProblem = undefined;
        if (this.#loading.sinceMs !== undefined) this.#probeAt(nowMs);
    }
  }

  #goDown(problem: string): void {
    this.#loading.end();
    this.#downProblem = problem;
  }

  /** The model is wrong only if the list had it before: an empty list, or one that never had it, proves nothing. */
  #compare(models: readonly string[], aliases: readonly string[]): void {
    const model = this.#options.model();
    if (model === undefined || models.length === 0) return;
    const isListed = [...models, ...aliases].some((name) => isSameModel(name, model));
    if (isListed) this.#listedModel = model;
    this.#serves = isListed || this.#listedModel !== model ? [] : models;
  }

  #probeAt(atLeastMs: number): void {
    const atMs = Math.max(atLeastMs, this.#hurriedMs + hurriedPauseMs);
    if (atMs >= this.#nextLookMs) return;
    this.#hurriedMs = atMs;
    this.#nextLookMs = atMs;
    this.#options.onLookMoved();
  }

  #pauseMs(nowMs: number, isSilent: boolean): number {
    const { readyLookMs, downLookMs, loadingMs } = this.#options;
    if (this.#downProblem !== undefined) return downLookMs;
    if (this.#loading.sinceMs !== undefined) return this.#loading.lookInMs(nowMs, loadingMs);
    if (this.#verdict.readiness === "ready") return isSilent ? downLookMs : readyLookMs;
    return Math.min(readyLookMs, MAX_LOADING_PAUSE_MS);
  }

  #publish(nowMs: number): void {
    const before = this.#verdict;
    const { readiness, problem } = this.#judge(nowMs);
    if (readiness === before.readiness && problem === before.problem) return;
    const beganMs = readiness === "loading" ? (this.#loading.sinceMs ?? nowMs) : nowMs;
    this.#verdict = {
      readiness,
      problem,
      sinceMs: readiness === before.readiness ? before.sinceMs : beganMs,
      serves: readiness === "wrong-model" ? this.#serves : [],
    };
    this.#options.onVerdict(this.#verdict);
  }

  #judge(nowMs: number): { readiness: Readiness; problem: string | undefined } {
    if (this.#downProblem !== undefined) return { readiness: "down", problem: this.#downProblem };
    const { loadingMs } = this.#options;
    const { sinceMs } = this.#loading;
    if (sinceMs !== undefined && nowMs - sinceMs > loadingMs) {
      return {
        readiness: "down",
        problem: `has been loading its model for over ${asTime(loadingMs)}`,
      };
    }
    if (sinceMs !== undefined) return { readiness: "loading", problem: "is loading its model" };
    const [other, ...more] = this.#serves;
    if (other !== undefined) {
      const rest = more.length === 0 ? "" : ` and ${more.length} more`;
      return { readiness: "wrong-model", problem: `now serves ${other.slice(0, 100)}${rest}` };
    }
    const { status } = this.#doubt;
    const refused = status === undefined ? undefined : `refused its last request with ${status}`;
    return this.#refusedAt === undefined
      ? { readiness: "ready", problem: refused }
      : { readiness: "needs-credentials", problem: "requires credentials" };
  }
}

function asTime(ms: number): string {
  return ms >= 60_000 ? `${Math.round(ms / 60_000)} min` : `${ms / 1_000} s`;
}

/** What one probe of the model list says of the server. Contract §3. */
export type ProbeFinding =
  /** ids in the server's order, and their other names. `isList`: the status was 2xx */
  | { kind: "responds"; isList: boolean; models: readonly string[]; aliases: readonly string[] }
  | { kind: "refuses" }
  | { kind: "loads" }
  | { kind: "down"; problem: string }
  /** `isAccepted`: the server took the connection, so it may be busy */
  | { kind: "silent"; problem: string; isAccepted: boolean };

const noResponse = "does not respond";

export function findingOf(found: ProbeResult): ProbeFinding {
  const { answered, status = 200, problem = noResponse, models = [], aliases = [] } = found;
  if (!answered) {
    if (found.isTimeout !== true) return { kind: "down", problem };
    return { kind: "silent", problem, isAccepted: found.isAccepted === true };
  }
  switch (readinessOfModelList(status)) {
    case "ready":
      return { kind: "responds", isList: status < 300, models, aliases };
    case "needs-credentials":
      return { kind: "refuses" };
    case "loading":
      return { kind: "loads" };
    case "down":
      return { kind: "down", problem };
  }
}

const enoughRefusals = 3;
const enoughMs = 10_000;

/**
 * Refusals of calls with credentials that had worked, since the last success. Contract §3: one refusal may be about the
 * request; three, of at least two clients, are about the credentials. Reads no clock.
 */
class CredentialDoubt {
  #count = 0;
  #firstMs = 0;
  #lastMs = 0;
  #firstClient = "";
  #areFromOneClient = true;
  #status: number | undefined;

  /** of the last refusal, if any */
  get status(): number | undefined {
    return this.#status;
  }

  get isProven(): boolean {
    const isLong = this.#lastMs - this.#firstMs >= enoughMs;
    return this.#count >= enoughRefusals && isLong && !this.#areFromOneClient;
  }

  /** @param client - whose request it was */
  note(status: number, client: string, nowMs: number): void {
    if (this.#count === 0) {
      this.#firstMs = nowMs;
      this.#firstClient = client;
    }
    this.#count++;
    this.#lastMs = nowMs;
    this.#areFromOneClient &&= client === this.#firstClient;
    this.#status = status;
  }

  end(): void {
    this.#count = 0;
    this.#areFromOneClient = true;
    this.#status = undefined;
  }
}
