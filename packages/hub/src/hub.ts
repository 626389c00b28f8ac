import { createRequestSchemas, resolveLimits } from "@roomhub/protocol";
import { randomBytes, randomInt, randomUUID } from "node:crypto";
import { createClock, systemTime, startSweep } from "./clock.ts";
import { createPasswordAttempts } from "./credentials/throttle.ts";
import { PasswordGate } from "./credentials/password-gate.ts";
import { createPasswordKeeper, type RoomPassword } from "./credentials/passwords.ts";
import { hostTokenFrom, tokenFrom } from "./credentials/tokens.ts";
import { AuthHeaderVault } from "./credentials/vault.ts";
import { LivenessTracker } from "./domain/liveness.ts";
import { Machines } from "./domain/slots.ts";
import { Registry } from "./domain/registry.ts";
import { Trials } from "./domain/trials.ts";
import { TunnelOpenings, TunnelResumes } from "./domain/tunnel-openings.ts";
import { HubError } from "./errors.ts";
import { EventBus } from "./events/bus.ts";
import { createEmitter } from "./events/emit.ts";
import { createPace } from "./pace.ts";
import { interfaceAddresses, packageVersion, urlHost, writeToStdout } from "./host.ts";
import { EventStreams } from "./http/event-stream.ts";
import { FlushingResponses } from "./http/flushing-responses.ts";
import { HandedOut } from "./http/handed-out.ts";
import { createPeerReader } from "./http/peer.ts";
import { ResponseSockets } from "./http/responses-socket/response-sockets.ts";
import type { FrontDeps } from "./http/front-deps.ts";
import { createHttpServer } from "./http/server.ts";
import { HubHomes } from "./hub-homes.ts";
import { type InferenceContext, refuseAtLimit } from "./inference/begin.ts";
import { BodyBudget } from "./inference/body-budget.ts";
import type { DispatchDeps } from "./inference/inference-call.ts";
import { InFlight } from "./inference/in-flight.ts";
import { RoomQueues } from "./inference/queue.ts";
import { StoredResponses } from "./inference/stored-responses.ts";
import { Senders } from "./inference/sender/senders.ts";
import type { Hub, HubAddress } from "./hub-api.ts";
import { createKeyedHash, fingerprintKey } from "./credentials/secret.ts";
import { listen, type Listening } from "./listen.ts";
import { createLineWriter, createLog } from "./log.ts";
import { OneByOne } from "./one-by-one.ts";
import type { OperationContext } from "./operations/context.ts";
import { isOwnRequest } from "./operations/ownership.ts";
import { expireParticipants } from "./operations/participants.ts";
import { BudgetUpdates, LoadedUpdates } from "./domain/paced-updates.ts";
import {
  announceBudgets,
  participantRests,
  settleFlapping,
  admitResume,
  admitTunnel,
  tunnelReported,
} from "./operations/tunnel-path.ts";
import { announceLoadedModels } from "./operations/learned.ts";
import { directReported } from "./operations/direct-path.ts";
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
import { withinMs } from "./within.ts";

/** Frequent enough for readers of a log, while a busy hub writes some hundred lines at once. */
const logDelayMs = 20;

/** Too short for viewers to notice, while a busy hub writes some hundred events at once. */
const eventGapMs = 10;

/** What is still written when the hub stops has so long to leave. */
const shutdownGraceMs = 500;

