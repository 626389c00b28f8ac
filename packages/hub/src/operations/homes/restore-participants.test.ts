import { systemWorld } from "@roomhub/protocol";
import { describe, expect, test } from "vitest";
import type { Participant, Withheld } from "../../domain/participant.ts";
import { aParticipant, type ParticipantFields } from "../../domain/room.fixture.ts";
import { isRoutable, readinessOf, unroutableReason } from "../../domain/readiness.ts";
import { parseSelector, plainQuery } from "../../domain/selection-query.ts";
import { selectParticipant } from "../../domain/selector.ts";
import { storedRegistrationOf, type StoredRegistration } from "../../domain/stored-registration.ts";
import { participantView } from "../../domain/views.ts";
import { mintToken } from "../../credentials/tokens.ts";
import { createOffice, elsewhere, home, peerAt } from "../operations.fixture.ts";
import { proofOf } from "../ownership.ts";
import { authorizeTunnel, expireParticipants, recordHeartbeat } from "../participants.ts";
import { updateParticipant } from "../update-participant.ts";
import { releaseParticipants, restoreParticipants } from "./restore-participants.ts";

const hourMs = 3_600_000;
const here = "0a0a";
const nothing: Withheld = { authHeaders: false, instructions: false, machineSecret: false };
const { token, digest } = mintToken({
  ...systemWorld,
  randomBytes: (count) => new Uint8Array(count).fill(7),
});
const withToken = peerAt(elsewhere, { token: token.reveal() });

interface Kept {
  has?: Partial<Withheld>;
  ageMs?: number;
  computer?: string;
}

/** An office whose room has just got its home here, with one registration. */
function openOffice(fields: ParticipantFields = {}, kept: Kept = {}) {
  const office = createOffice();
  // What a probe finds is an event of its own.
  office.behaviour.endpoint = "hangs";
  const { context, room } = office;
  const ada = aParticipant({ id: "ada", endpoint: "http://10.0.0.7:1", ...fields });
  const registration: StoredRegistration = {
    ...storedRegistrationOf(
      { ...ada, roomCode: room, tokenDigest: digest },
      {
        hasAuthHeaders: false,
        computer: kept.computer ?? here,
        storedAt: context.wallMs() - (kept.ageMs ?? 0),
      },
    ),
    has: { ...nothing, ...kept.has },
  };
  restoreParticipants(context, room, [registration], here);
  const find = (id = "ada") => context.registry.findRoom(room)?.participants.get(id);
  return {
    ...{ ...office, registration },
    find,
    get ada(): Participant {
      return context.registry.participant(context.registry.room(room), "ada");
    },
    beat: () => recordHeartbeat(context, room, "ada", peerAt(elsewhere)),
    dial: () => authorizeTunnel(context, room, "ada", withToken, undefined),
    shown: () =>
      participantView(context.registry.participant(context.registry.room(room), "ada"), 0),
  };
}

const tunnelled = { isTunnelOnly: true } as const;
const mustJoinAgain = expect.objectContaining({ code: "participant_not_found" }) as Error;

describe("a room that gets its home here", () => {
  test("lists its participants as they registered, in join order, online, without an event", () => {
    const office = openOffice({
      nickname: "Ada",
      joinedAt: 2,
      specs: { vram: 80 },
      isStandIn: true,
    });
    const bob = { ...office.registration, id: "bob", joinedAt: 1, agentId: "5f9a" };
    const eve = { ...office.registration, id: "eve", joinedAt: 3 };
    restoreParticipants(office.context, office.room, [eve, bob], here);
    const room = office.context.registry.room(office.room);
    expect([...room.participants.keys()]).toEqual(["ada", "bob", "eve"]);
    expect(office.shown()).toMatchObject({
      ...{ nickname: "Ada", status: "online", joinedAt: 2, specs: { vram: 80 }, standIn: true },
      lastSeen: office.registration.storedAt,
    });
    expect(room.participants.get("bob")?.agentId).toBe("5f9a");
    expect(office.seen()).toEqual([]);
    expect(office.woken).toContain(office.room);
  });

  test("leaves alone whom it has already", async () => {
    const office = openOffice();
    const { ada } = office;
    restoreParticipants(office.context, office.room, [office.registration], here);
    expect(office.ada).toBe(ada);
  });

  test("leaves out what was stored more than 24 h ago, and nothing younger", () => {
    expect(openOffice({}, { ageMs: 24 * hourMs }).find()).toBeDefined();
    expect(openOffice({}, { ageMs: 24 * hourMs + 1 }).find()).toBeUndefined();
  });

  test("announces nobody offline who is back within 30 s, and the others once", () => {
    const office = openOffice();
    const bob = { ...office.registration, id: "bob" };
    restoreParticipants(office.context, office.room, [bob], here);
    office.pass(30_000);
    office.beat();
    expect(office.seen()).toEqual([]);
    office.pass(251);
    office.pass(29_000);
    expect(office.seen()).toEqual(["participant.offline bob"]);
  });

  test("removes whom it never hears of 24 h after", () => {
    const office = openOffice();
    office.pass(31_000);
    office.pass(24 * hourMs);
    expireParticipants(office.context);
    expect(office.seen()).toEqual(["participant.offline ada", "participant.left ada"]);
  });

  test("probes the endpoints it may dial, and watches those that are to be probed", () => {
    const office = openOffice({ liveness: "probe" });
    expect([office.probes, office.watched]).toEqual([["ada"], ["ada"]]);
    expect(readinessOf(office.ada)).toBe("ready");
  });

  test("has no more of it once another hub is its home, without an event", () => {
    const office = openOffice(tunnelled);
    office.openTunnel(office.ada);
    const { ada } = office;
    office.context.vault.put(ada.key, ada.endpointOrigin, { authorization: "Bearer CANARY" });
    office.seen();
    releaseParticipants(office.context, office.room);
    expect(office.find()).toBeUndefined();
    expect(office.closedTunnels).toEqual([["ada", "elsewhere"]]);
    expect(office.headersOf(ada)).toEqual({});
    office.pass(60_000);
    expect(office.seen()).toEqual([]);
  });
});

