import type { Participant, ParticipantOptions } from "@roomhub/participant";
import { dirname, join } from "node:path";
import { allowHeapGrowth } from "./heap-growth.ts";
import type { ServeMetrics } from "./metrics/metrics-server.ts";
import type { SendMetrics } from "./metrics/otlp-sender.ts";
import type { CreateHandout } from "./handout/create-handout.ts";
import type { ServeMonitor } from "./monitor/page-server.ts";
import type { MachineSecretOf } from "./sharing/machine-secret.ts";
import type { ParticipantTokens } from "./sharing/participant-tokens.ts";
import type {
  ClusterDirectory,
  createHub as CreateHubFunction,
  FileRoomStore,
  HubOptions,
  ImportedRoom,
  NatsDirectoryOptions,
  StoredRoom,
} from "@roomhub/hub";

export type { HubOptions, LogFormat, OwnershipMode } from "@roomhub/hub";
export type {
  ParticipantNotice,
  ParticipantOptions,
  RunningRequest,
  StopReason,
} from "@roomhub/participant";

/** The part of a hub that commands use. */
export type RunningHub = Pick<
  ReturnType<typeof CreateHubFunction>,
  "listen" | "watch" | "prepareHandout" | "close"
>;

export type CreateHub = (options: HubOptions) => Promise<RunningHub>;

/** A store that keeps rooms across restarts, and its path. */
export interface OpenedRoomStore {
  store: FileRoomStore;
  path: string;
}

/**
 * @param path - undefined for the port's default state file
 * @param onWarning - called with a sentence when rooms cannot be kept
 */
export type OpenRoomStore = (
  path: string | undefined,
  port: number,
  onWarning: (message: string) => void,
) => Promise<OpenedRoomStore>;

/** The default state file of the hub on a port. */
export type UsualStatePath = (port: number) => Promise<string>;

/** What the hubs of a cluster share. Connects when the hub that gets it opens it. */
export type OpenDirectory = (options: NatsDirectoryOptions) => Promise<ClusterDirectory>;

/** @throws Error with what is wrong: no such file, in use by a hub, none of its state files */
export type ReadStateFile = (path: string) => Promise<StoredRoom[]>;

/** Puts rooms into an open directory; yields what became of each. */
export type ImportRooms = (
  directory: ClusterDirectory,
  rooms: readonly StoredRoom[],
) => AsyncIterable<ImportedRoom>;

/** The part of an agent that commands use. */
export type RunningParticipant = Pick<
  Participant,
  "start" | "stopped" | "running" | "pause" | "resume" | "close"
>;

/** @throws ParticipantError when the endpoint or a header cannot be used */
export type CreateParticipant = (options: ParticipantOptions) => Promise<RunningParticipant>;

// Loaded on demand: most commands only connect to a hub that runs elsewhere.

export const createHub: CreateHub = async (options) => {
  const hub = await import("@roomhub/hub");
  allowHeapGrowth();
  return hub.createHub(options);
};

export const openRoomStore: OpenRoomStore = async (path, port, onWarning) => {
  const { fileRoomStore } = await import("@roomhub/hub");
  const statePath = path ?? (await usualStatePath(port));
  return { store: fileRoomStore(statePath, { onWarning }), path: statePath };
};

export const openDirectory: OpenDirectory = async (options) => {
  const { NatsDirectory } = await import("@roomhub/hub");
  return new NatsDirectory(options);
};

export const readStateFile: ReadStateFile = async (path) => {
  const hub = await import("@roomhub/hub");
  return hub.readStateFile(path);
};

export const importRooms: ImportRooms = async function* (directory, rooms) {
  const hub = await import("@roomhub/hub");
  yield* hub.importRooms(directory, rooms);
};

export const createHandout: CreateHandout = async () => {
  const handout = await import("./handout/create-handout.ts");
  return handout.createHandout();
};

export const usualStatePath: UsualStatePath = async (port) => {
  const { defaultStatePath } = await import("@roomhub/hub");
  return defaultStatePath(port, process.env);
};

/** Stored beside the state files of this user's hubs. */
export const participantTokens = (): Promise<ParticipantTokens> => tokensBeside("participants");

/** Stored beside the state files of this user's hubs. */
export const clientKeys = (): Promise<ParticipantTokens> => tokensBeside("client-keys");

/** Stored beside the state files of this user's hubs. */
export const hostTokens = (): Promise<ParticipantTokens> => tokensBeside("hosts");

async function tokensBeside(folder: string): Promise<ParticipantTokens> {
  const { tokensIn } = await import("./sharing/participant-tokens.ts");
  return tokensIn(join(dirname(await usualStatePath(0)), folder));
}

/** Stored beside the state files of this user's hubs. */
export const machineSecretOf: MachineSecretOf = async (baseUrl) => {
  const { machineSecretsFrom } = await import("./sharing/machine-secret.ts");
  return machineSecretsFrom(join(dirname(await usualStatePath(0)), "machine-secret"))(baseUrl);
};

export const createParticipant: CreateParticipant = async (options) => {
  const participant = await import("@roomhub/participant");
  allowHeapGrowth();
  return participant.createParticipant(options);
};

export const serveMetrics: ServeMetrics = async (options) => {
  const metricsServer = await import("./metrics/metrics-server.ts");
  return metricsServer.serveMetrics(options);
};

export const sendMetrics: SendMetrics = async (options) => {
  const otlpSender = await import("./metrics/otlp-sender.ts");
  return otlpSender.sendMetrics(options);
};

export const serveMonitor: ServeMonitor = async (options) => {
  const pageServer = await import("./monitor/page-server.ts");
  return pageServer.serveMonitor(options);
};
