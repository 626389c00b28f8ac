import { type JoinRequest, systemWorld } from "@roomhub/protocol";
import { describe, expect, test } from "vitest";
import { mintToken } from "../credentials/tokens.ts";
import { createOffice, elsewhere, home, peerAt, tokenOf } from "./operations.fixture.ts";
import { isOwnRequest } from "./ownership.ts";
import { authorizeTunnel, getParticipant, recordHeartbeat } from "./participants.ts";
import { dropUnusedRooms } from "./rooms.ts";
import { updateParticipant } from "./update-participant.ts";

const authHeaders = { authorization: "Bearer sk-CANARY" };

describe("a first join", () => {
  test("mints a token, counts as a heartbeat and is announced once, then once more when its endpoint responded", async () => {
    const office = createOffice();
    office.seen();
    const outcome = await office.join({ authHeaders, config: { maxConcurrency: 3 } });
    expect(outcome.isNew).toBe(true);
    expect(outcome.token).toMatch(/^rhp_[\w-]{43}$/);
    expect(outcome.participant).toMatchObject({
      baseUrl: "http://10.0.0.7:11434/v1",
      registrant: { address: home, hasOrigin: false },
      learned: { capabilities: { openResponses: "unknown", chatCompletions: "unknown" } },
      paths: { direct: { kind: "answered" } },
      load: { limit: 3 },
      presence: { status: "online" },
    });
    expect(JSON.stringify(office.events)).not.toContain("CANARY");
    expect(office.seen()).toEqual(["participant.joined ada", "participant.updated ada"]);
    expect(office.headersOf(outcome.participant)).toEqual(authHeaders);
    expect(office.woken).toContain(office.room);
    office.pass(30_000);
    expect(outcome.participant.presence.status).toBe("online");
  });

  test("has the limit that the hub assumes when it declares none", async () => {
    const office = createOffice({ limits: { assumedConcurrency: 17 } });
    expect((await office.join()).participant.load.limit).toBe(17);
  });

  test("keeps the digest of its machine's secret, and the secret nowhere", async () => {
    const office = createOffice();
    const machineSecret = "CANARY".padEnd(43, "x");
    const { participant } = await office.join({ machineSecret });
    const other = await office.join({ id: "bob", machineSecret });
    expect(participant.machineDigest).toHaveLength(32);
    expect(other.participant.machineDigest).toEqual(participant.machineDigest);
    expect(JSON.stringify([participant, office.events])).not.toContain("CANARY");
    expect((await office.join({ id: "eve" })).participant.machineDigest).toBeUndefined();
  });

  test("of a stand-in is listed as one, which a change keeps and a join without it ends", async () => {
    const office = createOffice();
    const { token = "" } = await office.join({ standIn: true });
    const standIn = () => getParticipant(office.context, office.room, "ada").standIn;
    expect(standIn()).toBe(true);
    const peer = peerAt(home, { token });
    await updateParticipant(office.context, office.room, "ada", { model: "other" }, peer);
    expect(standIn()).toBe(true);
    await office.join({}, peer);
    expect(standIn()).toBeUndefined();
  });

  test("whose owner's requests go first gets a client key, and keeps it with its token", async () => {
    const office = createOffice();
    const { clientKey = "", participant, ...first } = await office.join({ ownFirst: true });
    expect(clientKey).toMatch(/^rhc_[\w-]{43}$/);
    expect(JSON.stringify([participant, office.events])).not.toContain(clientKey);
    const from = (ownAddress: string | undefined, key?: string) =>
      isOwnRequest({ ownAddress, clientKey: key, keyId: undefined }, participant);
    expect([from(home), from(undefined, clientKey)]).toEqual([true, true]);
    Object.assign(participant, { keyId: "1" });
    const byKey = (keyId: string) =>
      isOwnRequest({ ownAddress: home, clientKey: undefined, keyId }, participant);
    expect([byKey("1"), byKey("2")]).toEqual([true, false]);
    expect([from(elsewhere), from(undefined), from(undefined, `${clientKey}x`)]).toEqual([
      false,
      false,
      false,
    ]);
    const token = first.token ?? "";
    const again = await office.join({ ownFirst: true }, peerAt(elsewhere, { token }));
    expect(again.clientKey).toBeUndefined();
    expect(from(undefined, clientKey)).toBe(true);
    expect([from(home), from(elsewhere)]).toEqual([false, true]);
    await office.join({}, peerAt(home, { token }));
    expect([from(home), from(undefined, clientKey)]).toEqual([false, false]);
    expect((await office.join({ ownFirst: true }, peerAt(home, { token }))).clientKey).not.toBe(
      clientKey,
    );
  });

  test("with ownFirst false, or without it, has no client key", async () => {
    const office = createOffice();
    const { clientKey, participant } = await office.join({ ownFirst: false });
    expect(clientKey).toBeUndefined();
    const request = { ownAddress: home, clientKey: undefined, keyId: undefined };
    expect(isOwnRequest(request, participant)).toBe(false);
  });

  test("that announces a tunnel is never dialled", async () => {
    const office = createOffice();
    const { participant, warnings } = await office.join({ transport: "tunnel" });
    expect(office.probes).toEqual([]);
    expect(participant.paths.direct.kind).toBe("refused");
    expect(warnings).toEqual([]);
  });

  test.each([
    ["cannot be reached", "endpoint_unreachable"],
    ["may not be dialled", "endpoint_not_dialled"],
  ])("whose endpoint %s says so, with the line that would work", async (what, code) => {
    const office = createOffice();
    office.behaviour.endpoint = "fails";
    if (what === "may not be dialled") {
      office.behaviour.direct = { kind: "refused", reason: "a private address" };
    }
    const { warnings, participant } = await office.join({ model: "it's mine" });
    expect(warnings).toHaveLength(1);
    expect(warnings[0]?.code).toBe(code);
    expect(warnings[0]?.message).toContain(
      `roomhub join ${office.room} --id ada --model 'it'\\''s mine' --endpoint http://10.0.0.7:11434`,
    );
    expect(participant.presence.status).toBe("online");
  });

  test("succeeds although the endpoint does not respond in time", async () => {
    const office = createOffice();
    office.behaviour.endpoint = "hangs";
    const { participant, warnings } = await office.join();
    expect([participant.paths.direct.kind, warnings]).toEqual(["untried", []]);
  });

  test("with a token of an earlier life is a join like any other", async () => {
    const office = createOffice();
    const stale = mintToken(systemWorld).token.reveal();
    const { isNew, token } = await office.join({}, peerAt(home, { token: stale }));
    expect(isNew).toBe(true);
    expect(token).not.toBe(stale);
  });

  test("into no room is 404", async () => {
    const office = createOffice();
    await expect(office.join({}, peerAt(home), "ZZZZZZ")).rejects.toMatchObject({
      code: "room_not_found",
    });
  });
});

