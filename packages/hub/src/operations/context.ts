import type { Limits, World } from "@roomhub/protocol";
import type { Throttle } from "../credentials/throttle.ts";
import type { PasswordGate } from "../credentials/password-gate.ts";
import type { PasswordKeeper, RoomPassword } from "../credentials/passwords.ts";
import type { Credentials } from "../credentials/tokens.ts";
import type { AuthHeaderVault } from "../credentials/vault.ts";
import type { Access, Holder, Need } from "../domain/keys/access.ts";
import type { LivenessTracker } from "../domain/liveness.ts";
import type { DirectPath, Participant, Registration } from "../domain/participant.ts";
import type { Machines } from "../domain/slots.ts";
import type { Registry } from "../domain/registry.ts";
import type { Room } from "../domain/room.ts";
import type { Trials } from "../domain/trials.ts";
import type { ParticipantRows } from "../domain/participant-rows.ts";
import type { TunnelOpenings, TunnelResumes } from "../domain/tunnel-openings.ts";
import type { Emitter } from "../events/emit.ts";
import type { OneByOne } from "../one-by-one.ts";
import type { BudgetUpdates, LoadedUpdates } from "../domain/batched-updates.ts";

export type { Access, Credentials, Need };

/** Which peers may change an existing participant. Contract §3. */
export type OwnershipMode = "compat" | "strict" | "open";

/** Who may create rooms: anyone, or the operator of the hub alone. */
export type RoomCreators = "anyone" | "host";

/** The network peer of a management request, as far as the hub knows it. */
export interface Peer extends Credentials {
  /** normalised; undefined when an untrusted proxy hides it, or address rights are off */
  address: string | undefined;
  /** whose failures count together: an IPv4 address, the /64 of an IPv6 address */
  throttleKey: string;
  /** the same when it is loopback or private, without a proxy */
  nearAddress: string | undefined;
  hasOrigin: boolean;
  /** It has the secret of the hub's operator. */
  isOperator: boolean;
  /** what the gate of a closed room found it to be; undefined in an open one */
  holder: Holder | undefined;
  /** whether its connection is closed, so that it takes no response */
  hasLeft: () => boolean;
}

/** What operations need of the paths to participants. */
interface ParticipantPaths {
  /**
   * Closes a participant's tunnel, if it has one. `replaced`: a new registration took the id (4001). `elsewhere`: the
   * room has another home, which its agent dials next; running requests may finish.
   */
  closeTunnel(participant: Participant, why: "replaced" | "left" | "elsewhere"): void;
  /** Whether the hub may call its endpoint itself, judged by what can be judged before dialling. */
  directPathOf(
    registration: Pick<Registration, "baseUrl" | "isTunnelOnly" | "registrant">,
  ): DirectPath;
  /** `config` or the declared capabilities have changed: what its endpoint serves may follow from them. */
  settingsChanged(participant: Participant): void;
  /** Requests the models of the endpoint once and records the result. Never rejects. */
  probe(participant: Participant): Promise<void>;
  /** From now on its endpoint is probed for signs of life, as long as its `liveness` says so. */
  watch(participant: Participant): void;
  /** Forgets what was learned of its model server with other credentials or for another model name. */
  renewed(participant: Participant, what: { credentials: boolean; model: boolean }): void;
}

/** Keeps what participants registered where the next home of their room finds it. */
interface RegistrationKeeper {
  /**
   * Called before a change that the room's next home would not know.
   *
   * @throws HubError `home_elsewhere`: the room moves to another hub, or has moved
   */
  requireHere(roomCode: string): void;
  /**
   * The participant joined, changed or left: stores what the registry has under its id. Of changes in quick succession
   * the last is stored.
   *
   * Resolves once it is stored, or when the directory cannot be reached; then it is stored later. A rejection may be
   * ignored.
   *
   * @throws HubError when the room has another home now, or the registration is too large
   */
  changed(participant: Pick<Participant, "roomCode" | "id">): Promise<void>;
}

/** Where rooms are kept: in the hub's store, or in the directory of its cluster. */
export interface RoomHome {
  /**
   * The room is new or has changed: resolves once it is stored, or a warning says that it cannot be.
   *
   * @returns false when its code belongs to another room of the cluster, or another hub changed the room at the same
   * time
   * @throws HubError `cluster_unavailable`
   */
  keep(room: Room): Promise<boolean>;
  /** The room was dropped: resolves once that is stored, or a warning says that it cannot be. */
  drop(room: Room): Promise<void>;
  /** Whether this hub, of several, drops the room when it is unused. */
  isOurs(code: string): boolean;
}

/** What the use cases of one hub share. Made in `hub.ts`. */
export interface OperationContext {
  registry: Registry;
  machines: Machines;
  keyedHash: (purpose: string, value: string) => string;
  liveness: LivenessTracker;
  limits: Limits;
  ownership: OwnershipMode;
  roomCreators: RoomCreators;
  /** every new room is closed */
  newRoomsAreClosed: boolean;
  emit: Emitter;
  vault: AuthHeaderVault;
  passwordKeeper: PasswordKeeper;
  /** by room code */
  roomPasswords: Map<string, RoomPassword>;
  passwordGate: PasswordGate;
  roomCreations: Throttle;
  /** requests without a valid key, by address */
  keyFailures: Throttle;
  tunnelOpenings: TunnelOpenings;
  tunnelResumes: TunnelResumes;
  budgetUpdates: BudgetUpdates;
  loadedUpdates: LoadedUpdates;
  trials: Trials;
  participantRows: ParticipantRows;
  paths: ParticipantPaths;
  /** undefined for a hub that is alone */
  registrations: RegistrationKeeper | undefined;
  /** ms, monotonic */
  nowMs: () => number;
  /** epoch ms */
  wallMs: () => number;
  world: World;
  rooms: RoomHome;
  /** by room code: each change is stored before the next begins */
  changes: OneByOne;
  /** Which participants can serve in this room has changed: waiting requests are routed again. */
  routingChanged: (roomCode: string) => void;
  roomDropped: (roomCode: string) => void;
  /** The access of running requests may have ended: those end now. */
  accessChanged: () => void;
}
