import { createRequestSchemas, resolveLimits, systemWorld, TurnEnd } from "@roomhub/protocol";
import type { Server } from "node:http";
import { createClock, startSweep, type SweepTasks } from "./clock.ts";
import { Throttle } from "./credentials/throttle.ts";
import { PasswordGate } from "./credentials/password-gate.ts";
import { createPasswordKeeper, type RoomPassword } from "./credentials/passwords.ts";
import { credentialsFrom, digestOf, isOperator } from "./credentials/tokens.ts";
import { AuthHeaderVault } from "./credentials/vault.ts";
import { LivenessTracker } from "./domain/liveness.ts";
import { Machines } from "./domain/slots.ts";
import { Registry } from "./domain/registry.ts";
import { Trials } from "./domain/trials.ts";
import { ParticipantRows } from "./domain/participant-rows.ts";
import { TunnelOpenings, TunnelResumes } from "./domain/tunnel-openings.ts";
import { HubError } from "./errors.ts";
import { EventBus } from "./events/bus.ts";
import { createEmitter } from "./events/emit.ts";
import { createBatch } from "./events/batch.ts";
import { interfaceAddresses, packageVersion, urlHost } from "./host.ts";
import { EventStreams } from "./http/event-stream.ts";
import { FlushingResponses } from "./http/flushing-responses.ts";
import { HandedOut } from "./http/handed-out.ts";
import { createPeerReader, type PeerReader } from "./http/peer.ts";
import { ResponseSockets } from "./http/responses-socket/response-sockets.ts";
import type { FrontDeps } from "./http/front-deps.ts";
import { createHttpServer } from "./http/server.ts";
import { type HomesParts, HubHomes } from "./hub-homes.ts";
import { type InferenceContext, refuseAtLimit } from "./inference/begin.ts";
import { BodyBudget } from "./inference/body-budget.ts";
import type { DispatchDeps } from "./inference/inference-call.ts";
import { InFlight } from "./inference/in-flight.ts";
import { RoomQueues } from "./inference/queue.ts";
import { StoredResponses } from "./inference/stored-responses.ts";
import { RequestMinutes } from "./domain/keys/request-minutes.ts";
import { Senders } from "./inference/sender/senders.ts";
import type { Hub, HubAddress } from "./hub-api.ts";
import { createKeyedHash, fingerprintKey } from "./credentials/secret.ts";
import { type Listening, listenOnPort } from "./listen.ts";
import { createLineWriter, createLog } from "./log.ts";
import { OneByOne } from "./one-by-one.ts";
import type { OperationContext } from "./operations/context.ts";
import { isOwnRequest } from "./operations/ownership.ts";
import { expireParticipants } from "./operations/participants.ts";
import { BudgetUpdates, LoadedUpdates } from "./domain/batched-updates.ts";
import {
  announceBudgets,
  participantRests,
  settleFlapping,
  admitResume,
  admitTunnel,
  tunnelReported,
} from "./operations/tunnel-path.ts";
import { announceLoadedModels, contextLearned } from "./operations/learned.ts";
import { directReported } from "./operations/direct-path.ts";
import { endWithKeys, storeSpent } from "./operations/keys.ts";
import { markOverdue, wakeForTrials } from "./operations/presence.ts";
import { dropUnusedRooms, watchRoom } from "./operations/rooms.ts";
import { DEFAULT_PORT, type HubOptions } from "./options.ts";
import { createRequestIds } from "./http/response-head.ts";
import { RoomKeeper } from "./room-keeper.ts";
import { memoryRoomStore } from "./storage/room-store.ts";
import { MachineAddresses } from "./upstreams/direct/policy.ts";
import { UpstreamDirectory } from "./upstreams/directory.ts";
import { createTunnelAcceptor } from "./upstreams/tunnel/accept.ts";
import { TunnelRegistry } from "./upstreams/tunnel/registry.ts";
import { ResumableSessions } from "./upstreams/tunnel/resumable-sessions.ts";
import { TlsPort } from "./http/tls-port.ts";
import { withinMs } from "./within.ts";