describe("joining again", () => {
  test("with the token keeps token, tunnel and secrets, and replaces the rest", async () => {
    const office = createOffice();
    const first = await office.join({ authHeaders, specs: { gpu: "x" }, config: { seed: 1 } });
    office.openTunnel(first.participant);
    office.seen();
    const peer = peerAt(elsewhere, { token: tokenOf(first) });
    const again = await office.join({ model: "qwen" }, peer);
    expect(again).toMatchObject({ isNew: false, token: undefined });
    expect(again.participant).toBe(first.participant);
    expect(again.participant).toMatchObject({ model: "qwen", specs: {}, config: {} });
    expect(again.participant.paths.tunnel.kind).toBe("open");
    expect(office.closedTunnels).toEqual([]);
    expect(office.headersOf(again.participant)).toEqual(authHeaders);
    expect(office.seen()).toEqual(["participant.updated ada"]);
  });

  test("from the same address alone mints a token, closes the tunnel and drops the secrets", async () => {
    const office = createOffice();
    const first = await office.join({ authHeaders });
    office.openTunnel(first.participant);
    office.seen();
    const again = await office.join();
    expect(again.isNew).toBe(false);
    expect(tokenOf(again)).not.toBe(tokenOf(first));
    expect(office.closedTunnels).toEqual([["ada", "replaced"]]);
    expect(office.headersOf(again.participant)).toEqual({});
    const old = peerAt(home, { token: tokenOf(first) });
    expect(() => authorizeTunnel(office.context, office.room, "ada", old, undefined)).toThrow(
      expect.objectContaining({ code: "participant_token_invalid" }),
    );
    expect(new Set(office.seen())).toEqual(new Set(["participant.updated ada"]));
  });

  test("in open mode mints for a peer without a token, and not for one with the right token", async () => {
    const office = createOffice({ ownership: "open" });
    const first = await office.join();
    const wrong = mintToken(systemWorld).token.reveal();
    const second = await office.join({}, peerAt(elsewhere, { token: wrong }));
    expect(tokenOf(second)).not.toBe(tokenOf(first));
    const third = await office.join({}, peerAt(elsewhere, { token: tokenOf(second) }));
    expect(third.token).toBeUndefined();
  });

  const secrets: [string, Partial<JoinRequest>, Record<string, string>][] = [
    ["kept at the same origin", { endpoint: "http://10.0.0.7:11434/other" }, authHeaders],
    ["dropped at another port", { endpoint: "http://10.0.0.7:9" }, {}],
    ["dropped at another host", { endpoint: "http://evil.example/v1" }, {}],
    ["dropped at another scheme", { endpoint: "https://10.0.0.7:11434" }, {}],
    [
      "replaced when sent again",
      { endpoint: "http://evil.example", authHeaders: { a: "b" } },
      { a: "b" },
    ],
    ["cleared by null", { authHeaders: null }, {}],
    ["cleared by none", { authHeaders: {} }, {}],
  ];
  test.each(secrets)("with the token: secrets are %s", async (_what, fields, expected) => {
    const office = createOffice();
    const first = await office.join({ authHeaders });
    const again = await office.join(fields, peerAt(home, { token: tokenOf(first) }));
    expect(office.headersOf(again.participant)).toEqual(expected);
  });

  test("brings an offline participant back with one update", async () => {
    const office = createOffice();
    office.behaviour.endpoint = "hangs";
    const { participant } = await office.join();
    office.pass(31_000);
    office.seen();
    await office.join();
    expect(participant.presence.status).toBe("online");
    expect(office.seen()).toEqual(["participant.updated ada"]);
  });
});