/** One hub: everything it owns is made here, and two in one process share nothing. */
export function createHub(options: HubOptions = {}): Hub {
  const limits = resolveLimits(options.limits);
  const clock = createClock(options.time ?? systemTime);
  const nowMs = () => clock.nowMs();
  const bootId = randomBytes(4).toString("hex");
  const version = packageVersion();
  const logLines = createLineWriter(options.writeLog ?? writeToStdout, (flush) => {
    setTimeout(flush, logDelayMs);
  });
  const log = createLog(
    options.logFormat ?? "silent",
    (line) => logLines.write(line),
    () => logLines.flush(),
  );
  const registry = new Registry();
  const secret = options.cluster?.secret;
  const keyedHash = createKeyedHash(secret === undefined ? undefined : fingerprintKey(secret));
  const vault = new AuthHeaderVault();
  const passwordKeeper = createPasswordKeeper();
  const roomPasswords = new Map<string, RoomPassword>();
  const homes =
    options.cluster &&
    new HubHomes(options.cluster, {
      ...{ bootId, version, vault, roomPasswords, limits, log, nowMs },
      wallMs: () => clock.wallMs(),
      operations: () => operations,
      bus: () => bus,
      isDraining: () => isDraining,
      inFlight: () => inFlight,
      storedResponses: () => dispatch.storedResponses,
      closeSockets: (roomCode) => responseSockets.drain(roomCode),
      refuseAtLimit: (underWay) => refuseAtLimit(dispatch, underWay),
      comment: (text) => streams.comment(text),
      serve: (socket) => void hopServer?.emit("connection", socket),
    });
  const bus = new EventBus(
    bootId,
    createPace(eventGapMs, () => systemTime.monotonicMs()),
    () => homes?.events.tick(),
  );
  const divert = homes?.handOvers.events.divert;
  const emit = createEmitter(bus, log, () => clock.wallMs(), nowMs, divert);
  const store = options.store ?? memoryRoomStore();
  const rooms = new RoomKeeper(store, registry, roomPasswords, passwordKeeper, log);
  const queues = new RoomQueues(limits.queuePerRoom);
  const inFlight = new InFlight();
  const tunnels = new TunnelRegistry();
  const ownership = options.ownership ?? "compat";

  const upstreams = new UpstreamDirectory({
    tunnels,
    vault,
    isDirectEnabled: options.direct ?? true,
    addresses: new MachineAddresses(interfaceAddresses, nowMs),
    connectTimeoutMs: limits.connectMs,
    probeTimeoutMs: limits.probeMs,
    loadingMs: limits.loadingMs,
    nowMs,
    isPresent: (participant) => registry.isCurrent(participant),
    report: (participant, report) => directReported(operations, participant, report),
  });

  const operations: OperationContext = {
    registry,
    machines: new Machines(),
    keyedHash,
    liveness: new LivenessTracker(limits.offlineAfterMs, limits.sweepIntervalMs),
    ...{ limits, ownership, emit, vault, passwordKeeper, roomPasswords },
    passwordGate: new PasswordGate(
      {
        burst: limits.passwordAttemptsBurst,
        intervalMs: limits.passwordAttemptIntervalMs,
        perRoomAndMinute: limits.passwordAttemptsPerRoom,
      },
      nowMs,
    ),
    roomCreations: createPasswordAttempts({
      burst: limits.roomCreationBurst,
      intervalMs: 60_000 / limits.roomCreationPerMinute,
    }),
    tunnelOpenings: new TunnelOpenings(limits.tunnelOpenings, limits.tunnelOpeningsMs),
    ...{ tunnelResumes: new TunnelResumes(), trials: new Trials() },
    ...{ budgetUpdates: new BudgetUpdates(), loadedUpdates: new LoadedUpdates() },
    paths: upstreams,
    nowMs,
    wallMs: () => clock.wallMs(),
    newUuid: () => randomUUID(),
    randomBelow: (bound) => randomInt(bound),
    rooms: homes?.rooms ?? rooms,
    changes: new OneByOne(),
    registrations: homes?.registrations,
    routingChanged: (roomCode) => queues.participantsChanged(roomCode),
    roomDropped: (roomCode) => bus.endRoom(roomCode, 60_000),
  };

  const hubId = homes?.self.hubId;
  const endsWithHub = (connection: object) => homes?.endsWithHub(connection) === true;
  const sessions = new ResumableSessions(hubId === undefined ? "" : `${hubId}-`);
  const acceptTunnel = createTunnelAcceptor(tunnels, sessions, limits, {
    opening: (participant) => admitTunnel(operations, participant),
    resuming: (participant, session) => admitResume(operations, participant, session),
    reported: (participant, report) => tunnelReported(operations, participant, report),
    bug: (error) => log.bug("a tunnel callback failed", error),
    homeEpochOf: (roomCode) => homes?.homes.epochHere(roomCode),
    endsWithHub,
  });

  const dispatch: DispatchDeps = {
    ...{ bootId, limits, nowMs, emit, queues, inFlight },
    random: options.random ?? Math.random,
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
    reportBug: (error) => log.bug("a request failed", error),
  };

  const bodies = new BodyBudget(limits.heldBodyBytes);
  const streams = new EventStreams(bus, limits, nowMs);
  const newRequestId = createRequestIds();
  const inference: InferenceContext = {
    dispatch,
    bodies,
    findRoom: (code) => registry.room(code),
    keyedHash,
    senders: new Senders(keyedHash),
    wallMs: () => clock.wallMs(),
  };
  const serving = {
    inference,
    limits,
    flushing: new FlushingResponses(limits.clientStallMs, nowMs),
    requestsStreamUsage: options.streamUsage ?? true,
  };
  const responseSockets = new ResponseSockets({
    ...serving,
    ...{ newRequestId, endsWithHub },
    reportBug: (error) => log.bug("a turn on a socket failed", error),
  });
  const handedOut = options.handout && new HandedOut(options.handout, version, serving.flushing);
  const startedMs = nowMs();
  let isDraining = false;
  const peers = createPeerReader(
    {
      trustedProxies: options.trustProxy ?? [],
      sharedAddresses: options.sharedAddresses ?? [],
      hasAddressRights: options.publicUrl === undefined && ownership !== "strict",
      tokenFrom,
      hostTokenFrom,
      onUntrustedProxy: () =>
        log.warn("an untrusted proxy forwards requests; trust it with --trust-proxy"),
    },
    options.publicUrl?.replace(/\/+$/, ""),
  );
  const front: FrontDeps = {
    ...serving,
    ...{ operations, log, bus, streams, responseSockets, peers, newRequestId, handedOut },
    schemas: createRequestSchemas(limits),
    isDraining: () => isDraining,
    health: () => ({
      isDraining,
      isDegraded: homes?.isUp === false,
      version,
      uptimeSeconds: Math.round((nowMs() - startedMs) / 100) / 10,
      timestamp: new Date(clock.wallMs()).toISOString(),
      handout: handedOut !== undefined,
    }),
    holderOf: (session) => sessions.holderOf(session),
    sharedUrl: () => listening && options.sharedUrl?.(listening.port),
    acceptTunnel,
    cluster: homes?.front(),
    places: homes?.places.entry(peers),
    piped: undefined,
  };
  const server = createHttpServer(front);
  const hopServer = homes && createHttpServer(homes.frontOfHops(front));

  let listening: Listening | undefined;
  let stopSweep: (() => void) | undefined;
  let closing: Promise<{ cut: number }> | undefined;

  async function open(): Promise<HubAddress> {
    // Rooms first: a hub that serves before it knows its rooms would reject every client.
    await (homes === undefined ? rooms.load() : homes.open());
    const { host: wanted, port: wantedPort = DEFAULT_PORT } = options;
    listening = await listen(server, wanted, wantedPort);
    stopSweep = startSweep(clock, limits.sweepIntervalMs, {
      often(now) {
        markOverdue(operations);
        settleFlapping(operations);
        announceBudgets(operations);
        announceLoadedModels(operations);
        wakeForTrials(operations);
        inFlight.sweep(now);
        serving.flushing.tick(now);
        streams.tick();
        tunnels.tick(now);
        upstreams.tick(now);
        responseSockets.tick(now);
        homes?.tick();
      },
      eachMinute() {
        expireParticipants(operations);
        dropUnusedRooms(operations);
        homes?.eachMinute();
      },
      // When a room was last used is not worth a write each time.
      eachHour: () => void (homes === undefined ? rooms.save() : homes.noteUse()),
    });
    const { host, port } = listening;
    const url = `http://${urlHost(host)}:${port}`;
    homes?.announce(url);
    return { url, host, port };
  }

  async function shutDown(): Promise<{ cut: number }> {
    isDraining = true;
    responseSockets.drain();
    const whenEmpty = (homes?.drained() ?? Promise.resolve()).then(() => inFlight.emptied());
    await withinMs(whenEmpty, limits.drainMs);
    // Not before: requests that wait, and retries, still need a tunnel that takes them.
    tunnels.goAway("the hub is stopping");
    const cut = inFlight.cutAll(
      new HubError("hub_shutting_down", "The hub stopped before the response was complete."),
    );
    // A spread pause, so that thousands of watchers do not come back in one instant.
    bus.endAll(() => randomInt(1_000, 5_000));
    tunnels.closeAll("the hub is stopping");
    // First what comes late, which is piped; other hubs hear where it goes now.
    await listening?.close(shutdownGraceMs);
    await homes?.close();
    stopSweep?.();
    responseSockets.terminate();
    await upstreams.close();
    if (options.cluster === undefined) await rooms.close();
    logLines.flush();
    return { cut };
  }

  const close = (): Promise<{ cut: number }> => (closing ??= shutDown());
  return {
    listen: open,
    watch: (roomCode, listener) => watchRoom(operations, bus, roomCode, listener),
    prepareHandout: async () => handedOut?.prepare(),
    close,
    async [Symbol.asyncDispose]() {
      await close();
    },
  };
}
