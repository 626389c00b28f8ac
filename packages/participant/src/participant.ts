import { once } from "node:events";
import { responseSecretsOf, ProviderClient } from "@roomhub/provider";
import { CLOSE_CODES, type TunnelStatus } from "@roomhub/tunnel";
import { openBudget } from "./budget/open-budget.ts";
import {
  type ConnectionEvent,
  type ConnectionState,
  nextState,
} from "./connection/connection-chart.ts";
import { callFunction } from "./function-call.ts";
import { Heartbeat } from "./connection/heartbeat.ts";
import {
  judgeJoin,
  mayHaveJoined,
  type Registered,
  type Verdict,
} from "./connection/hub-verdict.ts";
import type { ParticipantNotice, StopReason } from "./notice.ts";
import {
  type FunctionParticipantOptions,
  type ParticipantOptions,
  readOptions,
  type Settings,
} from "./options.ts";
import { ParticipantError } from "./participant-error.ts";
import { Registration } from "./connection/registration.ts";
import { RetiredTunnels } from "./connection/retired-tunnels.ts";
import { createRequestHeads } from "./request-heads.ts";
import { ServedModel } from "./served-model.ts";
import { type ServeDeps, serveRequest } from "./served-request.ts";
import { TunnelConnection } from "./connection/tunnel-connection.ts";
import { WakeWatch } from "./connection/wake-watch.ts";

export type ParticipantState = ConnectionState["kind"] | "closing";

/** The agent beside a provider: keeps one tunnel to a hub and serves the requests that arrive through it. */
export interface Participant extends AsyncDisposable {
  /**
   * Resolves when the participant has joined and its tunnel is open; retries without limit while the hub is unreachable.
   *
   * @throws ParticipantError when the hub refuses: wrong password, unknown room, id taken
   */
  start(): Promise<void>;
  readonly state: ParticipantState;
  /** Resolves when this participant has stopped: closed by this program, or refused by the hub. Never rejects. */
  readonly stopped: Promise<StopReason>;
  /** Stops new requests until `resume()`; running ones finish. Persists across reconnects. */
  pause(): void;
  resume(): void;
  /** Lets running requests finish, at most `drainMs`; leaves the room; closes everything. */
  close(options?: { drainMs?: number | undefined }): Promise<void>;
}

/**
 * Shares a model in a room: that of an endpoint, or with `serve` a function of this program.
 *
 * @throws ParticipantError when the endpoint or a header is invalid, InvalidHubUrlError
 */
export function createParticipant(
  options: ParticipantOptions | FunctionParticipantOptions,
): Participant {
  return new TunnelParticipant(readOptions(options));
}

const drainPollMs = 20;

class TunnelParticipant implements Participant {
  readonly #settings: Settings;
  readonly #registration: Registration;
  readonly #retired = new RetiredTunnels();
  readonly #provider: ProviderClient;
  readonly #served: ServedModel;
  readonly #serveDeps: ServeDeps;
  readonly #wake: WakeWatch;
  readonly #heartbeat: Heartbeat;
  readonly #started = Promise.withResolvers<void>();
  readonly #ended = Promise.withResolvers<StopReason>();
  readonly #abort = new AbortController();
  #chart: ConnectionState = { kind: "idle" };
  #tunnel: TunnelConnection | undefined;
  #joining: Promise<void> | undefined;
  #closing: Promise<void> | undefined;
  #ticker: NodeJS.Timeout | undefined;
  #waitTimer: NodeJS.Timeout | undefined;
  #reportedOutage: string | undefined;
  #isPaused = false;
  #registered: Registered = "no";