describe("an offline id", () => {
  test("goes to a newcomer: left, then joined, and nothing is inherited", async () => {
    const office = createOffice();
    const first = await office.join({ authHeaders, config: { instructions: "CANARY" } });
    office.pass(31_000);
    office.seen();
    const second = await office.join({}, peerAt(elsewhere));
    expect(second.isNew).toBe(true);
    expect(office.seen().slice(0, 2)).toEqual(["participant.left ada", "participant.joined ada"]);
    expect(second.participant).not.toBe(first.participant);
    expect(second.participant.key).not.toBe(first.participant.key);
    expect(second.participant.config).toEqual({});
    expect(office.headersOf(second.participant)).toEqual({});
    expect(office.headersOf(first.participant)).toEqual({});
    const old = peerAt(home, { token: tokenOf(first) });
    expect(() => recordHeartbeat(office.context, office.room, "ada", old)).toThrow(
      expect.objectContaining({ code: "participant_token_invalid" }),
    );
    await expect(office.join({}, peerAt(home))).rejects.toMatchObject({
      code: "participant_id_taken",
    });
  });

  test("stays where it is when the newcomer's endpoint is refused", async () => {
    const office = createOffice({ limits: { endpointLength: 30 } });
    await office.join();
    office.pass(31_000);
    office.seen();
    const endpoint = `http://10.0.0.7/${"x".repeat(30)}`;
    await expect(office.join({ endpoint }, peerAt(elsewhere))).rejects.toMatchObject({
      code: "invalid_endpoint",
    });
    expect(office.context.registry.participantCount).toBe(1);
    expect(office.seen()).toEqual([]);
  });

  test("goes even though its endpoint once responded", async () => {
    const office = createOffice();
    const { participant } = await office.join();
    expect(participant.paths.direct.kind).toBe("answered");
    office.pass(31_000);
    await expect(office.join({}, peerAt(elsewhere))).resolves.toMatchObject({ isNew: true });
  });

  test("is still its owner's, and comes back unchanged", async () => {
    const office = createOffice();
    const first = await office.join({ authHeaders });
    office.pass(31_000);
    const again = await office.join({}, peerAt(elsewhere, { token: tokenOf(first) }));
    expect(again).toMatchObject({ isNew: false, token: undefined });
    expect(office.headersOf(again.participant)).toEqual(authHeaders);
  });
});

