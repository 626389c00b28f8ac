import { pause, type TimeSource, type Timer, timeoutSignal } from "@roomhub/protocol";
import { once } from "node:events";
import type { TunnelStatus } from "@roomhub/tunnel";
import type { ParticipantNotice, StopReason } from "../notice.ts";
import type { Settings } from "../options.ts";
import { type ConnectionEvent, type ConnectionState, nextState } from "./connection-chart.ts";
import {
  judgeJoin,
  mayHaveJoined,
  type Registered,
  type Verdict,
  judgeHeartbeat,
} from "./hub-verdict.ts";
import { Registration } from "./registration.ts";
import { type Resumed, TunnelSession, type TunnelSessionOptions } from "./tunnel-session.ts";

export interface HubConnectionOptions extends Pick<
  TunnelSessionOptions,
  "capabilities" | "status" | "onRequest"
> {
  settings: Settings;
  /** the model's name of the moment */
  model: () => string;
  /** Joined, and the tunnel is open. Also after each outage. */
  onConnected: () => void;
  /** Called once, last: it was closed, or refused by the hub. */
  onStopped: (stop: StopReason) => void;
  notify: (notice: ParticipantNotice) => void;
}

const drainPollMs = 20;

/** Joins a room, keeps the tunnel open and heartbeats going, and leaves. `connection-chart.ts` says what follows what. */
export class HubConnection {
  readonly #options: HubConnectionOptions;
  readonly #settings: Settings;
  readonly #registration: Registration;
  readonly #tunnel: TunnelSession;
  readonly #wake: WakeWatch;
  readonly #heartbeat: Heartbeat;
  readonly #abort = new AbortController();
  #chart: ConnectionState = { kind: "idle" };
  #joining: Promise<void> | undefined;
  #joins = 0;
  #waitTimer: Timer | undefined;
  #reportedOutage: string | undefined;
  #isLeaving = false;
  #registered: Registered = "no";