/** Short enough for readers of a log; a busy hub writes some hundred lines at once. */
const logDelayMs = 20;

/** Too short for viewers to notice; a busy hub sends some hundred events at once. */
const eventGapMs = 10;

/** How long unsent bytes have to leave when the hub stops. */
const shutdownGraceMs = 500;

/** One hub: everything it owns is made here, and two in one process share nothing. */
export function createHub(options: HubOptions = {}): Hub {
  const basis = createBasis(options);
  const life: Life = { isDraining: false, listening: undefined };
  // In this order. Callbacks may use parts that are made later.
  const homes =
    options.cluster &&
    new HubHomes(
      options.cluster,
      partsForHomes(basis, life, () => parts),
    );
  const events = createEvents(basis, homes);
  const paths = createPaths(basis, homes, () => parts);
  const operations = createOperations({ ...basis, ...events, ...paths }, homes);
  const serving = createServing({ ...basis, ...events, ...paths }, homes, operations);
  const http = createHttp({ ...basis, ...events, ...paths, ...serving }, life, homes, operations);
  const parts: HubParts = { ...basis, ...events, ...paths, ...serving, ...http, homes, operations };
  let closing: Promise<{ cut: number }> | undefined;
  const close = (): Promise<{ cut: number }> => (closing ??= shutDown(parts, life));
  return {
    listen: () => open(parts, life),
    watch: (roomCode, listener) => watchRoom(operations, events.bus, roomCode, listener),
    prepareHandout: async () => http.handedOut?.prepare(),
    replaceCertificate(pair) {
      if (http.tls === undefined) throw new Error("The hub has no TLS.");
      http.tls.replace(pair);
    },
    close,
    async [Symbol.asyncDispose]() {
      await close();
    },
  };
}

/** What changes of a hub while it runs. */
interface Life {
  isDraining: boolean;
  listening: (Listening & { stopSweep: () => void }) | undefined;
}

/** What every other part is made with. */
function createBasis(options: HubOptions) {
  const limits = resolveLimits(options.limits);
  const source = options.world ?? systemWorld;
  const clock = createClock(source);
  const { world } = clock;
  const nowMs = () => world.monotonicMs();
  const write = options.writeLog ?? ((lines: string) => void process.stdout.write(lines));
  const lines = createLineWriter(write, (flush) => void world.setTimeout(flush, logDelayMs));
  const log = createLog(
    options.logFormat ?? "silent",
    (line) => lines.write(line),
    () => lines.flush(),
  );
  const registry = new Registry();
  const roomPasswords = new Map<string, RoomPassword>();
  const passwordKeeper = createPasswordKeeper(world);
  const store = options.store ?? memoryRoomStore();
  const secret = options.cluster?.secret;
  return {
    ...{ options, limits, source, clock, world, lines, log },
    ...{ registry, roomPasswords, passwordKeeper, nowMs },
    wallMs: () => world.wallMs(),
    bootId: Buffer.from(world.randomBytes(4)).toString("hex"),
    version: packageVersion(),
    ownership: options.ownership ?? ("compat" as const),
    vault: new AuthHeaderVault(),
    keyedHash: createKeyedHash(
      secret === undefined ? world.randomBytes(32) : fingerprintKey(secret),
    ),
    rooms: new RoomKeeper({ store, registry, roomPasswords, passwordKeeper, log }),
    queues: new RoomQueues(limits.queuePerRoom),
    inFlight: new InFlight(),
    tunnels: new TunnelRegistry(),
    flushing: new FlushingResponses(limits.clientStallMs, nowMs),
    turnEnd: new TurnEnd(world),
  };
}

