import {
  resolveLimits,
  type JoinRequest,
  type Limits,
  type Room,
  systemWorld,
} from "@roomhub/protocol";
import { Throttle } from "../credentials/throttle.ts";
import { PasswordGate } from "../credentials/password-gate.ts";
import { createPasswordKeeper } from "../credentials/passwords.ts";
import { AuthHeaderVault } from "../credentials/vault.ts";
import { LivenessTracker } from "../domain/liveness.ts";
import type { DirectPath, Participant, PathVerdict } from "../domain/participant.ts";
import { Machines } from "../domain/slots.ts";
import { Registry } from "../domain/registry.ts";
import { Trials } from "../domain/trials.ts";
import { ParticipantRows } from "../domain/participant-rows.ts";
import { TunnelOpenings, TunnelResumes } from "../domain/tunnel-openings.ts";
import type { Emitter } from "../events/emit.ts";
import { noAliases } from "../domain/aliases/alias-table.ts";
import { noKeys } from "../domain/keys/key-table.ts";
import { newPlacing } from "../domain/room.ts";
import { BudgetUpdates, LoadedUpdates } from "../domain/batched-updates.ts";
import { OneByOne } from "../one-by-one.ts";
import type { OperationContext, Peer } from "./context.ts";
import { joinParticipant, type JoinOutcome } from "./join-participant.ts";
import { directReported } from "./direct-path.ts";
import { tunnelClosed, tunnelOpened, settleFlapping } from "./tunnel-path.ts";
import { markOverdue } from "./presence.ts";
import { createRoom } from "./rooms.ts";

/** How a participant's endpoint behaves when it is probed. */
type EndpointMood = "responds" | "fails" | "hangs";

/** What a test sets before it acts. */
interface Behaviour {
  endpoint: EndpointMood;
  direct: DirectPath;
  verdict: PathVerdict;
  /** rooms are saved when it resolves */
  disk: Promise<void>;
}

interface SeenEvent {
  name: string;
  /** the participant's id or the room's code */
  who: string;
  /** what the event itself showed */
  shown: unknown;
}

const createdAtMs = 1_700_000_000_000;

function ada(fields: Partial<JoinRequest> = {}): JoinRequest {
  return {
    id: "ada",
    nickname: "Ada",
    model: "llama3",
    endpoint: "http://10.0.0.7:11434",
    ...fields,
  };
}

/** A peer on the network; without a token. */
export function peerAt(address: string | undefined, fields: Partial<Peer> = {}): Peer {
  return {
    address,
    throttleKey: address ?? "forwarded",
    nearAddress: address,
    hasOrigin: false,
    token: undefined,
    hostToken: undefined,
    keys: [],
    isOperator: false,
    holder: undefined,
    hasLeft: () => false,
    ...fields,
  };
}

export const home = "192.168.1.5";
export const elsewhere = "192.168.1.6";