  /** @throws InvalidHubUrlError */
  constructor(options: HubConnectionOptions) {
    const { settings, capabilities, status, onRequest, notify } = options;
    this.#options = options;
    this.#settings = settings;
    const { timing, env, mask, maxStreams, world } = settings;
    this.#registration = new Registration(settings);
    this.#wake = new WakeWatch(timing.wakeGapMs, world);
    this.#tunnel = new TunnelSession({
      ...{ env, mask, world, maxStreams, capabilities, status, onRequest },
      nowMs: () => this.#wake.nowMs,
      resumeRefusedMs: timing.resumeRefusedMs,
      onOpened: (resumed) => this.#onOpened(resumed),
      onGoAway: () => this.#moveOn(),
      onEnded: (verdict, waitingStreams) => this.#onTunnelEnded(verdict, waitingStreams),
      onFault: (error) => notify({ kind: "fault", error }),
    });
    this.#heartbeat = new Heartbeat({
      intervalMs: timing.heartbeatMs,
      send: (token) => this.#registration.sendHeartbeat(token, this.#abort.signal),
      onVerdict: (verdict) => this.#stepBy(verdict),
    });
  }

  get #nowMs(): number {
    return this.#settings.world.monotonicMs();
  }

  get state(): ConnectionState["kind"] {
    return this.#chart.kind;
  }

  /** The hub is the home of the room, in a cluster. */
  get hasHome(): boolean {
    return this.#registration.hasHome;
  }

  start(): void {
    this.#wake.check();
    this.#step({ type: "start" });
  }

  /** About once a second. */
  tick(): void {
    const hasSlept = this.#wake.check();
    if (hasSlept) this.#tunnel.wake();
    if (hasSlept) this.#step({ type: "woke" });
    this.#tunnel.tick(this.#chart.kind === "connected");
    this.#heartbeat.tick(this.#nowMs, hasSlept);
  }

  sendStatus(status: TunnelStatus): void {
    this.#tunnel.sendStatus(status);
  }

  /** @throws what the hub responds, or that it is unreachable */
  async rename(model: string): Promise<void> {
    // A pending join has the old name; a later one has the new name.
    await this.#joining;
    await this.#registration.rename(model, this.#abort.signal);
  }

  /** Lets requests finish for at most `drainMs`, including requests that wait for the tunnel; then leaves and stops. */
  async leave(drainMs: number): Promise<void> {
    this.#isLeaving = true;
    this.#tunnel.goAway("leaving");
    const { world } = this.#settings;
    const giveUpMs = world.monotonicMs() + drainMs;
    while (this.#tunnel.activeStreams > 0 && world.monotonicMs() < giveUpMs) {
      await pause(world, drainPollMs);
    }
    if (this.#chart.kind !== "stopped") await this.#leaveRoom();
    this.#step({ type: "close" });
  }

  #step(event: ConnectionEvent, reason?: string): void {
    if (event.type === "forgotten") this.#tunnel.giveUp("the hub does not have this participant");
    if (this.#isLeaving && event.type !== "close") return this.#stepLeaving(event);
    this.#go(this.#next(event), reason);
  }

  /** A participant that is leaving connects only for streams that wait for it, and joins no more. */
  #stepLeaving(event: ConnectionEvent): void {
    if (this.#tunnel.waitingStreams === 0 && event.type !== "resumed") return;
    const next = this.#next(event);
    const leadsToTunnel =
      next.kind === "connected" ||
      next.kind === "dialling" ||
      ("next" in next && next.next === "dialling");
    if (leadsToTunnel) this.#go(next);
    else this.#tunnel.giveUp("leaving");
  }

  #next(event: ConnectionEvent): ConnectionState {
    const { timing, world } = this.#settings;
    const hasWaitingStreams = this.#tunnel.waitingStreams > 0;
    const hasOtherHubs = this.#registration.hasOtherHubs && !this.#tunnel.isHubAwaited;
    const { hasHome } = this.#registration;
    const inputs = {
      ...{ nowMs: world.monotonicMs(), random: world.random() },
      ...{ hasOtherHubs, hasHome, hasWaitingStreams },
      ...timing,
    };
    return nextState(this.#chart, event, inputs);
  }

  #go(next: ConnectionState, reason?: string): void {
    if (next === this.#chart) return;
    this.#chart = next;
    if (reason !== undefined && next.kind !== "stopped") this.#reportOutage(reason, next);
    this.#enter(next);
  }

  #stepBy(verdict: Verdict): void {
    this.#step(verdict.event, verdict.reason);
  }

  #enter(state: ConnectionState): void {
    this.#settings.world.clearTimeout(this.#waitTimer);
    switch (state.kind) {
      case "idle":
      case "connected":
        return;
      case "joining":
        this.#heartbeat.pause();
        // Waiting streams are lost only when another hub has this participant.
        if (state.isMoving) this.#tunnel.hangUp("joining at another hub");
        else this.#tunnel.giveUp("joining again");
        this.#joining = this.#join(state, state.isMoving);
        return;
      case "dialling":
        return this.#dial(state.isRedial);
      case "waiting":
        this.#tunnel.hangUp("waiting");
        return this.#awaitDue(state.untilMs);
      case "stopped":
        return this.#onStopped(state.stop);
    }
  }

  async #join(entered: ConnectionState, isMoving: boolean): Promise<void> {
    const { room, timing, world } = this.#settings;
    const run = { bootId: this.#tunnel.bootId, joins: ++this.#joins };
    const joinRequest = { ...this.#settings.joinRequest, model: this.#options.model(), run };
    // The hub that has waiting streams is dialled again soon.
    const isBrief = this.#tunnel.waitingStreams > 0;
    const limits = isBrief ? [timeoutSignal(world, timing.clusterDialMs)] : [];
    const signal = AbortSignal.any([this.#abort.signal, ...limits]);
    try {
      const joined = await this.#registration.join(joinRequest, isMoving, signal);
      this.#registered = "yes";
      if (this.#chart !== entered) return;
      if (!this.#registration.keepsSession) this.#tunnel.giveUp("joined at another hub");
      const warnings = (joined.warnings ?? []).map((warning) => warning.message);
      this.#heartbeat.begin(joined.participantToken, this.#nowMs);
      const machine = joined.participant?.load.machine;
      const { id } = this.#settings.joinRequest;
      this.#options.notify({ kind: "joined", room, id, warnings, machine });
      if (joined.clientKey !== undefined) this.#settings.onClientKey(joined.clientKey);
      this.#step({ type: "joined" });
    } catch (error) {
      if (this.#chart === entered) this.#stepBy(judgeJoin(error, this.#registered));
      if (this.#registered === "no" && mayHaveJoined(error)) this.#registered = "perhaps";
    }
  }

  #dial(isRedial: boolean): void {
    const { timing } = this.#settings;
    const { token, fence, hasHome, hasOtherHubs } = this.#registration;
    const url = this.#registration.whereToDial(isRedial);
    if (url === undefined || token === undefined) return this.#step({ type: "forgotten" });
    // While a room has no home, hubs hold its tunnels: one that was reached has the usual time.
    const isHeld = hasHome && hasOtherHubs;
    this.#tunnel.dial({
      ...{ url, token, fence },
      reachMs: isHeld ? timing.clusterDialMs : undefined,
      timing: hasOtherHubs && !isHeld ? { ...timing, dialMs: timing.clusterDialMs } : timing,
      known: (announced) => this.#registration.tunnelAt(announced),
    });
  }

  /** A single hub closes the tunnel when it has drained, and the redial reaches the hub after its restart. */
  #moveOn(): void {
    const { hasOtherHubs, hasHome } = this.#registration;
    if (this.#isLeaving || (!hasOtherHubs && !hasHome)) return;
    if (this.#tunnel.retire()) this.#step({ type: "dismissed" });
  }

  #onOpened(resumed: Resumed | undefined): void {
    this.#step({ type: resumed === undefined ? "opened" : "resumed" });
    if (this.#chart.kind !== "connected") return;
    this.#reportedOutage = undefined;
    const { token } = this.#registration;
    // A failed join at another hub has paused the heartbeats.
    if (token !== undefined) this.#heartbeat.begin(token, this.#nowMs);
    this.#options.notify(
      resumed === undefined ? { kind: "connected" } : { kind: "resumed", ...resumed },
    );
    this.#options.onConnected();
  }

  #onTunnelEnded(verdict: Verdict, waitingStreams: number): void {
    if (this.#chart.kind === "connected" && waitingStreams > 0) {
      this.#reportedOutage = verdict.reason;
      this.#options.notify({ kind: "interrupted", streams: waitingStreams });
    }
    this.#stepBy(verdict);
  }

  #awaitDue(untilMs: number): void {
    const waitMs = Math.max(1, Math.ceil(untilMs - this.#nowMs));
    this.#waitTimer = this.#settings.world.setTimeout(() => {
      // A timer may fire a fraction of a millisecond early.
      if (this.#nowMs < untilMs) this.#awaitDue(untilMs);
      else this.#step({ type: "due" });
    }, waitMs);
  }

  #reportOutage(reason: string, state: ConnectionState): void {
    if (this.#reportedOutage === reason) return;
    this.#reportedOutage = reason;
    const retryInMs = state.kind === "waiting" ? state.untilMs - this.#nowMs : 0;
    this.#options.notify({ kind: "disconnected", reason, retryInMs });
  }

  #onStopped(stop: StopReason): void {
    this.#heartbeat.pause();
    this.#abort.abort();
    this.#tunnel.close(stop.code);
    this.#options.onStopped(stop);
  }

  /** Best effort: without it, the hub marks the participant offline after 30 s. */
  async #leaveRoom(): Promise<void> {
    const signal = timeoutSignal(this.#settings.world, this.#settings.timing.leaveMs);
    // A pending join would register the participant after it left.
    await Promise.race([this.#joining, once(signal, "abort")]);
    try {
      await this.#registration.leave(signal);
    } catch {
      // See above.
    }
  }
}

/**
 * Detects that the machine slept: the gap between two checks is too long. The monotonic clock stops during sleep on Linux
 * and macOS and continues on Windows, so both clocks are read.
 */
export class WakeWatch {
  readonly #gapMs: number;
  readonly #time: TimeSource;
  #lastMs: number | undefined;
  #lastWallMs = 0;
  #missedMs = 0;

  constructor(gapMs: number, time: TimeSource) {
    this.#gapMs = gapMs;
    this.#time = time;
  }

  /** ms on the monotonic clock, and those that it has missed: a clock that counts sleep, as of the last check. */
  get nowMs(): number {
    return this.#time.monotonicMs() + this.#missedMs;
  }

  /** Call on every tick. A wall clock that is set forward also looks like sleep; an extra ping does no harm. */
  check(): boolean {
    const nowMs = this.#time.monotonicMs();
    const wallMs = this.#time.wallMs();
    const passedMs = nowMs - (this.#lastMs ?? nowMs);
    const gapMs = Math.max(passedMs, wallMs - this.#lastWallMs);
    const isFirst = this.#lastMs === undefined;
    this.#lastMs = nowMs;
    this.#lastWallMs = wallMs;
    const hasSlept = !isFirst && gapMs > this.#gapMs;
    if (hasSlept) this.#missedMs += gapMs - passedMs;
    return hasSlept;
  }
}

interface HeartbeatOptions {
  intervalMs: number;
  send: (token: string) => Promise<unknown>;
  /** The hub does not have this participant, or refuses it. Other failures are not reported. */
  onVerdict: (verdict: Verdict) => void;
}

/** Sends a heartbeat every 10 s, one at a time. Interface §3. */
class Heartbeat {
  readonly #options: HeartbeatOptions;
  #token: string | undefined;
  #sentMs = 0;
  #isRunning = false;

  constructor(options: HeartbeatOptions) {
    this.#options = options;
  }

  /** After a join, which counts as a heartbeat. */
  begin(token: string, nowMs: number): void {
    this.#token = token;
    this.#sentMs = nowMs;
  }

  /** While not joined: the response to a pending heartbeat is ignored. */
  pause(): void {
    this.#token = undefined;
  }

  tick(nowMs: number, isUrgent: boolean): void {
    const token = this.#token;
    if (token === undefined || this.#isRunning) return;
    if (nowMs - this.#sentMs < this.#options.intervalMs && !isUrgent) return;
    this.#sentMs = nowMs;
    this.#isRunning = true;
    this.#options.send(token).then(
      () => {
        this.#isRunning = false;
      },
      (error: unknown) => {
        this.#isRunning = false;
        const verdict = judgeHeartbeat(error);
        if (verdict !== undefined && token === this.#token) this.#options.onVerdict(verdict);
      },
    );
  }
}