function partsForHomes(basis: Basis, life: Life, parts: () => HubParts): HomesParts {
  return {
    ...basis,
    pin: basis.options.tls?.pin,
    operations: () => parts().operations,
    bus: () => parts().bus,
    isDraining: () => life.isDraining,
    inFlight: () => basis.inFlight,
    storedResponses: () => parts().inference.dispatch.storedResponses,
    closeSockets: (roomCode) => parts().responseSockets.drain(roomCode),
    refuseAtLimit: (underWay) => refuseAtLimit(basis, underWay),
    comment: (text) => parts().streams.comment(text),
    serve: (socket) => void parts().hopServer?.emit("connection", socket),
  };
}

function createEvents(basis: Basis, homes: HubHomes | undefined) {
  const { world, bootId, limits, log, nowMs, wallMs, registry } = basis;
  const batch = createBatch(world, eventGapMs);
  const onWatch = () => homes?.events.tick();
  const isClosed = (roomCode: string) => registry.findRoom(roomCode)?.isClosed === true;
  const bus = new EventBus(bootId, batch, onWatch, isClosed);
  const emit = createEmitter(bus, log, wallMs, nowMs, homes?.handOvers.events.divert);
  return { bus, emit, streams: new EventStreams(bus, limits, nowMs, wallMs) };
}

/** The ways to participants: tunnels, and endpoints that the hub dials. */
function createPaths(basis: Basis, homes: HubHomes | undefined, parts: () => HubParts) {
  const { options, limits, log, world, nowMs, registry, tunnels, vault } = basis;
  const operations = () => parts().operations;
  const hubId = homes?.self.hubId;
  const endsWithHub = (connection: object) => homes?.endsWithHub(connection) === true;
  const sessions = new ResumableSessions(world, hubId === undefined ? "" : `${hubId}-`);
  const upstreams = new UpstreamDirectory({
    ...{ tunnels, vault, world },
    isDirectEnabled: options.direct ?? true,
    addresses: new MachineAddresses(interfaceAddresses, nowMs),
    connectTimeoutMs: limits.connectMs,
    probeTimeoutMs: limits.probeMs,
    loadingMs: limits.loadingMs,
    isPresent: (participant) => registry.isCurrent(participant),
    report: (participant, report) => directReported(operations(), participant, report),
  });
  const acceptTunnel = createTunnelAcceptor(
    { world, registry: tunnels, sessions, limits },
    {
      opening: (participant) => admitTunnel(operations(), participant),
      resuming: (participant, session) => admitResume(operations(), participant, session),
      reported: (participant, report) => tunnelReported(operations(), participant, report),
      bug: (error) => log.bug("a tunnel callback failed", error),
      homeEpochOf: (roomCode) => homes?.homes.epochHere(roomCode),
      isPresent: (participant) => registry.isCurrent(participant),
      endsWithHub,
    },
  );
  return { upstreams, sessions, acceptTunnel, endsWithHub };
}

function createOperations(
  parts: Basis & Events & HubPaths,
  homes: HubHomes | undefined,
): OperationContext {
  const { limits, nowMs, queues, bus, upstreams, rooms, inFlight } = parts;
  return {
    ...parts,
    paths: upstreams,
    machines: new Machines(),
    liveness: new LivenessTracker(limits.offlineAfterMs, limits.sweepIntervalMs),
    passwordGate: new PasswordGate(
      {
        burst: limits.passwordAttemptsBurst,
        intervalMs: limits.passwordAttemptIntervalMs,
        perRoomAndMinute: limits.passwordAttemptsPerRoom,
      },
      nowMs,
    ),
    roomCreators: parts.options.create ?? "anyone",
    newRoomsAreClosed: parts.options.closed ?? false,
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
    trials: new Trials(),
    participantRows: new ParticipantRows(),
    budgetUpdates: new BudgetUpdates(),
    loadedUpdates: new LoadedUpdates(),
    rooms: homes?.rooms ?? rooms,
    changes: new OneByOne(),
    registrations: homes?.rooms.registrations,
    routingChanged: (roomCode) => queues.participantsChanged(roomCode),
    roomDropped: (roomCode) => bus.endRoom(roomCode, 60_000),
    accessChanged: () => inFlight.sweep(nowMs()),
  };
}

