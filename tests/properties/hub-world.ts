import { type ParticipantSummary, type JoinResponse } from "@roomhub/protocol";
import { expect } from "vitest";
import type { EventRecorder } from "../support/hub/event-recorder.ts";
import { type HandAgent, type HeldRequest, openHandAgent } from "../support/hub/hand-agent.ts";
import { createManualTime, type ManualTime, QUICK_SWEEP } from "../support/hub/manual-time.ts";
import { startTestHub, type TestHub } from "../support/hub/start-test-hub.ts";
import { ask, type Asked } from "./requested.ts";
import { excludedFrom } from "./attempts-model.ts";
import { answerByHand } from "./respond-by-hand.ts";
import type { Action, Claim, How } from "./hub-actions.ts";
import { joinStatus, updateStatus } from "./ownership-model.ts";
import {
  heard,
  offlineAfterMs,
  type Person,
  predict,
  type Prediction,
  renew,
  type RoomModel,
  tunnelIs,
} from "./room-model.ts";

const long = 1_000_000_000;
/** Of an earlier registration, or made up: never of this one. */
const wrongToken = `rhp_${"A".repeat(43)}`;
/** Must not occur in anything the hub sends or logs. */
export const secret = "SECRET-7f3a";

export interface Answered {
  tag: string;
  how: How;
}

/** A real hub, and beside it what it should be. */
export class World implements AsyncDisposable {
  readonly hub: TestHub;
  readonly time: ManualTime;
  readonly rooms: RoomModel[] = [];
  readonly recorders: { colon: EventRecorder; dot: EventRecorder }[] = [];
  /** by room and id, the tunnel that is current */
  readonly agents = new Map<string, HandAgent>();
  readonly asked: Asked[] = [];
  /** all responses of the hub to management requests */
  readonly said: string[] = [];
  nowMs = 0;

  private constructor(hub: TestHub, time: ManualTime) {
    this.hub = hub;
    this.time = time;
  }

  static async start(): Promise<World> {
    const time = createManualTime(1_000);
    const hub = await startTestHub({
      direct: false,
      world: time.world,
      limits: {
        ...QUICK_SWEEP,
        drainMs: 1,
        passwordAttemptsBurst: 1_000,
        // The model decides about silence, and requests end only by an action.
        tunnelPingMs: long,
        // The model opens tunnels as often as it likes.
        tunnelOpeningsMs: 0,
        earlyCommitMs: 0,
        informationalMs: 0,
        queueWaitMs: long,
        firstByteMs: long,
        streamIdleMs: long,
        requestMs: long,
        clientStallMs: long,
      },
    });
    const world = new World(hub, time);
    for (const [index, password] of [undefined, secret].entries()) {
      const { room } = await hub.client.createRoom({ name: `lab-of-room-${index}`, password });
      world.rooms.push({ index, code: room.code, password, people: new Map() });
      const colon = await hub.watch(room.code, "colon");
      world.recorders.push({ colon, dot: await hub.watch(room.code, "dot") });
    }
    return world;
  }

  agentOf(room: RoomModel, id: string): HandAgent | undefined {
    return this.agents.get(`${room.index} ${id}`);
  }

  heldBy(room: RoomModel, id: string): HeldRequest[] {
    return [...(this.agentOf(room, id)?.held.values() ?? [])];
  }

  room(index: number): RoomModel {
    return this.rooms[index] ?? expect.unreachable(`no room ${index}`);
  }

  /** @param nowMs - -1 is before any trial is due: no request that waits is woken for one */
  predictFor(one: Asked, nowMs = this.nowMs): Prediction {
    const { selector } = one;
    return predict(this.room(one.room), { selector, nowMs, excluded: excludedFrom(one) });
  }

  /** @returns the response that was sent by hand, if any */
  async perform(action: Action): Promise<Answered | undefined> {
    if (action.kind === "answer") return this.#answer(action);
    await this.#change(action);
    return undefined;
  }

