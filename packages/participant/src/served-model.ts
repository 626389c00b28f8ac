import type { Timer, World } from "@roomhub/protocol";
import { ModelServer, type ModelServerOptions, type ReadinessVerdict } from "@roomhub/provider";
import type { TunnelStatus } from "@roomhub/tunnel";
import type { Budget } from "./budget/budget.ts";
import type { ParticipantNotice } from "./notice.ts";
import type { ParticipantTiming } from "./timing.ts";

export interface ServedModelOptions {
  /** the model's initial name */
  name: string;
  /** Adopt the name of another model that the server serves instead. */
  mayFollow: boolean;
  server: Pick<
    ModelServerOptions,
    | "baseUrl"
    | "call"
    | "declared"
    | "headers"
    | "isFunction"
    | "isModelListed"
    | "modes"
    | "onCapabilities"
  >;
  /** undefined when nothing is limited */
  budget: Budget | undefined;
  timing: ParticipantTiming;
  world: World;
  /** Renames the model at the hub; rejects when the hub refuses. */
  rename: (name: string) => Promise<unknown>;
  /** `status` changed. Called before the response that caused it is relayed. */
  onStatus: () => void;
  notify: (notice: ParticipantNotice) => void;
}

/** The model that a participant serves: its server, the server's readiness, and its name, which may follow the server's. */
export class ServedModel {
  readonly server: ModelServer;
  readonly #options: ServedModelOptions;
  readonly #watch: ProviderWatch;
  #name: string;
  /** the verdict as reported: a model that is followed is never reported as wrong */
  #reported: ReadinessVerdict;
  #isRenaming = false;
  #isStopped = false;
  #renameAgainMs: number | undefined;
  #reportedBudget = "";
  #budgetProblem: string | undefined;

  constructor(options: ServedModelOptions) {
    const { server, timing, world } = options;
    this.#options = options;
    this.#name = options.name;
    this.server = new ModelServer({
      ...server,
      model: () => this.#name,
      world,
      loadingMs: timing.loadingMs,
      looks: { readyMs: timing.providerCheckMs, downMs: timing.providerRecheckMs },
      onReadiness: (verdict) => this.#onVerdict(verdict),
      onLookMoved: () => this.#watch.reschedule(),
      onEngine: () => this.#options.onStatus(),
      onLoaded: () => this.#options.onStatus(),
      onFacts: () => this.#options.onStatus(),
      hasListener: () => !this.#isStopped,
    });
    this.#watch = new ProviderWatch(this.server, timing.probeTimeoutMs, world);
    this.#reported = this.server.readiness;
  }

  get name(): string {
    return this.#name;
  }

  get status(): TunnelStatus {
    const { readiness, problem } = this.#reported;
    const closed = this.#options.budget?.closedReason;
    if (closed !== undefined) return { ready: false, reason: closed, ...this.capacity };
    return { ready: readiness === "ready", readiness, reason: problem, ...this.capacity };
  }

  /** the concurrency of the model server, its loaded models, what is known of its model, and the rest of the budget */
  get capacity(): Omit<TunnelStatus, "ready" | "readiness" | "reason" | "capabilities"> {
    const { loadedModels: loaded, facts, engine } = this.server;
    const slots = {
      limit: engine?.slots,
      limitFrom: engine && "engine",
      elsewhere: engine?.elsewhere || undefined,
    };
    return { ...slots, ...facts, loaded, budget: this.#options.budget?.report };
  }

  start(): void {
    this.#watch.start();
  }

  /** Nothing is reported afterwards. */
  stop(): void {
    this.#isStopped = true;
    this.#watch.stop();
    this.server.close();
  }

  /** Reports a changed budget, which other processes share; retries a rename that the hub refused. */
  tick(nowMs: number): void {
    this.#reportBudget();
    if (this.#renameAgainMs === undefined || nowMs < this.#renameAgainMs) return;
    this.#renameAgainMs = undefined;
    this.#onVerdict(this.server.readiness);
  }

  #reportBudget(): void {
    const { budget, notify, onStatus } = this.#options;
    if (budget === undefined) return;
    const { problem } = budget;
    if (problem !== this.#budgetProblem) notify({ kind: "budget", problem });
    this.#budgetProblem = problem;
    const budgetNow = JSON.stringify([budget.closedReason, budget.report]);
    const isChanged = this.#reportedBudget !== budgetNow;
    this.#reportedBudget = budgetNow;
    if (isChanged) onStatus();
  }

  #onVerdict(verdict: ReadinessVerdict): void {
    if (this.#isStopped) return;
    const [other] = verdict.serves;
    const isFollowed = other !== undefined && this.#options.mayFollow;
    if (!isFollowed) return this.#report(verdict);
    if (!this.#isRenaming) void this.#follow(other);
  }

  async #follow(name: string): Promise<void> {
    const { rename, notify, world, timing } = this.#options;
    this.#isRenaming = true;
    try {
      await rename(name);
      if (this.#isStopped) return;
      notify({ kind: "model-changed", from: this.#name, to: name });
      this.#name = name;
      // Causes a new verdict, in which this model is the right one.
      this.server.modelChanged();
    } catch {
      // The hub is unreachable or refused: the model is reported as wrong until a retry succeeds.
      if (this.#isStopped) return;
      this.#report(this.server.readiness);
      this.#renameAgainMs = world.monotonicMs() + timing.backoffMaxMs;
    } finally {
      this.#isRenaming = false;
    }
  }

  #report(verdict: ReadinessVerdict): void {
    const { readiness, problem, sinceMs } = verdict;
    const before = this.#reported;
    if (readiness === before.readiness && problem === before.problem) return;
    this.#reported = verdict;
    const { notify, world, onStatus } = this.#options;
    onStatus();
    // A refused request is reported as such.
    if (readiness === "ready" && before.readiness === "ready") return;
    const since = Math.round(world.wallMs() - (world.monotonicMs() - sinceMs));
    notify({ kind: "provider-readiness", readiness, problem, since });
  }
}

/** Probes the model server whenever its readiness verdict is due for a check. */
export class ProviderWatch {
  readonly #server: Pick<ModelServer, "lookInMs" | "probe" | "startLook">;
  readonly #answerMs: number;
  readonly #world: World;
  #timer: Timer | undefined;
  #isLooking = false;
  #isStopped = false;

  /** @param answerMs - timeout of a probe */
  constructor(
    server: Pick<ModelServer, "lookInMs" | "probe" | "startLook">,
    answerMs: number,
    world: World,
  ) {
    this.#server = server;
    this.#answerMs = answerMs;
    this.#world = world;
  }

  start(): void {
    this.#look();
  }

  stop(): void {
    this.#isStopped = true;
    this.#world.clearTimeout(this.#timer);
  }

  /** The next probe is due earlier than scheduled. */
  reschedule(): void {
    this.#world.clearTimeout(this.#timer);
    if (this.#isLooking || this.#isStopped) return;
    // A timer may fire a fraction of a millisecond early.
    this.#timer = this.#world.setTimeout(() => this.#look(), Math.ceil(this.#server.lookInMs()));
  }

  #look(): void {
    if (!this.#server.startLook()) return this.reschedule();
    this.#isLooking = true;
    void this.#server.probe(this.#answerMs).finally(() => {
      this.#isLooking = false;
      this.reschedule();
    });
  }
}