/** What serves requests for models, over HTTP and over WebSockets on `/responses`. */
function createServing(
  parts: Basis & Events & HubPaths,
  homes: HubHomes | undefined,
  operations: OperationContext,
) {
  const { options, limits, log, world, nowMs, registry, keyedHash, wallMs, upstreams } = parts;
  const { bootId, emit, queues, inFlight, bus } = parts;
  const dispatch: DispatchDeps = {
    ...{ bootId, limits, nowMs, wallMs, emit, queues, inFlight },
    random: () => world.random(),
    detail: bus.detail,
    storedResponses: new StoredResponses(limits.responsesPerRoom),
    isLeaving: homes && ((roomCode) => homes.homes.isLeaving(roomCode)),
    owns: ({ proof }, participant) => isOwnRequest(proof, participant),
    upstreamFor: (participant) => upstreams.upstreamFor(participant),
    scrubberOf: (participant) => upstreams.scrubberOf(participant),
    participantRests: (participant, untilMs) => participantRests(operations, participant, untilMs),
    participantOverloaded: (participant, untilMs) => {
      participant.load.overloadedUntilMs = untilMs;
      operations.trials.note(participant);
    },
    contextLearned: (participant, tokens) => contextLearned(operations, participant, tokens),
    reportBug: (error) => log.bug("a request failed", error),
  };
  const inference: InferenceContext = {
    ...{ dispatch, keyedHash, wallMs },
    bodies: new BodyBudget(limits.heldBodyBytes),
    requestMinutes: new RequestMinutes(),
    findRoom: (code) => registry.room(code),
    senders: new Senders(keyedHash),
  };
  const requestsStreamUsage = options.streamUsage ?? true;
  const newRequestId = createRequestIds(world);
  const responseSockets = new ResponseSockets({
    ...parts,
    ...{ inference, requestsStreamUsage, newRequestId },
    reportBug: (error) => log.bug("a turn on a socket failed", error),
  });
  return { inference, requestsStreamUsage, newRequestId, responseSockets };
}

function createHttp(
  parts: Basis & Events & HubPaths & Serving,
  life: Life,
  homes: HubHomes | undefined,
  operations: OperationContext,
) {
  const { options, limits, version, world, nowMs, wallMs, sessions, flushing } = parts;
  const handedOut = options.handout && new HandedOut(world, options.handout, version, flushing);
  const startedMs = nowMs();
  const peers = peerReader(parts);
  const front: FrontDeps = {
    ...parts,
    ...{ operations, peers, handedOut },
    schemas: createRequestSchemas(limits),
    isDraining: () => life.isDraining,
    health: () => ({
      isDraining: life.isDraining,
      isDegraded: homes?.isUp === false,
      version,
      uptimeSeconds: Math.round((nowMs() - startedMs) / 100) / 10,
      timestamp: new Date(wallMs()).toISOString(),
      handout: handedOut !== undefined,
      pin: options.tls?.pin,
    }),
    holderOf: (session) => sessions.holderOf(session),
    requiresTls: options.tls?.only === true,
    sharedUrl: () => life.listening && options.sharedUrl?.(life.listening.port),
    cluster: homes,
    places: homes?.places.entry(peers),
    piped: undefined,
  };
  const server = createHttpServer(front);
  const tls = options.tls && new TlsPort(server, options.tls, limits.headersReadMs);
  return { handedOut, server, tls, hopServer: homes && createHttpServer(homes.frontOfHops(front)) };
}

function peerReader({ options, ownership, log }: Basis): PeerReader {
  const { publicUrl, trustProxy, sharedAddresses, adminSecret } = options;
  const adminDigest = adminSecret === undefined ? undefined : digestOf(adminSecret);
  return createPeerReader(
    {
      trustedProxies: trustProxy ?? [],
      sharedAddresses: sharedAddresses ?? [],
      hasAddressRights: publicUrl === undefined && ownership !== "strict",
      credentialsFrom,
      isOperator: (headers) => isOperator(headers, adminDigest),
      onUntrustedProxy: () =>
        log.warn("an untrusted proxy forwards requests; trust it with --trust-proxy"),
    },
    publicUrl?.replace(/\/+$/, ""),
  );
}

