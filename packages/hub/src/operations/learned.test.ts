import type { Features, MeasuredFeatures } from "@roomhub/protocol";
import { describe, expect, test } from "vitest";
import type { Participant } from "../domain/participant.ts";
import type { Peer } from "./context.ts";
import { directReported } from "./direct-path.ts";
import { featuresMeasured } from "./learned.ts";
import { createOffice, home, peerAt } from "./operations.fixture.ts";
import { viewOf } from "./participants.ts";
import { createRoom } from "./rooms.ts";
import { statusReported, tunnelOpened } from "./tunnel-path.ts";
import { updateParticipant } from "./update-participant.ts";

const host = peerAt("127.0.0.1");
const reported = { tools: "unknown", structuredOutput: "enforced", vision: "supported" };
const ready = { ready: true, features: reported };
const shown: MeasuredFeatures = { tools: "supported", vision: "unsupported" };

async function measured(features: MeasuredFeatures = shown) {
  const office = createOffice();
  const { participant } = await office.join({ transport: "tunnel" });
  tunnelOpened(office.context, participant);
  statusReported(office.context, participant, ready);
  office.seen();
  featuresMeasured(office.context, office.room, "ada", features, host);
  return { ...office, participant, listed: () => viewOf(office.context, participant).features };
}

describe("what was measured of a participant's model", () => {
  test("is listed in place of what is reported, with an event, and is what requests are routed by", async () => {
    const { seen, listed, participant } = await measured();
    expect(seen()).toEqual(["participant.updated ada"]);
    expect(listed()).toMatchObject({ tools: "supported", vision: "unsupported" });
    expect(participant.learned.abilities[3] & 3).toBe(1);
  });

  test("replaces what was measured before, and is no event where it says the same", async () => {
    const { context, room, seen, listed } = await measured();
    seen();
    featuresMeasured(context, room, "ada", shown, host);
    expect(seen()).toEqual([]);
    featuresMeasured(context, room, "ada", {}, host);
    expect(listed()).toMatchObject({ tools: "unknown", vision: "supported" });
  });

  test.each<[Features["structuredOutput"] | undefined, MeasuredFeatures, string]>([
    ["enforced", { structuredOutput: "best-effort" }, "enforced"],
    ["enforced", { structuredOutput: "ignored" }, "ignored"],
    ["ignored", { structuredOutput: "best-effort" }, "best-effort"],
    [undefined, { structuredOutput: "best-effort" }, "best-effort"],
    ["best-effort", { tools: "supported" }, "best-effort"],
  ])("makes of a schema that is %s, by %o, one that is %s", async (before, features, after) => {
    const { context, room, participant, listed } = await measured({});
    const words = before === undefined ? undefined : { structuredOutput: before };
    statusReported(context, participant, { ready: true, features: words });
    featuresMeasured(context, room, "ada", features, host);
    expect(listed()?.structuredOutput).toBe(after);
  });

  test("is taken from the host alone", async () => {
    const { context, join } = createOffice();
    const { room, hostToken } = await createRoom(context, { name: "lab" }, peerAt(home));
    await join({}, peerAt(home), room.code);
    const measure = (peer: Peer) => featuresMeasured(context, room.code, "ada", shown, peer);
    const refused = expect.objectContaining({ code: "host_token_required" });
    expect(() => measure(peerAt(home))).toThrow(refused);
    expect(() => measure(peerAt(home, { hostToken: `${hostToken}x` }))).toThrow(refused);
    expect(measure(peerAt(home, { hostToken })).learned.features?.tools).toBe("supported");
  });
});

type Office = Awaited<ReturnType<typeof measured>>;

describe("what was measured ends with", () => {
  test.each<[string, (office: Office) => unknown]>([
    [
      "another report of the model server",
      ({ context, participant }) =>
        statusReported(context, participant, {
          ready: true,
          features: { ...reported, logprobs: "supported" },
        }),
    ],
    [
      "a model server that was down",
      ({ context, participant }) => {
        statusReported(context, participant, { ...ready, ready: false });
        statusReported(context, participant, ready);
      },
    ],
    [
      "another model",
      ({ context, room, participant }) => change(context, room, participant, { model: "qwen3" }),
    ],
  ])("%s", async (_what, happen) => {
    const office = await measured();
    await happen(office);
    expect(office.participant.learned.measured).toBeUndefined();
    expect(office.listed()?.tools ?? "unknown").toBe("unknown");
  });

  test("a direct endpoint that does not respond", async () => {
    const { context, room, join } = createOffice();
    const { participant } = await join();
    featuresMeasured(context, room, "ada", shown, host);
    directReported(context, participant, { kind: "failed", reason: "ECONNREFUSED" });
    expect(viewOf(context, participant).features).toBeUndefined();
  });

  test("nothing that its agent's connection or its requests change", async () => {
    const { context, participant, listed } = await measured();
    statusReported(context, participant, { ...ready, limit: 8, loaded: ["llama3"] });
    statusReported(context, participant, { ...ready, answersAs: "llama3-it" });
    tunnelOpened(context, participant, ready);
    expect(listed()?.tools).toBe("supported");
  });
});

function change(
  context: Office["context"],
  room: string,
  participant: Participant,
  fields: { model: string },
) {
  return updateParticipant(context, room, participant.id, fields, peerAt(home));
}
