import { PAUSED_REASON, RARE_CAPABILITIES, type Timer } from "@roomhub/protocol";
import { type ModelServerOptions, ProviderClient, responseSecretsOf } from "@roomhub/provider";
import type { TunnelStatus } from "@roomhub/tunnel";
import type { ConnectionState } from "./connection/connection-chart.ts";
import { HubConnection } from "./connection/hub-connection.ts";
import {
  type ParticipantNotice,
  type RunningRequest,
  type StopReason,
  ParticipantError,
} from "./notice.ts";
import {
  type FunctionParticipantOptions,
  type ParticipantOptions,
  readOptions,
  type Settings,
} from "./options.ts";
import { ServedModel } from "./served-model.ts";
import { type ServeDeps, serveRequest } from "./served-request.ts";
import type { Budget } from "./budget/budget.ts";
import { openBudget } from "./budget/open-budget.ts";
import { callFunction } from "./function-call.ts";
import { createRequestHeads } from "./request-heads.ts";

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
  /** The requests that it serves now, in the order in which they arrived. */
  running(): RunningRequest[];
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

/** Announces surfaces that this agent serves and older agents do not know. */
const announced: Record<string, string> = Object.fromEntries(
  [...RARE_CAPABILITIES].map((name) => [name, "unknown"]),
);

class TunnelParticipant implements Participant {
  readonly #settings: Settings;
  readonly #hub: HubConnection;
  readonly #provider: ProviderClient;
  readonly #served: ServedModel;
  readonly #serveDeps: ServeDeps;
  readonly #started = Promise.withResolvers<void>();
  readonly #ended = Promise.withResolvers<StopReason>();
  #closing: Promise<void> | undefined;
  #ticker: Timer | undefined;
  #isPaused = false;

  constructor(settings: Settings) {
    this.#settings = settings;
    this.#hub = new HubConnection({
      settings,
      model: () => this.#served.name,
      capabilities: () => this.#capabilities(),
      status: () => this.#status(),
      onRequest: (request, epoch) => serveRequest(request, this.#serveDeps, epoch),
      onConnected: () => this.#started.resolve(),
      onStopped: (stop) => this.#onStopped(stop),
      notify: this.#notify,
    });
    this.#provider = new ProviderClient({
      connectTimeoutMs: settings.timing.providerConnectMs,
      world: settings.world,
    });
    const headers = { ...settings.authHeaders, ...settings.localHeaders };
    const budget = openBudget(settings, headers, this.#onFault);
    this.#served = this.#createModel(headers, budget);
    this.#serveDeps = this.#createDeps(headers, budget);
    // A caller that does not await start() gets a refusal through `stopped` and the notice.
    this.#started.promise.catch(() => {});
  }

  /** The model, behind an endpoint or a function. */
  #createModel(headers: Record<string, string>, budget: Budget | undefined): ServedModel {
    const { timing, baseUrl, serve, joinRequest, world, capabilities } = this.#settings;
    const { mayFollowModel: mayFollow, isModelListed } = this.#settings;
    const server = {
      ...{ baseUrl, isModelListed, isFunction: serve !== undefined },
      call: serve === undefined ? this.#callEndpoint : callFunction(serve, this.#onFault),
      headers: () => headers,
      declared: () => capabilities,
      modes: () => ({
        openResponses: joinRequest.config?.responses,
        messages: joinRequest.config?.messages,
      }),
      onCapabilities: () => this.#sendCapabilities(),
    };
    return new ServedModel({
      ...{ name: joinRequest.model, mayFollow, server, budget, timing, world },
      rename: (model) => this.#hub.rename(model),
      onStatus: () => this.#hub.sendStatus(this.#status()),
      notify: this.#notify,
    });
  }

  /** What serving its requests takes. */
  #createDeps(headers: Record<string, string>, budget: Budget | undefined): ServeDeps {
    const { baseUrl, endpointSlots, hubUrl, room, joinRequest, world } = this.#settings;
    const { localHeaders, isMetered, countsTokens } = this.#settings;
    const { only } = this.#settings.joinRequest;
    const served = this.#served;
    const seat = endpointSlots.open(baseUrl, `${hubUrl} ${room}`, () => {
      const { maxConcurrency = 0 } = joinRequest.config ?? {};
      return Math.max(maxConcurrency, served.server.engine?.slots ?? 0);
    });
    return {
      ...{ seat, world, isMetered, countsTokens, budget, server: served.server },
      only: only && new Set(only.map((name) => name.toLowerCase())),
      takesBack: () => this.#hub.hasHome,
      get model() {
        return served.name;
      },
      heads: createRequestHeads(localHeaders),
      secrets: responseSecretsOf(headers),
      running: new Set(),
      notify: this.#notify,
    };
  }

  get state(): ParticipantState {
    const { state } = this.#hub;
    return this.#closing !== undefined && state !== "stopped" ? "closing" : state;
  }

  get stopped(): Promise<StopReason> {
    return this.#ended.promise;
  }

  start(): Promise<void> {
    if (this.#hub.state === "idle") {
      this.#served.start();
      const { world, timing } = this.#settings;
      this.#ticker = world.setInterval(() => this.#tick(), timing.tickMs);
      this.#hub.start();
    }
    return this.#started.promise;
  }

  running(): RunningRequest[] {
    return [...this.#serveDeps.running].map((request) => request.view());
  }

  pause(): void {
    this.#setPaused(true);
  }

  resume(): void {
    this.#setPaused(false);
  }

  close({ drainMs }: { drainMs?: number | undefined } = {}): Promise<void> {
    this.#closing ??= this.#leave(drainMs ?? this.#settings.timing.drainMs);
    return this.#closing;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #tick(): void {
    this.#hub.tick();
    this.#served.tick(this.#settings.world.monotonicMs());
  }

  #sendCapabilities(): void {
    this.#hub.sendStatus({ ...this.#status(), capabilities: this.#capabilities() });
  }

  #capabilities(): Record<string, string> {
    return { ...announced, ...this.#settings.capabilities, ...this.#served.server.capabilities };
  }

  #setPaused(isPaused: boolean): void {
    if (this.#isPaused === isPaused) return;
    this.#isPaused = isPaused;
    this.#hub.sendStatus(this.#status());
  }

  #status(): TunnelStatus {
    const { capacity, status } = this.#served;
    return this.#isPaused ? { ready: false, reason: PAUSED_REASON, ...capacity } : status;
  }

  #onStopped(stop: StopReason): void {
    this.#settings.world.clearInterval(this.#ticker);
    this.#served.stop();
    this.#serveDeps.seat.close();
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

  async #leave(drainMs: number): Promise<void> {
    await this.#hub.leave(drainMs);
    await this.stopped;
  }

  readonly #callEndpoint: ModelServerOptions["call"] = (request, sink) =>
    this.#provider.call(request, sink);

  readonly #onFault = (error: unknown): void => this.#notify({ kind: "fault", error });

  readonly #notify = (notice: ParticipantNotice): void => {
    try {
      this.#settings.onNotice?.(notice);
    } catch {
      // A notice callback may throw; serving continues.
    }
  };
}
