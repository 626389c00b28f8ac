import type { RouteExplanation } from "@roomhub/protocol";
import { expect, test } from "vitest";
import type { CliContext } from "../context.ts";
import { answering, aRoute, runDoctor } from "../doctor/doctor.fixture.ts";
import { exitCodeOf } from "../exit-code.ts";
import { renderError } from "../terminal/render-error.ts";
import { aRoom, capture } from "../test-context.fixture.ts";
import { noSuchRoom } from "./scenery.fixture.ts";
import { pipePage, terminalPage } from "./page.fixture.ts";

type Ailment = NonNullable<Parameters<typeof runDoctor>[1]>;

const room = "http://hub:5050/rooms/ABC234";

/** What `roomhub doctor` writes; on a terminal of 80 columns, or each stream by itself. */
async function examined(
  args: readonly string[],
  over: Ailment = {},
  columns?: number,
): Promise<string> {
  const context = { ...over.context, stdout: capture(columns), stderr: capture(columns) };
  const { world, error } = await runDoctor(args, { ...over, context });
  const hubUrl = world.clientUrls.at(-1);
  if (error !== undefined) renderError(world.context, error, { isVerbose: false, hubUrl });
  const code = error === undefined ? 0 : exitCodeOf(error);
  const { stdout, stderr } = context;
  const words = ["doctor", ...args];
  if (columns === undefined) return pipePage(words, code, stdout.text, stderr.text);
  return terminalPage(words, code, columns, stdout.text + stderr.text);
}

/** Both, one below the other. */
async function everywhere(args: readonly string[], over: Ailment = {}): Promise<string> {
  return `${await examined(args, over, 80)}\n${await examined(args, over)}`;
}

const nobodyListens: Ailment = {
  machine: {
    reach: () => Promise.reject(Object.assign(new Error("no"), { code: "ECONNREFUSED" })),
  },
};

test("a healthy hub, room and model", async () => {
  expect(await everywhere([room])).toMatchSnapshot();
});

test("the same as JSON", async () => {
  expect(await examined([room, "--json"])).toMatchSnapshot();
});

test("without a request", async () => {
  expect(await examined([room, "--no-request"])).toMatchSnapshot();
});

test("a closed port", async () => {
  expect(await everywhere(["http://127.0.0.1:6060"], nobodyListens)).toMatchSnapshot();
  expect(await examined(["http://127.0.0.1:6060", "--json"], nobodyListens)).toMatchSnapshot();
});

test("a room that is not there", async () => {
  const mistyped = ["http://hub:5050/rooms/ABC243"];
  expect(await everywhere(mistyped, { client: { getRoom: noSuchRoom } })).toMatchSnapshot();
});

test("a hub with several rooms", async () => {
  const listRooms = async () => [aRoom(), aRoom({ code: "XYZ789", name: "kitchen" })];
  expect(await examined(["http://hub:5050"], { client: { listRooms } }, 80)).toMatchSnapshot();
});

test("an empty room", async () => {
  expect(
    await examined([room], { client: { listParticipants: async () => [] } }, 80),
  ).toMatchSnapshot();
});

test("a participant whose model server is down", async () => {
  const [one] = aRoute.participants as [RouteExplanation["participants"][number]];
  const down: RouteExplanation = {
    ...aRoute,
    outcome: "refused",
    participants: [
      { ...one, verdict: "passed-over", reason: "not ready: its model server does not respond" },
    ],
    refusal: {
      ...{ status: 503, code: "participant_offline", message: "Nobody can serve it now." },
      hint: "Wait until one is back.",
    },
  };
  expect(
    await everywhere([room], { client: { explainRoute: async () => down } }),
  ).toMatchSnapshot();
});

test("a model server that requires credentials", async () => {
  const fetch: CliContext["fetch"] = async (url, init) =>
    url.startsWith("https://api.example.com/")
      ? Response.json({ error: { message: "no key" } }, { status: 401 })
      : answering(url, init);
  const args = [room, "--endpoint", "https://api.example.com/v1"];
  expect(await examined(args, { context: { fetch } }, 80)).toMatchSnapshot();
});

test("a Node that is too old", async () => {
  expect(await examined([room], { machine: { nodeVersion: "20.1.0" } }, 80)).toMatchSnapshot();
});

test("stopped by Ctrl+C", async () => {
  const stuck: Ailment = {
    machine: { reach: () => new Promise(() => {}) },
    whenStarted: (world) => world.stop(),
  };
  expect(await examined([room], stuck, 80)).toMatchSnapshot();
});