  constructor(settings: Settings) {
    this.#settings = settings;
    const { timing, baseUrl, serve, authHeaders, localHeaders } = settings;
    this.#registration = new Registration(settings);
    this.#provider = new ProviderClient({ connectTimeoutMs: timing.providerConnectMs });
    const headers = { ...authHeaders, ...localHeaders };
    const budget = openBudget(settings, headers, (error) => this.#notify({ kind: "fault", error }));
    const served = new ServedModel({
      name: settings.joinRequest.model,
      mayFollow: settings.mayFollowModel,
      server: {
        call:
          serve === undefined
            ? (request, sink) => this.#provider.call(request, sink)
            : callFunction(serve, (error) => this.#notify({ kind: "fault", error })),
        isFunction: serve !== undefined,
        baseUrl,
        headers: () => headers,
        declared: () => settings.capabilities,
        modes: () => ({
          openResponses: settings.joinRequest.config?.responses,
          messages: settings.joinRequest.config?.messages,
        }),
        onCapabilities: () => this.#sendCapabilities(),
      },
      budget,
      timing,
      now: settings.now,
      wallNow: settings.wallNow,
      rename: (model) => this.#rename(model),
      onStatus: () => this.#tunnel?.sendStatus(this.#status()),
      notify: (notice) => this.#notify(notice),
    });
    this.#served = served;
    this.#serveDeps = {
      server: served.server,
      get model() {
        return served.name;
      },
      heads: createRequestHeads(localHeaders),
      secrets: responseSecretsOf(headers),
      now: settings.now,
      isMetered: settings.isMetered,
      budget,
      notify: (notice) => this.#notify(notice),
    };
    this.#wake = new WakeWatch(timing.wakeGapMs, settings.now, settings.wallNow);
    this.#heartbeat = new Heartbeat({
      intervalMs: timing.heartbeatMs,
      send: (token) => this.#registration.sendHeartbeat(token, this.#abort.signal),
      onVerdict: (verdict) => this.#stepBy(verdict),
    });
    // A caller that does not await start() gets a refusal through `stopped` and the notice.
    this.#started.promise.catch(() => {});
  }

  get state(): ParticipantState {
    return this.#closing !== undefined && this.#chart.kind !== "stopped"
      ? "closing"
      : this.#chart.kind;
  }

  get stopped(): Promise<StopReason> {
    return this.#ended.promise;
  }

  start(): Promise<void> {
    if (this.#chart.kind === "idle") {
      this.#served.start();
      this.#wake.check();
      this.#ticker = setInterval(() => this.#tick(), this.#settings.timing.tickMs);
      this.#step({ type: "start" });
    }
    return this.#started.promise;
  }

  pause(): void {
    this.#setPaused(true);
  }

  resume(): void {
    this.#setPaused(false);
  }

  close({ drainMs }: { drainMs?: number | undefined } = {}): Promise<void> {
    this.#closing ??= this.#leaveAndClose(drainMs ?? this.#settings.timing.drainMs);
    return this.#closing;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #step(event: ConnectionEvent, reason?: string): void {
    // While closing, only `close` counts: a participant that is leaving does not reconnect.
    if (this.#closing !== undefined && event.type !== "close") return;
    const { timing, now, random } = this.#settings;
    const { hasOtherHubs } = this.#registration;
    const inputs = { nowMs: now(), random: random(), hasOtherHubs, ...timing };
    const next = nextState(this.#chart, event, inputs);
    if (next === this.#chart) return;
    this.#chart = next;
    if (reason !== undefined && next.kind !== "stopped") this.#reportOutage(reason, next);
    this.#enter(next);
  }

  #stepBy(verdict: Verdict): void {
    this.#step(verdict.event, verdict.reason);
  }

  #enter(state: ConnectionState): void {
    clearTimeout(this.#waitTimer);
    switch (state.kind) {
      case "idle":
        return;
      case "joining":
        this.#heartbeat.pause();
        this.#dropTunnel("joining again");
        this.#joining = this.#join(state, state.isMoving);
        return;
      case "dialling":
        this.#dropTunnel("dialling again");
        return this.#dial();
      case "waiting":
        this.#dropTunnel("waiting");
        return this.#awaitDue(state.untilMs);
      case "connected":
        return this.#onConnected();
      case "stopped":
        return this.#onStopped(state.stop);
    }
  }

  async #join(entered: ConnectionState, isMoving: boolean): Promise<void> {
    const { room } = this.#settings;
    const joinRequest = { ...this.#settings.joinRequest, model: this.#served.name };
    try {
      const joined = await this.#registration.join(joinRequest, isMoving, this.#abort.signal);
      this.#registered = "yes";
      if (this.#chart !== entered) return;
      const warnings = (joined.warnings ?? []).map((warning) => warning.message);
      this.#heartbeat.begin(joined.participantToken, this.#settings.now());
      this.#notify({ kind: "joined", room, id: joinRequest.id, warnings });
      if (joined.clientKey !== undefined) this.#settings.onClientKey(joined.clientKey);
      this.#step({ type: "joined" });
    } catch (error) {
      if (this.#chart === entered) this.#stepBy(judgeJoin(error, this.#registered));
      if (this.#registered === "no" && mayHaveJoined(error)) this.#registered = "perhaps";
    }
  }

  #dial(): void {
    const { env, timing, maxStreams } = this.#settings;
    const { tunnel, hasOtherHubs } = this.#registration;
    if (tunnel === undefined) return this.#step({ type: "forgotten" });
    this.#tunnel = new TunnelConnection({
      ...tunnel,
      env,
      timing: hasOtherHubs ? { ...timing, dialMs: timing.clusterDialMs } : timing,
      maxStreams,
      capabilities: () => this.#capabilities(),
      status: () => this.#status(),
      onOpened: () => this.#step({ type: "opened" }),
      onRequest: (request) => serveRequest(request, this.#serveDeps),
      onGoAway: () => this.#moveOn(),
      onEnded: (verdict) => this.#stepBy(verdict),
      onFault: (error) => this.#notify({ kind: "fault", error }),
    });
  }

  /** Alone, a hub closes the tunnel when it has drained, and the redial reaches the one that was started again. */
  #moveOn(): void {
    const tunnel = this.#tunnel;
    if (tunnel === undefined || !this.#registration.hasOtherHubs || this.#closing !== undefined)
      return;
    this.#tunnel = undefined;
    this.#retired.add(tunnel);
    this.#step({ type: "dismissed" });
  }

  #onConnected(): void {
    this.#reportedOutage = undefined;
    this.#notify({ kind: "connected" });
    this.#started.resolve();
  }

  /** A timer may fire a fraction of a millisecond early. */
  #awaitDue(untilMs: number): void {
    const waitMs = Math.max(1, Math.ceil(untilMs - this.#settings.now()));
    this.#waitTimer = setTimeout(() => {
      this.#step({ type: "due" });
      const { kind } = this.#chart;
      if (kind === "waiting" && this.#chart.untilMs === untilMs) this.#awaitDue(untilMs);
    }, waitMs);
  }

  #tick(): void {
    const nowMs = this.#settings.now();
    const hasSlept = this.#wake.check();
    if (hasSlept && this.#chart.kind === "waiting") this.#step({ type: "woke" });
    else if (hasSlept) this.#tunnel?.wake(nowMs);
    this.#tunnel?.tick(nowMs);
    this.#retired.tick(nowMs, this.#chart.kind === "connected");
    this.#served.tick(nowMs);
    this.#heartbeat.tick(nowMs, hasSlept);
  }

  async #rename(model: string): Promise<void> {
    // A pending join has the old name; a later one has the new name.
    await this.#joining;
    await this.#registration.rename(model, this.#abort.signal);
  }

  #sendCapabilities(): void {
    this.#tunnel?.sendStatus({ ...this.#status(), capabilities: this.#capabilities() });
  }

  #capabilities(): Record<string, string> {
    return { ...this.#settings.capabilities, ...this.#served.server.capabilities };
  }

  #setPaused(isPaused: boolean): void {
    if (this.#isPaused === isPaused) return;
    this.#isPaused = isPaused;
    this.#tunnel?.sendStatus(this.#status());
  }

  #status(): TunnelStatus {
    const { capacity, status } = this.#served;
    return this.#isPaused ? { ready: false, reason: "paused", ...capacity } : status;
  }

  #dropTunnel(reason: string): void {
    this.#tunnel?.close(CLOSE_CODES.done, reason);
    this.#tunnel = undefined;
  }

  #reportOutage(reason: string, state: ConnectionState): void {
    if (this.#reportedOutage === reason) return;
    this.#reportedOutage = reason;
    const retryInMs = state.kind === "waiting" ? state.untilMs - this.#settings.now() : 0;
    this.#notify({ kind: "disconnected", reason, retryInMs });
  }

  #onStopped(stop: StopReason): void {
    clearInterval(this.#ticker);
    this.#heartbeat.pause();
    this.#served.stop();
    this.#abort.abort();
    this.#dropTunnel(stop.code);
    this.#retired.close();
    this.#notify({ kind: "stopped", ...stop });
    this.#started.reject(new ParticipantError(stop.code, stop.reason, stop.hint));
    this.#provider.close().then(
      () => this.#ended.resolve(stop),
      (error: unknown) => {
        this.#notify({ kind: "fault", error });
        this.#ended.resolve(stop);
      },
    );
  }

  async #leaveAndClose(drainMs: number): Promise<void> {
    // Awaits before anything else, so that `#closing` is set when the rest runs.
    await this.#drain(drainMs);
    if (this.#chart.kind !== "stopped") await this.#leave();
    this.#step({ type: "close" });
    await this.stopped;
  }

  async #drain(drainMs: number): Promise<void> {
    this.#tunnel?.goAway("leaving");
    const giveUpMs = performance.now() + drainMs;
    const running = () => (this.#tunnel?.activeStreams ?? 0) + this.#retired.activeStreams;
    while (running() > 0 && performance.now() < giveUpMs) {
      await new Promise((resolve) => setTimeout(resolve, drainPollMs));
    }
    await Promise.resolve();
  }

  /** Best effort: without it, the hub marks the participant offline after 30 s. */
  async #leave(): Promise<void> {
    const signal = AbortSignal.timeout(this.#settings.timing.leaveMs);
    // A pending join would register the participant after it left.
    await Promise.race([this.#joining, once(signal, "abort")]);
    try {
      await this.#registration.leave(signal);
    } catch {
      // See above.
    }
  }

  #notify(notice: ParticipantNotice): void {
    try {
      this.#settings.onNotice?.(notice);
    } catch {
      // A notice callback may throw; serving continues.
    }
  }
}