  async #change(action: Exclude<Action, { kind: "answer" }>): Promise<void> {
    switch (action.kind) {
      case "join":
        return this.#join(action);
      case "rename":
        return this.#rename(action);
      case "leave":
        return this.#leave(action);
      case "heartbeat":
        return this.#heartbeat(action);
      case "open tunnel":
        return this.#openTunnel(action);
      case "close tunnel":
        await this.agentOf(this.room(action.room), action.id)?.close();
        return this.#tunnelClosed(this.room(action.room), action.id);
      case "ping":
        return this.#ping(action);
      case "status":
        return this.#status(action);
      case "advance":
        return this.#advance(action.fiveSeconds * 5_000);
      case "ask":
        return this.#ask(action);
      case "abort":
        return this.#abort(action.nth);
    }
  }

  async #request(path: string, method: string, claim: Claim, token: string, json?: object) {
    const headers: Record<string, string> = {
      ...(claim === "stranger" ? { "x-forwarded-for": "10.9.8.7" } : {}),
      ...(claim === "owner" ? { "x-participant-token": token } : {}),
      ...(claim === "thief" ? { "x-participant-token": wrongToken } : {}),
    };
    const answer = await this.hub.fetch(path, { method, headers, body: JSON.stringify(json) });
    const text = await answer.text();
    // The one place where a token may be.
    this.said.push(text.replace(/"participantToken":"rhp_[^"]+"/, ""));
    return { status: answer.status, json: JSON.parse(text) as JoinResponse };
  }

  async #join(action: Extract<Action, { kind: "join" }>): Promise<void> {
    const room = this.room(action.room);
    const { id, claim, model, limit } = action;
    const known = room.people.get(id);
    const isRight = action.hasPassword || room.password === undefined;
    const nickname = `${id}-of-room-${room.index}`;
    const registration = {
      id,
      nickname,
      model,
      endpoint: "http://127.0.0.1:9/v1",
      transport: "tunnel",
      authHeaders: { authorization: `Bearer ${secret}` },
      config: { maxConcurrency: limit, instructions: secret },
      ...(isRight && room.password !== undefined ? { password: room.password } : {}),
    };
    const isResume = known !== undefined && claim === "owner";
    const status = joinStatus(known, claim, isRight);
    const [path, method] = action.isV1
      ? [`/v1/rooms/${room.code}/participants/${id}`, "PUT"]
      : [`/rooms/${room.code.toLowerCase()}/join`, "POST"];
    // A PUT of an existing participant needs proof and no password, and issues no token.
    const isUpdate = action.isV1 && known !== undefined;
    const answer = await this.#request(path, method, claim, known?.token ?? "", registration);
    expect([answer.status, action]).toEqual([
      isUpdate ? updateStatus(known, claim) : status,
      action,
    ]);
    if (answer.status >= 400) return;
    if (isUpdate && known !== undefined) {
      Object.assign(known, { nickname, model, limit, isNear: true });
      renew(known, this.nowMs);
      return;
    }
    const token = answer.json.participantToken;
    expect(token === undefined).toBe(isResume);
    if (!isResume) await this.#tunnelReplaced(room, id);
    if (known !== undefined && answer.status === 200) {
      Object.assign(known, { nickname, model, limit, token: token ?? known.token, isNear: true });
      renew(known, this.nowMs);
      heard(known, this.nowMs);
      return;
    }
    room.people.delete(id);
    room.people.set(id, {
      id,
      nickname,
      model,
      limit,
      token: token ?? "",
      isNear: claim !== "stranger",
      isOnline: true,
      lastSeenMs: this.nowMs,
      tunnel: "closed",
      credentials: { haveWorked: false },
      trial: undefined,
      overloadedUntilMs: undefined,
      active: 0,
    });
  }

  async #rename(action: Extract<Action, { kind: "rename" }>): Promise<void> {
    const room = this.room(action.room);
    const person = room.people.get(action.id);
    const nickname = `${action.nickname}-of-room-${room.index}`;
    const { status } = await this.#request(
      `/v1/rooms/${room.code}/participants/${action.id}`,
      "PUT",
      action.claim,
      person?.token ?? "",
      { nickname },
    );
    expect(status).toBe(person === undefined ? 400 : updateStatus(person, action.claim));
    if (status === 200 && person !== undefined) person.nickname = nickname;
  }

  async #leave({
    room: index,
    id,
    claim,
    isV1,
  }: Extract<Action, { kind: "leave" }>): Promise<void> {
    const room = this.room(index);
    const person = room.people.get(id);
    const path = isV1
      ? `/v1/rooms/${room.code}/participants/${id}`
      : `/rooms/${room.code}/leave/${id}`;
    const { status } = await this.#request(path, "DELETE", claim, person?.token ?? "");
    expect(status).toBe(person === undefined ? 404 : updateStatus(person, claim));
    if (status !== 200) return;
    await this.#tunnelReplaced(room, id);
    room.people.delete(id);
  }

  async #heartbeat(action: Extract<Action, { kind: "heartbeat" }>): Promise<void> {
    const { id, claim } = action;
    const room = this.room(action.room);
    const person = room.people.get(id);
    const token = person?.token ?? "";
    const { status } = action.isV1
      ? await this.#request(
          `/v1/rooms/${room.code}/participants/${id}/heartbeat`,
          "POST",
          claim,
          token,
        )
      : await this.#request(`/rooms/${room.code}/health`, "POST", claim, token, { id });
    expect(status).toBe(person === undefined ? 404 : claim === "thief" ? 403 : 200);
    if (status === 200 && person !== undefined) heard(person, this.nowMs);
  }

  async #openTunnel(action: Extract<Action, { kind: "open tunnel" }>): Promise<void> {
    const room = this.room(action.room);
    const person = room.people.get(action.id);
    const url = `${this.hub.url.replace("http", "ws")}/v1/rooms/${room.code}/participants/${action.id}/tunnel`;
    if (person === undefined || action.claim === "thief") {
      await expect(openHandAgent(url, wrongToken)).rejects.toThrow(/40[34]/);
      return;
    }
    const agent = await openHandAgent(url, person.token);
    await this.#tunnelReplaced(room, action.id);
    this.agents.set(`${room.index} ${action.id}`, agent);
    tunnelIs(person, "ready", this.nowMs);
    heard(person, this.nowMs);
  }

  /** The hub closes it, and its agent receives the close. */
  async #tunnelReplaced(room: RoomModel, id: string): Promise<void> {
    await this.agentOf(room, id)?.ended;
    this.#tunnelClosed(room, id);
  }

  #tunnelClosed(room: RoomModel, id: string): void {
    this.agents.delete(`${room.index} ${id}`);
    const person = room.people.get(id);
    if (person !== undefined) tunnelIs(person, "closed", this.nowMs);
  }

  async #ping({ room: index, id }: Extract<Action, { kind: "ping" }>): Promise<void> {
    await this.#tellLife(this.room(index), id);
  }

  async #status({ room: index, id, word }: Extract<Action, { kind: "status" }>): Promise<void> {
    const room = this.room(index);
    const person = room.people.get(id);
    const agent = this.agentOf(room, id);
    if (agent === undefined || person === undefined) return;
    agent.session.sendStatus({ ready: word === "ready", readiness: word });
    tunnelIs(person, word, this.nowMs);
    await this.#tellLife(room, id);
  }

  /** Whatever the agent has sent is with the hub after this. */
  async #tellLife(room: RoomModel, id: string): Promise<void> {
    const person = room.people.get(id);
    const agent = this.agentOf(room, id);
    if (agent === undefined || person === undefined) return;
    await agent.ping();
    heard(person, this.nowMs);
  }

  async #advance(ms: number): Promise<void> {
    await this.time.advance(ms);
    this.nowMs += ms;
    for (const { people } of this.rooms) {
      for (const person of people.values()) {
        if (this.nowMs - person.lastSeenMs > offlineAfterMs) person.isOnline = false;
        const { overloadedUntilMs: untilMs } = person;
        if (untilMs !== undefined && untilMs <= this.nowMs) person.overloadedUntilMs = undefined;
      }
    }
  }

  async #ask(action: Extract<Action, { kind: "ask" }>): Promise<void> {
    const tag = `q${this.asked.length}`;
    const code = this.room(action.room).code;
    this.asked.push(ask(this.hub, code, { ...action, tag }));
    await Promise.resolve();
  }

  /** Everything that is held anywhere, with who holds it. */
  holdings(): { room: RoomModel; person: Person; request: HeldRequest }[] {
    return this.rooms.flatMap((room) =>
      [...room.people.values()].flatMap((person) =>
        this.heldBy(room, person.id).map((request) => ({ room, person, request })),
      ),
    );
  }

  async #answer({ nth, how }: Extract<Action, { kind: "answer" }>): Promise<Answered | undefined> {
    const all = this.holdings();
    const chosen = all[nth % Math.max(1, all.length)];
    if (chosen === undefined) return undefined;
    const { room, person, request } = chosen;
    const { tag } = request;
    const agent = this.agentOf(room, person.id) ?? expect.unreachable("held by nobody");
    agent.held.delete(request.tag);
    if (how === "garbage on the tunnel") {
      agent.socket.send(Buffer.from([99, 0, 0, 0, 0, 0, 0, 0, 0]));
      heard(person, this.nowMs);
      await this.#tunnelReplaced(room, person.id);
      expect(agent.closeCode).toBe(4002);
      return { tag, how };
    }
    answerByHand(request, how);
    await this.#tellLife(room, person.id);
    return { tag, how };
  }

  async #abort(nth: number): Promise<void> {
    const pending = this.asked.filter(({ end }) => end === undefined);
    const chosen = pending[nth % Math.max(1, pending.length)];
    if (chosen === undefined) return;
    chosen.abort();
    // The agent's confirmation is a sign of life; it must not come after the clock was moved.
    const holder = this.holdings().find(({ request }) => request.tag === chosen.tag);
    if (holder === undefined) return;
    const { room, person, request } = holder;
    await this.untilCancelled(room, person.id, request.tag);
    await this.#tellLife(room, person.id);
  }

  async untilCancelled(room: RoomModel, id: string, tag: string): Promise<void> {
    await expect.poll(() => this.agentOf(room, id)?.held.has(tag), { interval: 2 }).not.toBe(true);
  }

  /** The same listing by both families; while something changes they may differ. */
  async listings(room: RoomModel): Promise<{ all: ParticipantSummary[]; areSame: boolean }> {
    const [plain = "", v1] = await Promise.all(
      ["", "/v1"].map(async (family) => {
        const answer = await this.hub.fetch(`${family}/rooms/${room.code}/participants`);
        return answer.text();
      }),
    );
    this.said.push(plain);
    const { participants } = JSON.parse(plain) as { participants: ParticipantSummary[] };
    return { all: participants, areSame: plain === v1 };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const one of this.asked) one.abort();
    await this.hub[Symbol.asyncDispose]();
    for (const agent of this.agents.values()) agent.socket.terminate();
  }
}
