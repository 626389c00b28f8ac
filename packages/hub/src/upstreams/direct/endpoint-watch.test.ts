import type { Readiness } from "@roomhub/protocol";
import type { ProbeResult } from "@roomhub/provider";
import { describe, expect, test } from "vitest";
import type { Participant } from "../../domain/participant.ts";
import { aParticipant, type ParticipantFields } from "../../domain/room.fixture.ts";
import { EndpointWatch } from "./endpoint-watch.ts";

const ready: ProbeResult = { answered: true, status: 200, models: ["llama3"] };
const noConnection: ProbeResult = { answered: false, problem: "ECONNREFUSED" };

/** A watch over endpoints whose responses are set by hand, on a clock moved by hand. */
function createLab() {
  let nowMs = 0;
  const left = new Set<Participant>();
  const log: string[] = [];
  const results = new Map<string, ProbeResult>();
  const lookDueMs = new Map<string, number>();
  const gates: (() => void)[] = [];
  let isHeld = false;

  const watch = new EndpointWatch({
    nowMs: () => nowMs,
    isPresent: (participant) => !left.has(participant),
    serverOf: ({ id }) => ({
      lookInMs: () => Math.max(0, (lookDueMs.get(id) ?? 0) - nowMs),
      async probe() {
        log.push(`${nowMs / 1_000} s: probe ${id}`);
        if (isHeld) await new Promise<void>((resolve) => gates.push(resolve));
        lookDueMs.set(id, nowMs + 2_000);
        return results.get(id) ?? ready;
      },
      probed(found) {
        log.push(`share ${id}`);
        return found;
      },
    }),
    placeOf: ({ baseUrl }) => baseUrl,
    onProbed(participant, found, isLife) {
      if (isLife) participant.presence.status = "online";
      log.push(
        `${participant.id} ${found.answered ? found.status : "silent"}${isLife ? " lives" : ""}`,
      );
    },
  });

  return {
    watch,
    left,
    results,
    hold: () => void (isHeld = true),
    release: async () => {
      isHeld = false;
      for (const open of gates.splice(0)) open();
      await settled();
    },
    /** Ticks four times a second, as the hub's sweep does. */
    async pass(ms: number) {
      for (let left = ms; left > 0; left -= 250) {
        nowMs += 250;
        watch.tick(nowMs);
        await settled();
      }
    },
    seen: () => log.splice(0),
  };
}

const settled = () => new Promise<void>((resolve) => setImmediate(resolve));

function probed(id: string, fields: ParticipantFields = {}): Participant {
  return aParticipant({ id, liveness: "probe", baseUrl: `http://${id}/v1`, ...fields });
}

const directOf = (readiness: Readiness) =>
  ({ kind: "answered", readiness, problem: "", sinceMs: 0 }) as const;

describe("a participant with liveness probe", () => {
  test("is probed every 10 s, and each response is a sign of life", async () => {
    const lab = createLab();
    lab.watch.add(probed("a"));
    await lab.pass(9_750);
    expect(lab.seen()).toEqual([]);
    await lab.pass(20_250);
    expect(lab.seen()).toEqual([
      ...["10 s: probe a", "a 200 lives"],
      ...["20 s: probe a", "a 200 lives"],
      ...["30 s: probe a", "a 200 lives"],
    ]);
  });

  test.each<[ProbeResult, boolean, string]>([
    [ready, false, "a 200 lives"],
    [{ answered: true, status: 204 }, false, "a 204 lives"],
    [{ answered: true, status: 401 }, true, "a 401"],
    [{ answered: true, status: 403 }, true, "a 403"],
    [{ answered: true, status: 404 }, false, "a 404"],
    [{ answered: true, status: 404 }, true, "a 404 lives"],
    [{ answered: true, status: 405 }, false, "a 405"],
    [{ answered: true, status: 405 }, true, "a 405 lives"],
    [{ answered: true, status: 500 }, true, "a 500"],
    [{ answered: true, status: 502 }, true, "a 502"],
    [{ answered: true, status: 503 }, true, "a 503"],
    [noConnection, true, "a silent"],
    [{ answered: false, isTimeout: true }, true, "a silent"],
  ])("by %j, calls work %s: %s", async (found, haveWorked, expected) => {
    const lab = createLab();
    lab.results.set("a", found);
    lab.watch.add(probed("a", { credentials: { haveWorked, trial: undefined } }));
    await lab.pass(10_000);
    expect(lab.seen().slice(1)).toEqual([expected]);
  });

  test("that is silent is probed three times before it is offline, then less and less often, down to every 60 s", async () => {
    const lab = createLab();
    const a = probed("a");
    lab.results.set("a", noConnection);
    lab.watch.add(a);
    await lab.pass(30_000);
    expect(lab.seen()).toHaveLength(6);
    a.presence.status = "offline";
    await lab.pass(250_000);
    const probes = lab.seen().filter((line) => line.includes("probe"));
    expect(probes).toEqual([40, 60, 100, 160, 220, 280].map((at) => `${at} s: probe a`));
    lab.results.set("a", ready);
    await lab.pass(80_000);
    expect(lab.seen()).toEqual([
      ...["340 s: probe a", "a 200 lives"],
      ...["350 s: probe a", "a 200 lives"],
      ...["360 s: probe a", "a 200 lives"],
    ]);
  });

  test("is not probed while its own tunnel is open, and is again when that closes", async () => {
    const lab = createLab();
    const a = probed("a", {
      tunnel: { kind: "open", readiness: "ready", problem: "", sinceMs: 0 },
    });
    lab.watch.add(a);
    await lab.pass(30_000);
    expect(lab.seen()).toEqual([]);
    const before = { readiness: "ready", problem: "", sinceMs: 0 } as const;
    a.paths.tunnel = { kind: "interrupted", streams: 1, sinceMs: 30_000, before };
    await lab.pass(10_000);
    expect(lab.seen()).toEqual([]);
    a.paths.tunnel = { kind: "closed" };
    await lab.pass(250);
    expect(lab.seen()).toEqual(["40.25 s: probe a", "a 200 lives"]);
  });

  test.each<[string, (a: Participant, left: Set<Participant>) => void]>([
    ["it has left", (a, left) => left.add(a)],
    ["its liveness is cleared", (a) => (a.liveness = undefined)],
    ["it may not be dialled any more", (a) => (a.paths.direct = { kind: "refused", reason: "" })],
  ])("is not probed any more when %s", async (_why, change) => {
    const lab = createLab();
    const a = probed("a");
    lab.watch.add(a);
    change(a, lab.left);
    await lab.pass(60_000);
    expect(lab.seen()).toEqual([]);
  });

  test("that leaves during a probe ignores the result", async () => {
    const lab = createLab();
    const a = probed("a");
    lab.watch.add(a);
    lab.hold();
    await lab.pass(10_000);
    lab.left.add(a);
    await lab.release();
    expect(lab.seen()).toEqual(["10 s: probe a"]);
  });

  test("has one probe at a time, however long it takes", async () => {
    const lab = createLab();
    lab.watch.add(probed("a"));
    lab.hold();
    await lab.pass(60_000);
    await lab.release();
    expect(lab.seen()).toEqual(["10 s: probe a", "a 200 lives"]);
    await lab.pass(10_000);
    expect(lab.seen()).toEqual(["70 s: probe a", "a 200 lives"]);
  });
});

