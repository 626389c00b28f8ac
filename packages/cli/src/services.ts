import type { Participant, ParticipantOptions } from "@roomhub/participant";
import { dirname, join } from "node:path";
import { allowHeapGrowth } from "./heap-growth.ts";
import type { ParticipantTokens } from "./sharing/participant-tokens.ts";
import type { createHub as CreateHubFunction, FileRoomStore, HubOptions } from "@roomhub/hub";

export type { HubOptions, LogFormat, OwnershipMode } from "@roomhub/hub";
export type { ParticipantNotice, ParticipantOptions, StopReason } from "@roomhub/participant";

/** A hub as far as the commands use it. */
export type RunningHub = Pick<ReturnType<typeof CreateHubFunction>, "listen" | "watch" | "close">;

export type CreateHub = (options: HubOptions) => Promise<RunningHub>;

/** Rooms that outlive the hub, and where they are kept. */
export interface OpenedRoomStore {
  store: FileRoomStore;
  path: string;
}

/**
 * @param path - undefined for the usual place of the port's state file
 * @param onWarning - told in a sentence when rooms cannot be kept
 */
export type OpenRoomStore = (
  path: string | undefined,
  port: number,
  onWarning: (message: string) => void,
) => Promise<OpenedRoomStore>;

/** Where the rooms of the hub on a port are kept when nobody says otherwise. */
export type UsualStatePath = (port: number) => Promise<string>;

/** An agent as far as the commands use it. */
export type RunningParticipant = Pick<
  Participant,
  "start" | "stopped" | "pause" | "resume" | "close"
>;

/** @throws ParticipantError when the endpoint or a header cannot be used */
export type CreateParticipant = (options: ParticipantOptions) => Promise<RunningParticipant>;

// Loaded when they are needed: most commands only talk to a hub that runs elsewhere.

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

export const usualStatePath: UsualStatePath = async (port) => {
  const { defaultStatePath } = await import("@roomhub/hub");
  return defaultStatePath(port, process.env);
};

/** Beside the rooms of this user's hubs. */
export const participantTokens = async (): Promise<ParticipantTokens> => {
  const { tokensIn } = await import("./sharing/participant-tokens.ts");
  return tokensIn(join(dirname(await usualStatePath(0)), "participants"));
};

export const createParticipant: CreateParticipant = async (options) => {
  const participant = await import("@roomhub/participant");
  allowHeapGrowth();
  return participant.createParticipant(options);
};
