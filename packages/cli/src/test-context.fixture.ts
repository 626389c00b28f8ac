import { type HubEvent, type ParticipantSummary, type Room, systemWorld } from "@roomhub/protocol";
import type { ClusterDirectory, HubOptions, NatsDirectoryOptions } from "@roomhub/hub";
import type { ParticipantOptions } from "@roomhub/participant";
import {
  type Client,
  importRooms,
  type RunningHub,
  type RunningParticipant,
} from "./capabilities.ts";
import type { CliContext, Terminal } from "./context.ts";
import type { Announced } from "./hosting/mdns.ts";
import type { MetricsServerOptions } from "./watch/metrics/metrics-server.ts";
import type { MetricsSenderOptions } from "./watch/metrics/otlp-sender.ts";
import type { MonitorOptions } from "./watch/monitor/page-server.ts";
import type { ProgramHost } from "./programs/program-host.ts";
import { isSamePlace, type SavedToken } from "./sharing/saved-secrets.ts";
import type { DoorOptions } from "./door/door.ts";
import { DoorOpenError, type OpenDoor } from "./door/open-doors.ts";
import { runRoomhub } from "./program.ts";
import { fixedCertificate } from "./tls/certificate.fixture.ts";
import { Pins } from "./tls/pins.ts";
import { RoomKeys } from "./rooms/room-keys.ts";
import { emptyMachine, type TestMachine } from "./service/machine.fixture.ts";
import type { Typed } from "./terminal/message-input.ts";
import type { Choice, Prompts } from "./terminal/prompts.ts";

/** A terminal that keeps what was written. */
export interface Captured extends Terminal {
  text: string;
}

/** @param columns - of a terminal; a pipe without */
export function capture(columns?: number, rows = 24): Captured {
  return {
    text: "",
    isTTY: columns !== undefined,
    columns,
    rows: columns === undefined ? undefined : rows,
    write(text) {
      this.text += text;
    },
  };
}

/** What the commands did to the world outside. */
export interface TestWorld {
  context: CliContext;
  stdout: Captured;
  stderr: Captured;
  /** Sends a stop signal to its listeners. */
  stop: (signal?: NodeJS.Signals) => void;
  hubs: HubOptions[];
  /** of hubs in clusters */
  directories: NatsDirectoryOptions[];
  /** Emits events to the watchers of a hub in this process. */
  tell: (...events: HubEvent[]) => void;
  closedHubs: number;
  /** how many requests a hub cuts when it closes */
  cut: number;
  participants: ParticipantOptions[];
  closedParticipants: number;
  clientUrls: string[];
  exits: number[];
  /** hubs that announced themselves, and are still announced */
  announced: Announced[];
  /** Presses a key, if keys are being read. */
  press: (key: string) => void;
  /** `pause` and `resume` of participants, in order */
  pauses: string[];
  /** tokens of participants that were added from here */
  tokens: SavedToken[];
  /** host tokens of rooms that were created from here */
  hostTokens: SavedToken[];
  /** keys of closed rooms that were saved here */
  keys: SavedToken[];
  /** client keys of participants that serve their owner first */
  clientKeys: SavedToken[];
  /** keys of hubs that invites pinned */
  pins: SavedToken[];
  /** API keys of doors */
  doorKeys: SavedToken[];
  /** doors that are open */
  doors: OpenDoor[];
  /** doors that were opened here, also after they are closed */
  openedDoors: Omit<DoorOptions, "proxyUrl">[];
  /** models that were chosen for a folder */
  chosenModels: SavedToken[];
  /** pages that were served */
  monitors: MonitorOptions[];
  closedMonitors: number;
  /** metrics that were served, also after they are closed */
  metrics: MetricsServerOptions[];
  /** metrics that were sent */
  sentMetrics: MetricsSenderOptions[];
  closedMetrics: number;
  /** where services are installed */
  machine: TestMachine;
  /** programs that are installed, and what was started of them */
  programs: FakePrograms;
  /** files that were written, by their paths */
  files: Map<string, string>;
  /** URLs that were opened in the browser */
  openedUrls: string[];
  /** the prompts so far */
  questions: string[];
  run: (...args: string[]) => Promise<number>;
}

interface FakePrograms {
  installed: Set<string>;
  started: {
    command: string;
    args: readonly string[];
    env: Record<string, string | undefined>;
    /** of the folder of its launch, by their names */
    files: Record<string, string>;
  }[];
  /** of the next one */
  exitCode: number;
  /** folders of launches that are still there */
  left: number;
}