describe("a request for a participant that is not back yet", () => {
  const select = (office: ReturnType<typeof openOffice>) => {
    const query = plainQuery(parseSelector("ada"), "", () => 0);
    return selectParticipant(office.context.registry.room(office.room), query);
  };

  test("waits for its tunnel, and for its join where secrets were lost", () => {
    for (const has of [{}, { instructions: true }])
      expect(select(openOffice(tunnelled, { has }))).toMatchObject({ kind: "busy" });
  });

  test("is refused where the hub would have to call its endpoint without what was lost", () => {
    expect(select(openOffice({}, { has: { authHeaders: true } }))).toMatchObject({
      kind: "refused",
      code: "provider_auth_failed",
      refusals: [{ reason: "the hub that had its authHeaders has stopped: it must join again" }],
    });
  });

  test("goes to its endpoint where nothing was lost", () => {
    expect(select(openOffice())).toMatchObject({ kind: "selected" });
  });
});

describe("an agent whose hub stopped", () => {
  test("is loading until its tunnel is open again, which needs no join where nothing was lost", () => {
    const office = openOffice(tunnelled);
    expect(office.shown().connection).toMatchObject({ connected: false, readiness: "loading" });
    const { ada } = office;
    expect(office.dial()).toBe(ada);
    office.openTunnel(ada);
    expect(office.shown().connection).toEqual({
      ...office.shown().connection,
      ...{ connected: true, readiness: "ready" },
    });
    expect(office.seen()).toEqual(["participant.updated ada"]);
  });

  test("that sends a second heartbeat and does not dial is loading no more: the first may have waited for this home", () => {
    const office = openOffice(tunnelled);
    office.beat();
    expect(office.shown().connection).toMatchObject({ readiness: "loading" });
    expect(office.seen()).toEqual([]);
    office.beat();
    expect(office.shown().connection).toMatchObject({
      readiness: "down",
      problem: "its tunnel is closed",
    });
    expect(office.seen()).toEqual(["participant.updated ada"]);
  });

  test.each(["authHeaders", "instructions", "machineSecret"])(
    "gets 404 at its next sign where its %s were lost, and is loading until it joins again",
    async (field) => {
      const office = openOffice(tunnelled, { has: { [field]: true } });
      expect(office.beat).toThrow(mustJoinAgain);
      expect(office.dial).toThrow(mustJoinAgain);
      expect(readinessOf(office.ada)).toBe("loading");
      expect(unroutableReason(office.ada, 0)).toBe(
        `the hub that had its ${field} has stopped: it must join again`,
      );
      const { ada } = office;
      await office.join({ transport: "tunnel" }, withToken);
      expect(office.ada).toBe(ada);
      expect(office.dial()).toBe(ada);
      office.openTunnel(ada);
      expect(readinessOf(ada)).toBe("ready");
    },
  );

  test("joins again where its token is newer than the registration: its hub could not store that", async () => {
    const office = openOffice({
      ...tunnelled,
      registrant: { address: elsewhere, hasOrigin: false, throttleKey: elsewhere },
    });
    const { context, room } = office;
    const newer = peerAt(elsewhere, { token: `rhp_${"9".repeat(43)}` });
    const beat = () => recordHeartbeat(context, room, "ada", newer);
    expect(beat).toThrow(mustJoinAgain);
    expect(() => authorizeTunnel(context, room, "ada", newer, undefined)).toThrow(mustJoinAgain);
    const { token: minted } = await office.join({ transport: "tunnel" }, newer);
    expect(minted).toMatch(/^rhp_/);
    // Now the registration is the newest.
    office.openTunnel(office.ada);
    expect(beat).toThrow(expect.objectContaining({ code: "participant_token_invalid" }) as Error);
  });

  test("that only sends refused signs is offline after 30 s", () => {
    const office = openOffice(tunnelled, { has: { instructions: true } });
    for (const ms of [10_000, 10_000, 10_000, 500]) {
      office.pass(ms);
      expect(office.beat).toThrow(mustJoinAgain);
    }
    expect(office.seen()).toEqual(["participant.offline ada"]);
    expect(office.shown()).toMatchObject({ status: "offline", connection: { readiness: "down" } });
  });

  test("shows that it has instructions that are not known here", () => {
    const office = openOffice(tunnelled, { has: { instructions: true } });
    expect(office.shown().config).toMatchObject({ hasInstructions: true });
  });
});