type Basis = ReturnType<typeof createBasis>;
type Events = ReturnType<typeof createEvents>;
type HubPaths = ReturnType<typeof createPaths>;
type Serving = ReturnType<typeof createServing>;

interface HubParts extends Basis, Events, HubPaths, Serving {
  homes: HubHomes | undefined;
  operations: OperationContext;
  server: Server;
  tls: TlsPort | undefined;
  hopServer: Server | undefined;
}

async function open(parts: HubParts, life: Life): Promise<HubAddress> {
  const { options, homes, rooms, server, tls, world, clock, limits } = parts;
  // Rooms first: a hub that serves before it knows its rooms would reject every client.
  await (homes === undefined ? rooms.load() : homes.open());
  const wanted = options.port ?? DEFAULT_PORT;
  const listening = await listenOnPort(world, server, options.host, wanted, tls);
  const stopSweep = startSweep(clock, limits.sweepIntervalMs, sweepTasks(parts));
  life.listening = { ...listening, stopSweep };
  const { host, port } = listening;
  const url = `${options.tls?.only === true ? "https" : "http"}://${urlHost(host)}:${port}`;
  homes?.announce(url);
  return { url, host, port };
}

function sweepTasks(parts: HubParts): SweepTasks {
  const { operations, inFlight, queues, flushing, streams, tunnels, upstreams } = parts;
  const { responseSockets, homes, rooms } = parts;
  return {
    often(nowMs) {
      endWithKeys(operations);
      markOverdue(operations);
      settleFlapping(operations);
      announceBudgets(operations);
      announceLoadedModels(operations);
      wakeForTrials(operations);
      inFlight.sweep(nowMs);
      queues.wakeBatches();
      flushing.tick(nowMs);
      streams.tick();
      tunnels.tick(nowMs);
      upstreams.tick(nowMs);
      responseSockets.tick(nowMs);
      homes?.tick();
    },
    everyFewSeconds: () => void storeSpent(operations),
    eachMinute() {
      expireParticipants(operations);
      dropUnusedRooms(operations);
      homes?.eachMinute();
    },
    // When a room was last used is not worth a write each time.
    eachHour: () => void (homes === undefined ? rooms.save() : homes.rooms.noteUse()),
  };
}

async function shutDown(parts: HubParts, life: Life): Promise<{ cut: number }> {
  const { world, homes, inFlight, limits, tunnels, bus, upstreams, responseSockets } = parts;
  life.isDraining = true;
  responseSockets.drain();
  const untilMs = world.monotonicMs() + limits.drainMs;
  const whenEmpty = (homes?.drained() ?? Promise.resolve()).then(() => inFlight.emptied());
  await withinMs(world, whenEmpty, limits.drainMs);
  // Not before: requests that wait, and retries, still need a tunnel that takes them.
  tunnels.goAway("the hub is stopping");
  const cut = inFlight.cutAll(
    new HubError("hub_shutting_down", "The hub stopped before the response was complete."),
  );
  // A spread pause, so that thousands of watchers do not come back in one instant.
  bus.endAll(() => 1_000 + Math.floor(4_000 * world.random()));
  tunnels.closeAll("the hub is stopping");
  // Before the homes: late requests are piped, and other hubs learn where they go now.
  await life.listening?.close(
    shutdownGraceMs,
    (connection) => homes?.places.isPiping(connection) === true && world.monotonicMs() < untilMs,
  );
  if (homes !== undefined) await withinMs(world, storeSpent(parts.operations), limits.drainMs);
  await homes?.close();
  life.listening?.stopSweep();
  responseSockets.terminate();
  await upstreams.close();
  if (homes === undefined) await parts.rooms.close();
  parts.lines.flush();
  return { cut };
}
