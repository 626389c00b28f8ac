import { systemWorld } from "@roomhub/protocol";
import { describe, expect, test } from "vitest";
import { mintToken } from "../credentials/tokens.ts";
import { HubError } from "../errors.ts";
import type { OwnershipMode } from "./context.ts";
import { createOffice, elsewhere, home, peerAt, tokenOf } from "./operations.fixture.ts";
import { authorizeTunnel, leaveParticipant, recordHeartbeat } from "./participants.ts";
import { updateParticipant } from "./update-participant.ts";

const actions = ["join again", "PUT", "leave", "heartbeat", "tunnel"] as const;
const proofs = [
  "no token, other address",
  "no token, same address",
  "wrong token",
  "right token",
  "no token, no address",
] as const;
type Action = (typeof actions)[number];
type Proof = (typeof proofs)[number];

const required = "participant_token_required";
const invalid = "participant_token_invalid";
const taken = "participant_id_taken";

/** What becomes of each attempt at a live participant. Contract §3, "Ownership". */
const expected: Record<OwnershipMode, Record<Action, Record<Proof, string>>> = {
  compat: {
    "join again": row(taken, "ok", invalid, "ok", taken),
    PUT: row(required, "ok", invalid, "ok", required),
    leave: row(required, "ok", invalid, "ok", required),
    heartbeat: row("ok", "ok", invalid, "ok", "ok"),
    tunnel: row(required, required, invalid, "ok", required),
  },
  strict: {
    "join again": row(taken, taken, invalid, "ok", taken),
    PUT: row(required, required, invalid, "ok", required),
    leave: row(required, required, invalid, "ok", required),
    heartbeat: row("ok", "ok", invalid, "ok", "ok"),
    tunnel: row(required, required, invalid, "ok", required),
  },
  open: {
    "join again": row("ok", "ok", "ok", "ok", "ok"),
    PUT: row("ok", "ok", "ok", "ok", "ok"),
    leave: row("ok", "ok", "ok", "ok", "ok"),
    heartbeat: row("ok", "ok", "ok", "ok", "ok"),
    tunnel: row(required, required, invalid, "ok", required),
  },
};

function row(other: string, same: string, wrong: string, right: string, none: string) {
  return {
    "no token, other address": other,
    "no token, same address": same,
    "wrong token": wrong,
    "right token": right,
    "no token, no address": none,
  };
}

function peerWith(proof: Proof, token: string) {
  switch (proof) {
    case "no token, other address":
      return peerAt(elsewhere);
    case "no token, same address":
      return peerAt(home);
    // Refused even from the right address.
    case "wrong token":
      return peerAt(home, { token: mintToken(systemWorld).token.reveal() });
    // Good from anywhere.
    case "right token":
      return peerAt(elsewhere, { token });
    case "no token, no address":
      return peerAt(undefined);
  }
}

async function attempt(mode: OwnershipMode, action: Action, proof: Proof) {
  const office = createOffice({ ownership: mode });
  const outcome = await office.join();
  const peer = peerWith(proof, tokenOf(outcome));
  const { context, room } = office;
  office.seen();
  const before = { ...outcome.participant };
  office.pass(10_000);
  let result = "ok";
  try {
    if (action === "join again") await office.join({ nickname: "Eve" }, peer);
    else if (action === "PUT") {
      await updateParticipant(context, room, "ada", { nickname: "Eve" }, peer);
    } else if (action === "leave") await leaveParticipant(context, room, "ada", peer);
    else if (action === "heartbeat") recordHeartbeat(context, room, "ada", peer);
    else authorizeTunnel(context, room, "ada", peer, undefined);
  } catch (error) {
    if (!(error instanceof HubError)) throw error;
    result = error.code;
  }
  return { result, before, after: outcome.participant, office };
}

describe.each(["compat", "strict", "open"] as const)("in %s mode", (mode) => {
  describe.each(actions)("%s", (action) => {
    test.each(proofs)("with %s", async (proof) => {
      const { result, before, after, office } = await attempt(mode, action, proof);
      expect(result).toBe(expected[mode][action][proof]);
      if (result !== "ok") {
        expect(after, "a refused request changes nothing").toEqual(before);
        expect(office.seen()).toEqual([]);
      }
    });
  });
});

describe("an address", () => {
  test("that is hidden proves nothing, not even against another hidden one", async () => {
    const office = createOffice();
    await office.join({}, peerAt(undefined));
    await expect(office.join({}, peerAt(undefined))).rejects.toMatchObject({ code: taken });
  });
});