/** What operations need, with a clock that moves on demand and paths that only note their calls. */
export function createOffice(
  options: Partial<Pick<OperationContext, "ownership" | "roomCreators" | "newRoomsAreClosed">> & {
    limits?: Partial<Limits>;
  } = {},
) {
  let nowMs = 1_000_000;
  let uuids = 0;
  const events: SeenEvent[] = [];
  const closedTunnels: [string, string][] = [];
  const probes: string[] = [];
  const changedSettings: string[] = [];
  const watched: string[] = [];
  const renewals: [string, { credentials: boolean; model: boolean }][] = [];
  const woken: string[] = [];
  const dropped: string[] = [];
  let saves = 0;
  let accessChanges = 0;
  const behaviour: Behaviour = {
    disk: Promise.resolve(),
    endpoint: "responds",
    verdict: { readiness: "ready", problem: "", sinceMs: 0 },
    direct: { kind: "untried" },
  };
  const note = (name: string, who: string, shown: unknown) =>
    void events.push({ name, who, shown: structuredClone(shown) });
  const unexpected = () => {
    throw new Error("operations emit no events of requests");
  };
  const emit: Emitter = {
    roomCreated: (room: Room) => note("room.created", room.code, room),
    participantJoined: (_code, one) => note("participant.joined", one.id, one),
    participantUpdated: (_code, one) => note("participant.updated", one.id, one),
    participantLeft: (_code, who) => note("participant.left", who.participantId, who),
    participantOffline: (_code, who) => note("participant.offline", who.participantId, who),
    llmRequest: unexpected,
    llmComplete: unexpected,
    llmError: unexpected,
    requestQueued: unexpected,
    requestFirst: unexpected,
    requestProgress: unexpected,
  };
  const limits = resolveLimits(options.limits);
  const context: OperationContext = {
    registry: new Registry(),
    machines: new Machines(),
    keyedHash: (purpose, value) => `${purpose} ${value}`,
    liveness: new LivenessTracker(limits.offlineAfterMs, limits.sweepIntervalMs),
    limits,
    ownership: options.ownership ?? "compat",
    roomCreators: options.roomCreators ?? "anyone",
    newRoomsAreClosed: options.newRoomsAreClosed ?? false,
    emit,
    vault: new AuthHeaderVault(),
    passwordKeeper: createPasswordKeeper(systemWorld),
    roomPasswords: new Map(),
    passwordGate: new PasswordGate(
      {
        burst: limits.passwordAttemptsBurst,
        intervalMs: limits.passwordAttemptIntervalMs,
        perRoomAndMinute: limits.passwordAttemptsPerRoom,
      },
      () => nowMs,
    ),
    roomCreations: new Throttle({
      burst: limits.roomCreationBurst,
      intervalMs: 60_000 / limits.roomCreationPerMinute,
    }),
    keyFailures: new Throttle({
      burst: limits.keyFailuresBurst,
      intervalMs: limits.keyFailureIntervalMs,
    }),
    tunnelOpenings: new TunnelOpenings(limits.tunnelOpenings, limits.tunnelOpeningsMs),
    tunnelResumes: new TunnelResumes(),
    budgetUpdates: new BudgetUpdates(),
    loadedUpdates: new LoadedUpdates(),
    trials: new Trials(),
    participantRows: new ParticipantRows(),
    paths: {
      closeTunnel(participant, why) {
        if (participant.paths.tunnel.kind === "closed") return;
        closedTunnels.push([participant.id, why]);
        tunnelClosed(context, participant);
      },
      directPathOf: (participant) =>
        participant.isTunnelOnly
          ? { kind: "refused", reason: "its tunnel is closed" }
          : behaviour.direct,
      settingsChanged: (participant) => void changedSettings.push(participant.id),
      async probe(participant) {
        probes.push(participant.id);
        if (behaviour.endpoint === "responds")
          directReported(context, participant, {
            kind: "responded",
            verdict: behaviour.verdict,
            isLife: false,
          });
        if (behaviour.endpoint === "fails")
          directReported(context, participant, { kind: "failed", reason: "ECONNREFUSED" });
      },
      watch: (participant) => void watched.push(participant.id),
      renewed: (participant, what) => void renewals.push([participant.id, what]),
    },
    nowMs: () => nowMs,
    wallMs: () => createdAtMs + nowMs,
    world: {
      ...systemWorld,
      randomUUID: () => `00000000-0000-4000-8000-${String(++uuids).padStart(12, "0")}`,
    },
    changes: new OneByOne(),
    rooms: {
      async keep() {
        saves++;
        await behaviour.disk;
        return true;
      },
      async drop() {
        saves++;
        await behaviour.disk;
      },
      isOurs: () => true,
    },
    registrations: undefined,
    routingChanged: (code) => void woken.push(code),
    roomDropped: (code) => void dropped.push(code),
    accessChanged: () => void accessChanges++,
  };
  async function addRoom(password?: string): Promise<string> {
    const peer = peerAt(`room ${context.registry.roomCount}`);
    return (await createRoom(context, { name: "lab", password }, peer)).room.code;
  }

  const room = "LAB234";
  context.registry.addRoom({
    ...{ id: context.world.randomUUID(), code: room, name: "lab" },
    hostId: context.world.randomUUID(),
    ...{ createdAt: context.wallMs(), lastUsedAt: context.wallMs(), isPasswordProtected: false },
    hostTokenDigest: undefined,
    aliases: noAliases,
    isClosed: false,
    keys: noKeys,
    bans: [],
    blocked: new Set<string>(),
    isDeleted: false,
    participants: new Map(),
    placing: newPlacing(),
  });
  return {
    context,
    room,
    events,
    behaviour,
    closedTunnels,
    probes,
    changedSettings,
    watched,
    renewals,
    woken,
    dropped,
    saveCount: () => saves,
    accessChangeCount: () => accessChanges,
    addRoom,
    join: (fields: Partial<JoinRequest> = {}, peer = peerAt(home), code = room) =>
      joinParticipant(context, code, ada(fields), peer, false),
    /** With `If-None-Match: *`. */
    joinAsNew: (fields: Partial<JoinRequest> = {}, peer = peerAt(home)) =>
      joinParticipant(context, room, ada(fields), peer, true),
    /** Its agent dials in. */
    openTunnel: (participant: Participant): void => tunnelOpened(context, participant),
    /** Lets time pass, and sweeps. */
    pass: (ms: number): void => {
      nowMs += ms;
      markOverdue(context);
      settleFlapping(context);
    },
    /** The names since the last look. */
    seen: (): string[] => events.splice(0).map(({ name, who }) => `${name} ${who}`),
    headersOf: ({ key, endpointOrigin }: Participant) =>
      context.vault.headersFor(key, endpointOrigin),
  };
}

export function tokenOf(outcome: JoinOutcome): string {
  if (outcome.token === undefined) throw new Error("no token was minted");
  return outcome.token;
}
