import type { JoinRequest } from "@roomhub/protocol";
import { describe, expect, test } from "vitest";
import { createOffice, elsewhere, home, peerAt } from "./operations.fixture.ts";
import { expireParticipants, getParticipant, recordHeartbeat } from "./participants.ts";
import { directReported } from "./direct-path.ts";
import { tunnelClosed } from "./tunnel-path.ts";
import { updateParticipant } from "./update-participant.ts";

const probe = { liveness: "probe" } as const;
const dayMs = 24 * 3_600_000;

type Office = ReturnType<typeof createOffice>;

/** A probe's response that counts as a heartbeat. */
function live(office: Office, participant: Parameters<typeof directReported>[1]): void {
  directReported(office.context, participant, {
    kind: "responded",
    verdict: office.behaviour.verdict,
    isLife: true,
  });
}

describe("a join with liveness probe", () => {
  test("is listed so and has its endpoint watched", async () => {
    const office = createOffice();
    await office.join(probe);
    expect(office.watched).toEqual(["ada"]);
    expect(getParticipant(office.context, office.room, "ada").liveness).toBe("probe");
  });

  test.each<[string, Partial<JoinRequest>]>([
    ["without the field", {}],
    ["with null", { liveness: null }],
  ])("%s is none: 30 s of silence is offline", async (_what, fields) => {
    const office = createOffice();
    const { participant } = await office.join(fields);
    expect(office.watched).toEqual([]);
    expect(getParticipant(office.context, office.room, "ada").liveness).toBeUndefined();
    office.pass(30_001);
    expect(participant.presence.status).toBe("offline");
  });

  test("keeps it online by responses that are signs of life", async () => {
    const office = createOffice();
    const { participant } = await office.join(probe);
    office.seen();
    for (let count = 0; count < 10; count++) {
      office.pass(20_000);
      live(office, participant);
    }
    expect(participant.presence.status).toBe("online");
    expect(office.seen()).toEqual([]);
  });

  test("brings it back with one update, whatever else the response changes", async () => {
    const office = createOffice();
    const { participant } = await office.join(probe);
    directReported(office.context, participant, { kind: "failed", reason: "ECONNREFUSED" });
    office.pass(31_000);
    expect(office.seen().at(-1)).toBe("participant.offline ada");
    live(office, participant);
    const [back, ...more] = office.events.splice(0);
    expect(more).toEqual([]);
    expect(back?.shown).toMatchObject({
      status: "online",
      connection: { connected: true, readiness: "ready" },
    });
  });

  test.each<[string, Partial<JoinRequest>, string]>([
    ["the hub may not dial its endpoint", {}, "a private address"],
    ["it is never dialled", { transport: "tunnel" }, "its tunnel is closed"],
  ])("is refused where %s, without an event", async (_what, fields, reason) => {
    const office = createOffice();
    office.behaviour.direct = { kind: "refused", reason: "a private address" };
    office.seen();
    await expect(office.join({ ...probe, ...fields })).rejects.toMatchObject({
      code: "invalid_endpoint",
      param: "endpoint",
      message: `This hub cannot probe the endpoint of ada: ${reason}.`,
      hint: `On its own machine run: roomhub join ${office.room}`,
    });
    expect(office.seen()).toEqual([]);
  });
});

describe("the number of probed participants", () => {
  test("in a room is bounded, by joins and by changes", async () => {
    const office = createOffice({ limits: { probedPerRoom: 2 } });
    const peers = ["10.0.0.1", "10.0.0.2", "10.0.0.3"].map((address) => peerAt(address));
    await office.join({ id: "a", ...probe }, peers[0]);
    await office.join({ id: "b", ...probe }, peers[1]);
    const refused = {
      code: "participant_limit_reached",
      status: 503,
      param: "liveness",
      message: expect.stringContaining("ROOMHUB_PROBED_PER_ROOM") as string,
    };
    await expect(office.join({ id: "c", ...probe }, peers[2])).rejects.toMatchObject(refused);
    await office.join({ id: "c" }, peers[2]);
    const change = updateParticipant(office.context, office.room, "c", probe, peers[2]!);
    await expect(change).rejects.toMatchObject(refused);
    // One that is probed already takes no other's place.
    await office.join({ id: "b", ...probe }, peers[1]);
    await office.join({ id: "d", ...probe }, peers[2], await office.addRoom());
  });

  test("of an address is bounded over all rooms", async () => {
    const office = createOffice({ limits: { probedPerAddress: 2 } });
    const other = await office.addRoom();
    await office.join({ id: "a", ...probe });
    await office.join({ id: "a", ...probe }, peerAt(home), other);
    const again = office.join({ id: "b", ...probe }, peerAt(home), other);
    await expect(again).rejects.toMatchObject({
      code: "participant_limit_reached",
      message: expect.stringContaining("ROOMHUB_PROBED_PER_ADDRESS") as string,
    });
    await office.join({ id: "b", ...probe }, peerAt(elsewhere), other);
    const peer = peerAt(home);
    await updateParticipant(office.context, other, "a", { liveness: null }, peer);
    await office.join({ id: "c", ...probe }, peer, other);
  });
});