/** @param files - of the user, by their paths */
function hostOf(programs: FakePrograms, files: ReadonlyMap<string, string>): ProgramHost {
  let written: Record<string, string> = {};
  return {
    currentFolder: "/work",
    has: (command) => programs.installed.has(command),
    read: (path) => files.get(path),
    createFolder: () => {
      programs.left++;
      return {
        path: "/tmp/launch",
        write: (name, text) => {
          written = { ...written, [name]: text };
        },
        remove: () => {
          programs.left--;
        },
      };
    },
    run: async (command, args, { env }) => {
      programs.started.push({ command, args, env, files: written });
      return programs.exitCode;
    },
  };
}

/** Calls back once, perhaps, and returns how to cancel that. */
export type After = (ms: number, callback: () => void) => () => void;

/** Time as a test lets it pass. Left out: none passes, and waiting takes none, so every deadline passes immediately. */
export function passing({
  nowMs = () => 0,
  after = (_ms, callback) => {
    const handle = setImmediate(callback);
    return () => clearImmediate(handle);
  },
}: { nowMs?: () => number; after?: After } = {}): CliContext["world"] {
  return {
    ...systemWorld,
    wallMs: nowMs,
    setTimeout: (task, ms) => after(ms, task),
    clearTimeout: (timer) => (timer as (() => void) | undefined)?.(),
    unref: (timer) => timer,
  };
}

export const noTimers: After = () => () => {};