describe("participants at the same place", () => {
  test("share one probe, whenever they joined", async () => {
    const lab = createLab();
    const place = { baseUrl: "http://one/v1" };
    lab.watch.add(probed("a", place));
    lab.watch.add(probed("far"));
    await lab.pass(4_000);
    lab.watch.add(probed("b", place));
    await lab.pass(16_000);
    expect(lab.seen()).toEqual([
      ...[
        "10 s: probe a",
        "10 s: probe far",
        "a 200 lives",
        "share b",
        "b 200 lives",
        "far 200 lives",
      ],
      ...[
        "20 s: probe a",
        "20 s: probe far",
        "a 200 lives",
        "share b",
        "b 200 lives",
        "far 200 lives",
      ],
    ]);
  });

  test("have probes of their own once one has other credentials or another endpoint", async () => {
    const lab = createLab();
    const place = { baseUrl: "http://one/v1" };
    const b = probed("b", place);
    lab.watch.add(probed("a", place));
    lab.watch.add(b);
    await lab.pass(10_000);
    expect(lab.seen()).toContain("share b");
    lab.hold();
    await lab.pass(10_000);
    b.baseUrl = "http://other/v1";
    b.learned.credentials = { haveWorked: false, trial: undefined };
    await lab.release();
    expect(lab.seen()).toEqual(["20 s: probe a", "a 200 lives"]);
    await lab.pass(250);
    expect(lab.seen()).toEqual(["20.25 s: probe b", "b 200 lives"]);
  });
});

describe("a participant that sends heartbeats", () => {
  test("is probed while its server responds but is not ready, as the verdict says", async () => {
    const lab = createLab();
    const a = aParticipant({ id: "a", direct: directOf("loading") });
    lab.results.set("a", { answered: true, status: 503 });
    lab.watch.add(a);
    await lab.pass(4_250);
    expect(lab.seen()).toEqual([
      ...["0.25 s: probe a", "a 503"],
      ...["2.25 s: probe a", "a 503"],
      ...["4.25 s: probe a", "a 503"],
    ]);
    a.paths.direct = directOf("ready");
    await lab.pass(60_000);
    expect(lab.seen()).toEqual([]);
  });

  test("is probed once when a call could not reach it", async () => {
    const lab = createLab();
    const a = aParticipant({ id: "a", direct: { kind: "failed", reason: "" } });
    lab.results.set("a", noConnection);
    lab.watch.lookSoon(a);
    await lab.pass(60_000);
    expect(lab.seen()).toEqual(["0.25 s: probe a", "a silent"]);
  });

  test("is not probed while it is offline", async () => {
    const lab = createLab();
    lab.watch.add(aParticipant({ id: "a", direct: directOf("loading"), status: "offline" }));
    await lab.pass(60_000);
    expect(lab.seen()).toEqual([]);
  });
});