describe("a protected room", () => {
  test("refuses a wrong or missing password, with the same error for both", async () => {
    const office = createOffice();
    const code = await office.addRoom("swordfish");
    const wrong = office.join({ password: "tuna" }, peerAt(home), code);
    const missing = office.join({}, peerAt(home), code);
    const [one, other] = await Promise.allSettled([wrong, missing]);
    expect(one).toMatchObject({ reason: { code: "invalid_password", status: 401 } });
    expect(one).toEqual(other);
    expect(office.context.registry.room(code).participants.size).toBe(0);
    await expect(office.join({ password: "swordfish" }, peerAt(home), code)).resolves.toMatchObject(
      {
        isNew: true,
      },
    );
  });

  test("requires its password of a peer that proves an id by address, not of one that has the token", async () => {
    const office = createOffice();
    const code = await office.addRoom("swordfish");
    const first = await office.join({ password: "swordfish" }, peerAt(home), code);
    await expect(office.join({}, peerAt(home), code)).rejects.toMatchObject({
      code: "invalid_password",
    });
    const owner = peerAt(elsewhere, { token: tokenOf(first) });
    await expect(office.join({}, owner, code)).resolves.toMatchObject({ isNew: false });
  });

  test("takes five wrong ones and then makes that address wait, but no other", async () => {
    const office = createOffice();
    const code = await office.addRoom("swordfish");
    const codes: unknown[] = [];
    for (let time = 0; time < 6; time++) {
      await office
        .join({ password: "tuna" }, peerAt(home), code)
        .catch((error: unknown) => codes.push(error));
    }
    expect(codes.slice(0, 5)).toEqual(
      Array(5).fill(expect.objectContaining({ code: "invalid_password" })),
    );
    expect(codes[5]).toMatchObject({ code: "too_many_attempts", retryAfterMs: 2_000 });
    await expect(
      office.join({ password: "swordfish" }, peerAt(elsewhere), code),
    ).resolves.toMatchObject({ isNew: true });
    office.pass(2_000);
    await expect(
      office.join({ id: "bob", password: "swordfish" }, peerAt(home), code),
    ).resolves.toMatchObject({ isNew: true });
  });

  test("that is dropped while a password is checked takes no participant", async () => {
    const office = createOffice();
    const code = await office.addRoom("swordfish");
    const room = office.context.registry.room(code);
    const joining = office.join({ password: "swordfish" }, peerAt(home), code);
    office.pass(31 * 24 * 3_600_000);
    dropUnusedRooms(office.context);
    await expect(joining).rejects.toMatchObject({ code: "room_not_found" });
    expect(room.participants.size).toBe(0);
    expect(office.context.registry.participantCount).toBe(0);
  });
});

describe("an id that is another's model, or the reverse", () => {
  test.each([
    ["the id", { id: "llama3", model: "x" }, "The id llama3 is also the model of ada"],
    ["the model", { id: "bob", model: "ada" }, "The model ada is also the id of ada"],
    ["the id with a tag", { id: "llama3:latest", model: "x" }, "requests for llama3:latest will"],
    ["the model with a tag", { id: "bob", model: "ada:latest" }, "requests for ada go there"],
  ])("is accepted with a warning: %s", async (_what, fields, message) => {
    const office = createOffice();
    await office.join();
    const { warnings } = await office.join(fields);
    expect(warnings).toEqual([
      { code: "participant_id_conflicts", message: expect.stringContaining(message) },
    ]);
  });

  test("is refused in strict mode, and no participant joins", async () => {
    const office = createOffice({ ownership: "strict" });
    await office.join();
    await expect(office.join({ id: "llama3", model: "x" })).rejects.toMatchObject({
      code: "participant_id_conflicts",
      status: 409,
    });
    expect(office.context.registry.participantCount).toBe(1);
  });

  test("is refused in strict mode also when only a :latest tag is different", async () => {
    const office = createOffice({ ownership: "strict" });
    await office.join({ model: "llama3:latest" });
    const joining = office.join({ id: "llama3", model: "x" });
    await expect(joining).rejects.toMatchObject({ code: "participant_id_conflicts" });
    const otherTag = await office.join({ id: "llama3:8b", model: "x" });
    expect(otherTag.warnings).toEqual([]);
  });

  test("is no conflict with oneself", async () => {
    const office = createOffice({ ownership: "strict" });
    const { warnings } = await office.join({ id: "llama3" });
    expect(warnings).toEqual([]);
  });
});

describe("a full room", () => {
  test("lets its longest offline participant go for a newcomer", async () => {
    const office = createOffice({ limits: { participantsPerRoom: 3 } });
    await office.join({ id: "oldest" });
    office.pass(1_000);
    await office.join({ id: "older" });
    office.pass(31_000);
    await office.join({ id: "online" });
    office.seen();
    await office.join({ id: "new" });
    expect(office.events[0]).toMatchObject({
      name: "participant.left",
      shown: { participantId: "oldest", nickname: "Ada", reason: "evicted" },
    });
    const ids = [...office.context.registry.room(office.room).participants.keys()];
    expect(ids).toEqual(["older", "online", "new"]);
  });

  test("of live participants takes n and not n + 1, but anybody may join again", async () => {
    const office = createOffice({ limits: { participantsPerRoom: 2 } });
    await office.join({ id: "a" });
    await office.join({ id: "b" });
    await expect(office.join({ id: "c" })).rejects.toMatchObject({
      code: "participant_limit_reached",
      status: 503,
    });
    await expect(office.join({ id: "a" })).resolves.toMatchObject({ isNew: false });
  });

  test("may be a full hub", async () => {
    const office = createOffice({ limits: { participantsPerHub: 1 } });
    await office.join({ id: "a" });
    const other = await office.addRoom();
    await expect(office.join({ id: "b" }, peerAt(home), other)).rejects.toMatchObject({
      code: "participant_limit_reached",
    });
  });
});