/** A world in which nothing exists but what the test puts there; its clock stands at 0 until the test moves it. */
export function makeWorld(
  overrides: Partial<CliContext> = {},
  client: Partial<Client> = {},
): TestWorld {
  const listeners = new Set<(signal: NodeJS.Signals) => void>();
  const questions: string[] = [];
  const keyListeners = new Set<(key: string) => void>();
  const watchers = new Set<Parameters<RunningHub["watch"]>[1]>();
  const stdout = overrides.stdout === undefined ? capture() : (overrides.stdout as Captured);
  const stderr = overrides.stderr === undefined ? capture() : (overrides.stderr as Captured);
  const world: TestWorld = {
    stdout,
    stderr,
    stop: (signal = "SIGINT") => {
      for (const listener of listeners) listener(signal);
    },
    hubs: [],
    directories: [],
    tell: (...events) => {
      for (const watcher of watchers) watcher(events);
    },
    closedHubs: 0,
    cut: 0,
    participants: [],
    closedParticipants: 0,
    clientUrls: [],
    exits: [],
    announced: [],
    press: (key) => {
      for (const listener of keyListeners) listener(key);
    },
    pauses: [],
    tokens: [],
    hostTokens: [],
    keys: [],
    clientKeys: [],
    chosenModels: [],
    pins: [],
    doors: [],
    doorKeys: [],
    openedDoors: [],
    questions,
    monitors: [],
    closedMonitors: 0,
    metrics: [],
    sentMetrics: [],
    closedMetrics: 0,
    machine: emptyMachine(),
    programs: { installed: new Set(), started: [], exitCode: 0, left: 0 },
    files: new Map(),
    openedUrls: [],
    run: (...args) => runRoomhub(args, world.context),
    context: {
      stdout,
      stderr,
      isStdinTTY: true,
      readStdin: async () => "",
      readFile: noSuchFile,
      createFile: async (path, text) => {
        if (world.files.has(path)) throw Object.assign(new Error("exists"), { code: "EEXIST" });
        world.files.set(path, text);
      },
      env: {},
      addVariablesFrom: async (path) => {
        throw new Error(`unexpected file of variables: ${path}`);
      },
      version: "1.2.3",
      commandName: "roomhub",
      platform: "linux",
      userName: "Ana",
      hostName: "box.local",
      defaultGateways: () => ["172.17.0.1"],
      lanAddresses: () => [{ address: "192.168.1.5", interfaceName: "eth0" }],
      hasIpv6: false,
      world: passing(),
      fetch: async (url) => {
        throw new TypeError(`fetch failed: ${url}`);
      },
      createClient: (hubUrl) => {
        world.clientUrls.push(hubUrl);
        return fakeClient(hubUrl, client);
      },
      createHandout: async () => ({
        program: async () => new Uint8Array(),
        sdk: async () => new Uint8Array(),
        monitor: async () => new Map(),
      }),
      createHub: async (options) => {
        world.hubs.push(options);
        return {
          listen: async () => ({ url: "", host: options.host ?? "", port: options.port || 4242 }),
          watch: (_room, listener) => {
            watchers.add(listener);
            return () => watchers.delete(listener);
          },
          prepareHandout: async () => (options.handout === undefined ? undefined : "5ha512"),
          replaceCertificate: () => undefined,
          close: async () => {
            world.closedHubs++;
            return { cut: world.cut };
          },
        };
      },
      openRoomStore: async (path, port) => ({
        store: {
          isKeeping: true,
          load: async () => [],
          save: async () => {},
          close: async () => {},
        },
        path: path ?? `/state/rooms-${port}.json`,
      }),
      usualStatePath: async (port) => `/state/rooms-${port}.json`,
      openDirectory: async (options) => {
        world.directories.push(options);
        return {} as ClusterDirectory;
      },
      readStateFile: noSuchFile,
      importRooms,
      readSecretFile: noSuchFile,
      savedTokens: async (kind) => {
        const tokens = {
          participants: world.tokens,
          hosts: world.hostTokens,
          keys: world.keys,
          "client-keys": world.clientKeys,
          "chosen-models": world.chosenModels,
          pins: world.pins,
          doors: world.doorKeys,
        }[kind];
        return {
          save: async (saved) => void tokens.push(saved),
          find: async (id) => tokens.filter((saved) => saved.id === id),
          tokenOf: async (place) => tokens.find((saved) => isSamePlace(saved, place))?.token,
          forget: async (place) => {
            const index = tokens.findIndex((saved) => isSamePlace(saved, place));
            if (index !== -1) tokens.splice(index, 1);
          },
        };
      },
      ownCertificate: async () => fixedCertificate,
      operatorSecret: async () => undefined,
      machineSecretOf: async (baseUrl) => `secret of ${baseUrl}`,
      createParticipant: async (options) => {
        world.participants.push(options);
        return idleParticipant({
          pause: () => world.pauses.push(`pause ${options.id}`),
          resume: () => world.pauses.push(`resume ${options.id}`),
          close: async () => {
            world.closedParticipants++;
          },
        });
      },
      mdns: {
        announce: async (hub) => {
          world.announced.push(hub);
          return async () => {
            world.announced.splice(world.announced.indexOf(hub), 1);
          };
        },
        browse: async () => async () => {},
      },
      serveMonitor: async (options) => {
        world.monitors.push(options);
        return {
          port: options.port ?? 5051,
          close: async () => {
            world.closedMonitors++;
          },
        };
      },
      openDoor: async (options) => {
        world.openedDoors.push(options);
        return {
          port: options.port ?? 5055,
          running: () => 0,
          drain: async () => {},
          close: async () => {},
        };
      },
      openDoors: async () => ({
        list: async () => world.doors,
        claim: async (room) => {
          const open = world.doors.find((door) => door.room === room.room);
          if (open !== undefined) throw new DoorOpenError(open, 77);
          return {
            publish: async (port) => void world.doors.push({ ...room, port }),
            release: async () => void world.doors.splice(0),
          };
        },
      }),
      openRecording: ({ path }) => {
        throw new Error(`unexpected recording: ${path}`);
      },
      readLines: async function* (path) {
        yield await noSuchFile(path);
      },
      serveMetrics: async (options) => {
        world.metrics.push(options);
        return {
          port: options.port,
          close: async () => {
            world.closedMetrics++;
          },
        };
      },
      sendMetrics: async (options) => {
        world.sentMetrics.push(options);
        return {
          close: async () => {
            world.closedMetrics++;
          },
        };
      },
      openBrowser: (url) => world.openedUrls.push(url),
      notifyDesktop: async (text) => {
        throw new Error(`unexpected notification: ${text}`);
      },
      serviceHost: async () => world.machine,
      programHost: async () => hostOf(world.programs, world.files),
      prompts: answersOf(questions, {}),
      onKey: (listener) => {
        keyListeners.add(listener);
        return () => keyListeners.delete(listener);
      },
      onStopSignal: (listener) => {
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
      exitNow: (code) => world.exits.push(code),
      roomKeys: undefined as never,
      pins: undefined as never,
      ...overrides,
    },
  };
  world.context.pins = new Pins(world.context);
  world.context.roomKeys = new RoomKeys(world.context);
  return world;
}

/**
 * Prompts that get these labels as input; a prompt without a label is an error.
 *
 * @param questions - collects the prompts
 * @param answers - `typed` are lines of a conversation, which Ctrl+D ends
 */
export function answersOf(
  questions: string[],
  answers: { one?: string; some?: string[]; secret?: string; typed?: (string | Typed)[] },
): Prompts {
  const pick = <T>(choices: readonly Choice<T>[], label: string): T => {
    const choice = choices.find((entry) => entry.label === label);
    if (choice === undefined) throw new Error(`no choice ${label}`);
    return choice.value;
  };
  const note = (question: string, labels: readonly string[]) => {
    questions.push([question, ...labels].join(" | "));
  };
  return {
    pickOne: async (question, choices) => {
      note(
        question,
        choices.map(({ label }) => label),
      );
      return pick(choices, answers.one ?? "");
    },
    pickSome: async (question, choices, first) => {
      note(
        question,
        choices.map(({ label, value }) => (first.includes(value) ? `[${label}]` : label)),
      );
      return (answers.some ?? [""]).map((label) => pick(choices, label));
    },
    askSecret: async (question) => {
      note(question, []);
      if (answers.secret === undefined) throw new Error("no secret");
      return answers.secret;
    },
    readMessage: async () => {
      const typed = answers.typed?.shift() ?? { kind: "ended" };
      return typeof typed === "string" ? { kind: "message", text: typed } : typed;
    },
  };
}

/** A participant that starts at once, and stays until it is closed. */
export function idleParticipant(over: Partial<RunningParticipant> = {}): RunningParticipant {
  return {
    start: async () => {},
    stopped: new Promise(() => {}),
    running: () => [],
    pause: () => {},
    resume: () => {},
    close: async () => {},
    ...over,
  };
}

export function aRoom(overrides: Partial<Room> = {}): Room {
  return {
    id: "6f1c1f0e-0000-4000-8000-000000000001",
    code: "ABC234",
    name: "lab",
    hostId: "6f1c1f0e-0000-4000-8000-000000000002",
    createdAt: Date.UTC(2026, 0, 2),
    passwordProtected: false,
    participantCount: 2,
    ...overrides,
  };
}

export function aParticipant(overrides: Partial<ParticipantSummary> = {}): ParticipantSummary {
  return {
    id: "ana-llama3",
    nickname: "Ana",
    model: "llama3",
    endpoint: "http://127.0.0.1:11434",
    status: "online",
    connection: {
      kind: "tunnel",
      connected: true,
      lastTunnelSeenAt: null,
      path: "tunnel",
      readiness: "ready",
    },
    specs: {},
    config: {},
    capabilities: { openResponses: "unknown", chatCompletions: "supported" },
    joinedAt: 0,
    lastSeen: 0,
    load: { active: 1, queued: 0, limit: 4, limitFrom: "declared" as const },
    ...overrides,
  };
}

export async function* eventsOf(...events: HubEvent[]): AsyncGenerator<HubEvent> {
  yield* events;
}

export const aComplete: HubEvent = {
  type: "llm.complete",
  timestamp: "2026-01-02T03:04:05.000Z",
  roomCode: "ABC234",
  requestId: "req-1",
  participantId: "ana-llama3",
  model: "llama3",
  protocol: "chatCompletions",
  selector: "*",
  client: { kind: "name", id: "alice" },
  attempts: 1,
  queueMs: 0,
  metrics: { ttftMs: 120, durationMs: 2400, outputTokens: 80, tokensPerSecond: 33.3 },
};

export const aFailure: HubEvent = {
  type: "llm.error",
  timestamp: "2026-01-02T03:04:06.000Z",
  roomCode: "ABC234",
  requestId: "req-2",
  participantId: null,
  nickname: null,
  endpoint: null,
  model: "gpt-9",
  protocol: "chatCompletions",
  stage: "routing",
  error: "No participant serves gpt-9",
  code: "model_not_found",
  selector: "gpt-9",
  client: { kind: "none", id: "" },
  attempts: 0,
  queueMs: 0,
};

async function noSuchFile(path: string): Promise<never> {
  throw Object.assign(new Error(`ENOENT: no such file, open '${path}'`), { code: "ENOENT" });
}

/** Rejects calls of methods that the test did not give. */
function fakeClient(hubUrl: string, given: Partial<Client>): Client {
  const known: Partial<Client> = {
    hubUrl,
    baseUrl: (code) => `${hubUrl}/rooms/${code}/v1`,
    events: () => eventsOf(),
    ...given,
  };
  const missing = (name: PropertyKey) => () =>
    Promise.reject(new Error(`unexpected call: ${String(name)}`));
  return new Proxy(known, {
    get: (_, name) => Reflect.get(known, name) ?? missing(name),
  }) as Client;
}
