import { spawn } from "node:child_process";
import { open, readFile as readTextFile, writeFile } from "node:fs/promises";
import { networkInterfaces } from "node:os";
import { dirname, join } from "node:path";
import { text } from "node:stream/consumers";
import { type Fetch, RoomhubClient } from "@roomhub/client";
import type {
  CertificatePair,
  ClusterDirectory,
  createHub as CreateHub,
  FileRoomStore,
  Handout,
  HubOptions,
  ImportedRoom,
  NatsDirectoryOptions,
  StoredRoom,
} from "@roomhub/hub";
import type { Participant, ParticipantOptions } from "@roomhub/participant";
import type { Door, DoorOptions } from "./door/door.ts";
import type { openDoorsIn as OpenDoorsIn } from "./door/open-doors.ts";
import { allowHeapGrowth } from "./heap-growth.ts";
import { findLanAddresses, type LanAddress } from "./hosting/network-addresses.ts";
import type { LocalServer } from "./local-server.ts";
import type { MetricsServerOptions } from "./watch/metrics/metrics-server.ts";
import type { MetricsSenderOptions } from "./watch/metrics/otlp-sender.ts";
import type { MonitorOptions } from "./watch/monitor/page-server.ts";
import type { ProgramHost } from "./programs/program-host.ts";
import type { ServiceHost } from "./service/service-unit.ts";
import type { SavedTokens } from "./sharing/saved-secrets.ts";

/**
 * What commands do to the world outside. Every export is a member of `CliContext`, so that a test can pass another. Modules
 * that few commands need are loaded with the first call.
 */
/** Time, timers and randomness. */
export { systemWorld as world } from "@roomhub/protocol";
export { readDefaultGateways as defaultGateways } from "./hosting/network-addresses.ts";
export { mdns } from "./hosting/mdns.ts";
export { openRecording, readLines } from "./watch/record/recording.ts";
export { notifyDesktop } from "./sharing/desktop-notifier.ts";

/** The part of a hub that commands use. */
export type RunningHub = Pick<
  ReturnType<typeof CreateHub>,
  "listen" | "watch" | "prepareHandout" | "replaceCertificate" | "close"
>;

/** The part of an agent that commands use. */
export type RunningParticipant = Pick<
  Participant,
  "start" | "stopped" | "running" | "pause" | "resume" | "close"
>;

/** A store that keeps rooms across restarts, and its path. */
export interface OpenedRoomStore {
  store: FileRoomStore;
  path: string;
}

export function readStdin(): Promise<string> {
  return text(process.stdin);
}

export function readFile(path: string): Promise<string> {
  return readTextFile(path, "utf8");
}

/** Writes a file that only this user can read. @throws NodeJS.ErrnoException with EEXIST when it exists */
export function createFile(path: string, content: string): Promise<void> {
  return writeFile(path, content, { flag: "wx", mode: 0o600 });
}

/**
 * Adds the variables of a file to the environment; one that is set there already stays.
 *
 * @throws UsageError when the file cannot be read, or others can
 */
export async function addVariablesFrom(path: string): Promise<void> {
  const { readSecrets } = await import("./service/secrets-file.ts");
  Object.assign(process.env, { ...(await readSecrets(path)), ...process.env });
}

export function lanAddresses(): LanAddress[] {
  return findLanAddresses(networkInterfaces());
}

/** The SDK's methods, so that a test can pass a plain object. */
export type Client = Pick<RoomhubClient, keyof RoomhubClient>;

/** @param send - requests pass it; default: the global `fetch` */
export function createClient(hubUrl: string, send?: Fetch): Client {
  return new RoomhubClient({ hubUrl, fetch: send });
}

export async function createHub(options: HubOptions): Promise<RunningHub> {
  const hub = await import("@roomhub/hub");
  allowHeapGrowth();
  return hub.createHub(options);
}

/** What a hub hands out besides its API; undefined where there is neither a published package nor a checkout. */
export async function createHandout(): Promise<Handout | undefined> {
  return (await import("./handout/create-handout.ts")).createHandout();
}