describe("a direct participant whose authHeaders were lost", () => {
  const lost = { has: { authHeaders: true } };

  test("needs credentials, says that it must join again, and gets no request and no probe", () => {
    const office = openOffice({ liveness: "probe" }, lost);
    const { ada } = office;
    expect(office.shown().connection).toMatchObject({
      readiness: "needs-credentials",
      problem: "the hub that had its authHeaders has stopped: it must join again",
    });
    expect(ada.paths.direct.kind).toBe("refused");
    expect(isRoutable(ada, () => Number.MAX_SAFE_INTEGER)).toBe(false);
    expect(office.probes).toEqual([]);
  });

  test("is as it was after its next join", async () => {
    const office = openOffice({}, lost);
    await office.join({ authHeaders: { authorization: "Bearer CANARY" } }, withToken);
    expect(readinessOf(office.ada)).toBe("ready");
    expect(office.headersOf(office.ada)).toEqual({ authorization: "Bearer CANARY" });
  });

  test("is as it was after a change that has them, and watched where it is to be probed", async () => {
    const office = openOffice({ liveness: "probe" }, lost);
    office.watched.length = 0;
    const authHeaders = { authorization: "Bearer CANARY" };
    await updateParticipant(office.context, office.room, "ada", { authHeaders }, withToken);
    expect(readinessOf(office.ada)).toBe("ready");
    expect(office.watched).toEqual(["ada"]);
    expect(office.probes).toEqual(["ada"]);
  });

  test("still needs them after a change that has none", async () => {
    const office = openOffice({}, { has: { authHeaders: true, instructions: true } });
    const change = (request: object) =>
      updateParticipant(office.context, office.room, "ada", request, withToken);
    await change({ nickname: "Ada 2", model: "other" });
    expect(readinessOf(office.ada)).toBe("needs-credentials");
    await change({ config: { instructions: "be brief" } });
    expect(unroutableReason(office.ada, 0)).toContain("had its authHeaders has");
    expect(office.probes).toEqual([]);
    await change({ endpoint: "http://10.0.0.8:1" });
    expect(readinessOf(office.ada), "another origin never gets the old ones").toBe("ready");
  });

  test("is stored again with what it still lacks", async () => {
    const office = openOffice({}, { has: { authHeaders: true, instructions: true } });
    const facts = { hasAuthHeaders: false, computer: here, storedAt: 1 };
    expect(storedRegistrationOf(office.ada, facts).has).toEqual(office.registration.has);
  });
});

describe("a participant that registered at another computer", () => {
  test("stays one of that computer however often its registration is stored", () => {
    const office = openOffice({}, { computer: "0b0b" });
    const facts = { hasAuthHeaders: false, computer: here, storedAt: 1 };
    expect(storedRegistrationOf(office.ada, facts).computer).toBe("0b0b");
    expect(office.ada.registrant.computer).toBe("0b0b");
  });

  test("is this computer's after its next join", async () => {
    const office = openOffice({}, { computer: "0b0b" });
    await office.join({}, withToken);
    expect(office.ada.registrant.computer).toBeUndefined();
  });

  test("is not the one at this computer's loopback address, where that was its own", () => {
    const registrant = { address: "127.0.0.1", hasOrigin: false, throttleKey: "127.0.0.1" };
    const fields = { registrant, ownerAddress: "127.0.0.1" };
    const there = openOffice(fields, { computer: "0b0b" }).ada;
    expect(proofOf("compat", there, peerAt("127.0.0.1"))).toBeUndefined();
    expect(there.paths.ownerAddress).toBeUndefined();
    const same = openOffice(fields).ada;
    expect(proofOf("compat", same, peerAt("127.0.0.1"))).toBe("address");
    expect(same.paths.ownerAddress).toBe("127.0.0.1");
  });

  test("may still show by its address on the network who it is", () => {
    const registrant = { address: home, hasOrigin: false, throttleKey: home };
    const there = openOffice({ registrant }, { computer: "0b0b" }).ada;
    expect(proofOf("compat", there, peerAt(home))).toBe("address");
  });
});
