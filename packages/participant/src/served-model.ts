import { ModelServer, type ModelServerOptions, type ReadinessVerdict } from "@roomhub/provider";
import type { TunnelStatus } from "@roomhub/tunnel";
import type { ParticipantNotice } from "./notice.ts";
import { ProviderWatch } from "./provider-watch.ts";
import type { ParticipantTiming } from "./timing.ts";

export interface ServedModelOptions {
  /** the model's name at first */
  name: string;
  /** Take the name of the model that the server serves in its place. */
  mayFollow: boolean;
  server: Pick<
    ModelServerOptions,
    "baseUrl" | "call" | "declared" | "headers" | "isFunction" | "onCapabilities" | "responses"
  >;
  timing: ParticipantTiming;
  /** ms, monotonic */
  now: () => number;
  /** epoch ms */
  wallNow: () => number;
  /** Makes the hub know the model under another name; rejects when it does not. */
  rename: (name: string) => Promise<unknown>;
  /** What `status` gives is another. Called before the answer that is the cause is passed on. */
  onStatus: () => void;
  notify: (notice: ParticipantNotice) => void;
}

/** The model that a participant serves: its server, whether that is ready, and its name, which may follow the server's. */
export class ServedModel {
  readonly server: ModelServer;
  readonly #options: ServedModelOptions;
  readonly #watch: ProviderWatch;
  #name: string;
  /** the verdict as others know it: a model that is followed was never the wrong one */
  #reported: ReadinessVerdict;
  #isRenaming = false;
  #isStopped = false;
  #renameAgainMs: number | undefined;

  constructor(options: ServedModelOptions) {
    const { server, timing, now } = options;
    this.#options = options;
    this.#name = options.name;
    this.server = new ModelServer({
      ...server,
      model: () => this.#name,
      nowMs: now,
      loadingMs: timing.loadingMs,
      looks: { readyMs: timing.providerCheckMs, downMs: timing.providerRecheckMs },
      onReadiness: (verdict) => this.#onVerdict(verdict),
      onLookMoved: () => this.#watch.reschedule(),
      onEngine: () => this.#options.onStatus(),
      isWanted: () => !this.#isStopped,
    });
    this.#watch = new ProviderWatch(this.server, timing.providerAnswerMs);
    this.#reported = this.server.readiness;
  }

  get name(): string {
    return this.#name;
  }

  get status(): TunnelStatus {
    const { readiness, problem } = this.#reported;
    return { ready: readiness === "ready", readiness, reason: problem, ...this.slots };
  }

  /** what the model server reports of the requests that it runs at once */
  get slots(): Pick<TunnelStatus, "limit" | "limitFrom" | "elsewhere"> {
    const { engine } = this.server;
    if (engine === undefined) return {};
    const { slots, elsewhere } = engine;
    return { limit: slots, limitFrom: "engine", ...(elsewhere === 0 ? {} : { elsewhere }) };
  }

  start(): void {
    this.#watch.start();
  }

  /** Nothing is reported after it. */
  stop(): void {
    this.#isStopped = true;
    this.#watch.stop();
    this.server.close();
  }

  /** Tries again what the hub did not take. */
  tick(nowMs: number): void {
    if (this.#renameAgainMs === undefined || nowMs < this.#renameAgainMs) return;
    this.#renameAgainMs = undefined;
    this.#onVerdict(this.server.readiness);
  }

  #onVerdict(verdict: ReadinessVerdict): void {
    if (this.#isStopped) return;
    const [other] = verdict.serves;
    const isFollowed = other !== undefined && this.#options.mayFollow;
    if (!isFollowed) return this.#report(verdict);
    if (!this.#isRenaming) void this.#follow(other);
  }

  async #follow(name: string): Promise<void> {
    const { rename, notify, now, timing } = this.#options;
    this.#isRenaming = true;
    try {
      await rename(name);
      if (this.#isStopped) return;
      notify({ kind: "model-changed", from: this.#name, to: name });
      this.#name = name;
      // Comes back as the verdict that it is the right one now.
      this.server.modelChanged();
    } catch {
      // The hub is away, or would not have it: then the model is the wrong one until it does.
      if (this.#isStopped) return;
      this.#report(this.server.readiness);
      this.#renameAgainMs = now() + timing.backoffMaxMs;
    } finally {
      this.#isRenaming = false;
    }
  }

  #report(verdict: ReadinessVerdict): void {
    const { readiness, problem, sinceMs } = verdict;
    const before = this.#reported;
    if (readiness === before.readiness && problem === before.problem) return;
    this.#reported = verdict;
    const { notify, now, wallNow, onStatus } = this.#options;
    onStatus();
    const since = Math.round(wallNow() - (now() - sinceMs));
    notify({ kind: "provider-readiness", readiness, problem, since });
  }
}