/**
 * @param path - undefined for the port's default state file
 * @param onWarning - called with a sentence when rooms cannot be kept
 */
export async function openRoomStore(
  path: string | undefined,
  port: number,
  onWarning: (message: string) => void,
): Promise<OpenedRoomStore> {
  const { fileRoomStore } = await import("@roomhub/hub");
  const statePath = path ?? (await usualStatePath(port));
  return { store: fileRoomStore(statePath, { onWarning }), path: statePath };
}

/** The default state file of the hub on a port. */
export async function usualStatePath(port: number): Promise<string> {
  const { defaultStatePath } = await import("@roomhub/hub");
  return defaultStatePath(port, process.env);
}

/** Beside the state files of this user's hubs. */
async function userFolder(): Promise<string> {
  return dirname(await usualStatePath(0));
}

/** A folder that the system empties when the session ends; undefined where there is none. */
function runtimeFolder(): string | undefined {
  const folder = process.env["XDG_RUNTIME_DIR"] ?? "";
  return folder === "" ? undefined : join(folder, "roomhub");
}

/** What the hubs of a cluster share. Connects when the hub that gets it opens it. */
export async function openDirectory(options: NatsDirectoryOptions): Promise<ClusterDirectory> {
  const { NatsDirectory } = await import("@roomhub/hub");
  return new NatsDirectory(options);
}

/** @throws Error with what is wrong: no such file, in use by a hub, not a state file */
export async function readStateFile(path: string): Promise<StoredRoom[]> {
  const hub = await import("@roomhub/hub");
  return hub.readStateFile(path);
}

/** Puts rooms into an open directory; yields the result for each. */
export async function* importRooms(
  directory: ClusterDirectory,
  rooms: readonly StoredRoom[],
): AsyncIterable<ImportedRoom> {
  const hub = await import("@roomhub/hub");
  yield* hub.importRooms(directory, rooms);
}

/**
 * Tokens beside the state files of this user's hubs: of participants that were added from this machine, host tokens of rooms
 * that were created from it, keys of closed rooms, client keys of participants that serve their owner first; models that were
 * chosen in a folder, which is their id then; keys of hubs that invites pinned; API keys of doors.
 */
export async function savedTokens(
  kind: "participants" | "hosts" | "keys" | "client-keys" | "chosen-models" | "pins" | "doors",
): Promise<SavedTokens> {
  const { tokensIn } = await import("./sharing/saved-secrets.ts");
  return tokensIn(join(await userFolder(), kind));
}

/** The secret that this user's participants at one base URL have in common. Contract §1, "Machines". */
export async function machineSecretOf(baseUrl: string): Promise<string> {
  const { machineSecret } = await import("./sharing/saved-secrets.ts");
  return machineSecret(join(await userFolder(), "machine-secret"), baseUrl);
}

/**
 * The secret by which this user's hubs know their operator. Contract §9.
 *
 * @param isEphemeral - the hub writes nothing to disk: the secret is in the runtime folder, which ends with the session
 * @returns undefined where it cannot be kept
 */
export async function operatorSecret(isEphemeral: boolean): Promise<string | undefined> {
  const secrets = await import("./sharing/saved-secrets.ts");
  const folder = isEphemeral ? runtimeFolder() : await userFolder();
  if (folder === undefined) return undefined;
  return secrets.operatorSecret(join(folder, "operator-secret")).catch(() => undefined);
}

/**
 * The certificate of this user's hubs, which they sign themselves.
 *
 * @param isEphemeral - the hub writes nothing to disk: the certificate is in the runtime folder, or made for this run
 */
export async function ownCertificate(
  names: readonly string[],
  isEphemeral: boolean,
): Promise<CertificatePair> {
  const { certificateIn, newCertificate } = await import("./tls/own-certificate.ts");
  const folder = isEphemeral ? runtimeFolder() : await userFolder();
  if (folder === undefined) return newCertificate(names);
  return certificateIn(join(folder, "certificate.pem"), names);
}