describe("a change of liveness", () => {
  test("begins and ends it, with one update each", async () => {
    const office = createOffice();
    const { participant } = await office.join();
    office.seen();
    const put = (liveness: "probe" | null) =>
      updateParticipant(office.context, office.room, "ada", { liveness }, peerAt(home));
    await put("probe");
    expect([participant.liveness, office.watched]).toEqual(["probe", ["ada"]]);
    await put(null);
    expect(participant.liveness).toBeUndefined();
    expect(office.seen()).toEqual(["participant.updated ada", "participant.updated ada"]);
  });

  test("is refused where the hub may not dial, and changes nothing", async () => {
    const office = createOffice();
    const { participant } = await office.join();
    office.behaviour.direct = { kind: "refused", reason: "a private address" };
    office.seen();
    const change = { ...probe, nickname: "changed", endpoint: "http://10.0.0.9" };
    const put = updateParticipant(office.context, office.room, "ada", change, peerAt(home));
    await expect(put).rejects.toMatchObject({ code: "invalid_endpoint" });
    expect(participant).toMatchObject({ nickname: "Ada", liveness: undefined });
    expect(participant.endpoint).toBe("http://10.0.0.7:11434");
    expect(office.seen()).toEqual([]);
  });

  test("is part of a join again, which replaces all fields", async () => {
    const office = createOffice();
    await office.join(probe);
    const { participant } = await office.join();
    expect(participant.liveness).toBeUndefined();
  });
});

describe("a probed participant without a use", () => {
  /** A day after the join, with a sign of life every 20 s. */
  async function lab() {
    const office = createOffice();
    const { participant } = await office.join(probe);
    const passDay = () => {
      for (let leftMs = dayMs; leftMs > 0; leftMs -= 20_000) {
        office.pass(20_000);
        live(office, participant);
      }
    };
    passDay();
    office.seen();
    return { office, participant, passDay };
  }

  test("is removed after 24 h, though its endpoint responds", async () => {
    const { office } = await lab();
    expireParticipants(office.context);
    expect(office.seen()).toEqual([]);
    office.pass(1);
    expireParticipants(office.context);
    expect(office.events.splice(0)).toEqual([
      {
        name: "participant.left",
        who: "ada",
        shown: { participantId: "ada", nickname: "Ada", reason: "expired" },
      },
    ]);
  });

  test.each<
    [string, (office: Office, participant: { presence: { lastUsedMs: number } }) => unknown]
  >([
    ["a heartbeat", ({ context, room }) => recordHeartbeat(context, room, "ada", peerAt(home))],
    ["a complete response", ({ context }, ada) => (ada.presence.lastUsedMs = context.nowMs())],
    ["a join again", (office) => office.join(probe)],
  ])("stays for another 24 h after %s", async (_what, use) => {
    const { office, participant, passDay } = await lab();
    await use(office, participant);
    passDay();
    expireParticipants(office.context);
    expect(office.seen()).not.toContain("participant.left ada");
    office.pass(1);
    expireParticipants(office.context);
    expect(office.seen()).toContain("participant.left ada");
  });

  test("stays while its own tunnel is open", async () => {
    const { office, participant } = await lab();
    office.openTunnel(participant);
    office.pass(1);
    expireParticipants(office.context);
    expect(office.seen()).not.toContain("participant.left ada");
    tunnelClosed(office.context, participant);
    expireParticipants(office.context);
    expect(office.seen()).toContain("participant.left ada");
  });
});
