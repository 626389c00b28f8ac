import type { Limits } from "@roomhub/protocol";

/** Where rooms outlive the hub; opaque here. */
export type RoomStore = object;

export type Ownership = "compat" | "strict" | "open";
export type LogFormat = "text" | "json" | "silent";

export interface HubOptions {
  host?: string | undefined;
  port?: number | undefined;
  store?: RoomStore | undefined;
  direct?: boolean | undefined;
  ownership?: Ownership | undefined;
  publicUrl?: string | undefined;
  trustProxy?: readonly string[] | undefined;
  limits?: Partial<Limits> | undefined;
  logFormat?: LogFormat | undefined;
}

export interface RunningHub {
  listen(): Promise<{ url: string; port: number; host: string }>;
  close(): Promise<{ cut: number }>;
}

export type CreateHub = (options: HubOptions) => Promise<RunningHub>;
/** @param path - undefined for the usual place of the port's state file */
export type OpenRoomStore = (
  path: string | undefined,
  port: number,
) => Promise<{ store: RoomStore; path: string }>;

export interface ParticipantOptions {
  hubUrl: string;
  room: string;
  id: string;
  nickname: string;
  model: string;
  endpoint: string;
  password?: string | undefined;
  specs?: Record<string, unknown> | undefined;
  config?: Record<string, unknown> | undefined;
  headers?: Record<string, string> | undefined;
  authHeaders?: Record<string, string> | undefined;
  onNotice?: ((notice: ParticipantNotice) => void) | undefined;
}

/** What an agent tells about itself. */
export type ParticipantNotice =
  | { kind: "joined"; warnings?: readonly { code: string; message: string }[] | undefined }
  | { kind: "connected" }
  | { kind: "disconnected"; reason: string; retryInMs: number }
  | { kind: "provider-down"; reason: string }
  | { kind: "provider-up" }
  | { kind: "request-started"; [field: string]: unknown }
  | { kind: "request-ended"; [field: string]: unknown }
  | { kind: "stopped"; reason: string };

export interface RunningParticipant {
  start(): Promise<void>;
  readonly stopped: Promise<{ reason: string; code?: string | undefined }>;
  close(): Promise<void>;
}

export type CreateParticipant = (options: ParticipantOptions) => Promise<RunningParticipant>;

interface HubModule {
  createHub(options: HubOptions): RunningHub;
  fileRoomStore(path: string): RoomStore;
  defaultStatePath(port: number): string;
}

interface ParticipantModule {
  createParticipant(options: ParticipantOptions): RunningParticipant;
}

// Loaded when they are needed: most commands only talk to a hub that runs elsewhere.

export const createHub: CreateHub = async (options) => {
  const hub = (await import("@roomhub/hub")) as unknown as HubModule;
  return hub.createHub(options);
};

export const openRoomStore: OpenRoomStore = async (path, port) => {
  const hub = (await import("@roomhub/hub")) as unknown as HubModule;
  const statePath = path ?? hub.defaultStatePath(port);
  return { store: hub.fileRoomStore(statePath), path: statePath };
};

export const createParticipant: CreateParticipant = async (options) => {
  const participant = (await import("@roomhub/participant")) as unknown as ParticipantModule;
  return participant.createParticipant(options);
};