/** @throws ParticipantError when the endpoint or a header cannot be used */
export async function createParticipant(options: ParticipantOptions): Promise<RunningParticipant> {
  const participant = await import("@roomhub/participant");
  allowHeapGrowth();
  return participant.createParticipant(options);
}

/** Serves the metrics of rooms to Prometheus. */
export async function serveMetrics(options: MetricsServerOptions): Promise<LocalServer> {
  const metricsServer = await import("./watch/metrics/metrics-server.ts");
  return metricsServer.serveMetrics(options);
}

/** Sends the metrics of rooms to a receiver of OTLP. */
export async function sendMetrics(
  options: MetricsSenderOptions,
): Promise<{ close: () => Promise<void> }> {
  const otlpSender = await import("./watch/metrics/otlp-sender.ts");
  return otlpSender.sendMetrics(options);
}

/** Opens a door to a room for the clients of this machine, by way of the proxy that agents would use. */
export async function openDoor(options: Omit<DoorOptions, "proxyUrl">): Promise<Door> {
  const door = await import("./door/door.ts");
  const { proxyUrlFor } = await import("@roomhub/participant");
  allowHeapGrowth();
  const proxyUrl = proxyUrlFor(new URL(options.room.hubUrl), process.env);
  return door.openDoor({ ...options, proxyUrl });
}

/** The doors of this user, in the runtime folder where there is one. */
export async function openDoors(): Promise<ReturnType<typeof OpenDoorsIn>> {
  const { openDoorsIn } = await import("./door/open-doors.ts");
  return openDoorsIn(join(runtimeFolder() ?? (await userFolder()), "open-doors"));
}

/** Serves the page that watches a room. */
export async function serveMonitor(options: MonitorOptions): Promise<LocalServer> {
  const pageServer = await import("./watch/monitor/page-server.ts");
  return pageServer.serveMonitor(options);
}

/** What services need of this machine. */
export async function serviceHost(): Promise<ServiceHost> {
  return (await import("./service/this-machine.ts")).thisMachine;
}

/** What launches need of this machine. */
export async function programHost(): Promise<ProgramHost> {
  return (await import("./programs/program-host.ts")).programHost;
}

/** Calls back on SIGINT, SIGTERM and SIGHUP; the result stops listening. */
export function onStopSignal(listener: (signal: NodeJS.Signals) => void): () => void {
  process.on("SIGINT", listener).on("SIGTERM", listener).on("SIGHUP", listener);
  return () => {
    process.off("SIGINT", listener).off("SIGTERM", listener).off("SIGHUP", listener);
  };
}

/** Exits the process immediately. */
export function exitNow(code: number): void {
  process.exit(code);
}

/** A file with a secret, and who can read it. */
interface SecretFile {
  bytes: Uint8Array;
  /** always false on Windows, where the mode says nothing */
  isReadableByOthers: boolean;
}

/** @throws NodeJS.ErrnoException */
export async function readSecretFile(path: string): Promise<SecretFile> {
  const file = await open(path);
  try {
    const { mode } = await file.stat();
    const isReadableByOthers = process.platform !== "win32" && (mode & 0o077) !== 0;
    return { bytes: await file.readFile(), isReadableByOthers };
  } finally {
    await file.close();
  }
}

/** Opens a URL in the user's browser. Without a browser nothing happens: the URL is printed too. */
export function openBrowser(url: string): void {
  const [command, ...args] = openerOf(process.platform);
  const child = spawn(command, [...args, url], { stdio: "ignore", detached: true });
  // No such command, as on a machine without a desktop.
  child.on("error", () => undefined);
  child.unref();
}

function openerOf(platform: NodeJS.Platform): [string, ...string[]] {
  if (platform === "darwin") return ["open"];
  // `start` would read & in the URL as the end of the command.
  return platform === "win32" ? ["rundll32", "url.dll,FileProtocolHandler"] : ["xdg-open"];
}