describe("a tunnel", () => {
  test("is refused to a web page, even with the right token", async () => {
    const office = createOffice();
    const token = tokenOf(await office.join());
    const page = peerAt(home, { token, hasOrigin: true });
    expect(() => authorizeTunnel(office.context, office.room, "ada", page, undefined)).toThrow(
      expect.objectContaining({ code: "origin_not_allowed", status: 403 }),
    );
  });

  test("of an unknown id is 404", () => {
    const { context, room } = createOffice();
    expect(() => authorizeTunnel(context, room, "ghost", peerAt(home), undefined)).toThrow(
      expect.objectContaining({ code: "participant_not_found" }),
    );
  });
});

test("a refused heartbeat does not move the deadline", async () => {
  const { before, after, office } = await attempt("strict", "heartbeat", "wrong token");
  expect(after.presence.lastSeenMs).toBe(before.presence.lastSeenMs);
  office.pass(20_001);
  office.pass(250);
  expect(office.seen()).toEqual(["participant.offline ada"]);
});

test("a web page proves nothing by the address it shares with what others there registered", async () => {
  const office = createOffice();
  const { participant } = await office.join();
  const page = peerAt(home, { hasOrigin: true });
  const code = participant.roomCode;
  const leave = (peer = peerAt(home)) =>
    leaveParticipant(office.context, code, participant.id, peer);
  await expect(leave(page)).rejects.toThrow(HubError);
  expect(participant.presence.status).toBe("online");
  await leave();
  expect(office.events.at(-1)?.name).toBe("participant.left");
});

describe("a join with If-None-Match: *", () => {
  const agents = ["1", "2"].map((digit) => `00000000-0000-4000-8000-00000000000${digit}`);
  const [first, second] = agents;
  const agent = { transport: "tunnel", machineSecret: "a".repeat(43), agentId: first } as const;
  const restarted = { ...agent, agentId: second };

  test.each<[what: string, peer: ReturnType<typeof peerAt>]>([
    ["from the same address", peerAt(home)],
    ["from another", peerAt(elsewhere)],
  ])("takes no id that another agent just joined with, %s", async (_what, peer) => {
    const office = createOffice();
    await office.joinAsNew(agent);
    await expect(office.joinAsNew(restarted, peer)).rejects.toMatchObject({ code: taken });
  });

  test("takes none whose tunnel is open, and with the machine's secret that of an agent that has ended", async () => {
    const office = createOffice({ ownership: "strict" });
    const { participant } = await office.joinAsNew(agent);
    office.openTunnel(participant);
    await expect(office.joinAsNew(restarted)).rejects.toMatchObject({ code: taken });
    office.context.paths.closeTunnel(participant, "left");
    const other = { ...restarted, machineSecret: "b".repeat(43) };
    await expect(office.joinAsNew(other)).rejects.toMatchObject({ code: taken });
    await expect(office.joinAsNew({ transport: "tunnel" })).rejects.toMatchObject({ code: taken });
    office.pass(1_000);
    expect(await office.joinAsNew(restarted)).toMatchObject({ isNew: false, participant });
    // The next that is started at this moment.
    await expect(office.joinAsNew(agent)).rejects.toMatchObject({ code: taken });
  });

  test("takes no offline id of another machine", async () => {
    const office = createOffice();
    await office.joinAsNew(agent);
    office.pass(31_000);
    const other = { ...restarted, machineSecret: "b".repeat(43) };
    await expect(office.joinAsNew(other)).rejects.toMatchObject({ code: taken });
    expect((await office.joinAsNew(restarted)).participant.agentId).toBe(second);
  });

  test("has the id of its own earlier join, whose response may have been lost", async () => {
    const office = createOffice();
    const { participant } = await office.joinAsNew(agent);
    expect(await office.joinAsNew(agent)).toMatchObject({ isNew: false, participant });
  });
});

describe("a join that was held up", () => {
  const bootId = "00000000-0000-4000-8000-000000000001";
  const nth = (joins: number) => ({ transport: "tunnel", run: { bootId, joins } }) as const;

  test.each(["compat", "strict", "open"] as const)(
    "does not undo the next one of its agent in %s mode",
    async (ownership) => {
      const office = createOffice({ ownership });
      const { participant } = await office.join(nth(2));
      await expect(office.join(nth(1))).rejects.toMatchObject({ code: taken });
      await expect(office.joinAsNew(nth(1))).rejects.toMatchObject({ code: taken });
      expect(participant.run?.joins).toBe(2);
      expect(office.closedTunnels).toEqual([]);
    },
  );

  test.each([
    ["the agent's next run", { bootId: "00000000-0000-4000-8000-000000000002", joins: 1 }],
    ["a client that counts no joins", undefined],
  ])("is none from %s", async (_from, run) => {
    const office = createOffice();
    const { participant } = await office.join(nth(2));
    office.openTunnel(participant);
    expect(await office.join({ transport: "tunnel", run })).toMatchObject({ participant });
    expect(office.closedTunnels).toEqual([["ada", "replaced"]]);
  });
});
