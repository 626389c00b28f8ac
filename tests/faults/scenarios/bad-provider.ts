import { badResponses, broken } from "../../support/providers/bad-responses.ts";
import type { Behaviour } from "../../support/providers/fake-provider.ts";
import type { CallOutcome } from "../client-call.ts";
import { must } from "../figure.ts";
import type { Scenario } from "../scenario.ts";
import { createRandom } from "../seeded-random.ts";
import type { World } from "../world.ts";

interface Row {
  name: string;
  behaviour: Behaviour;
  /** the error code for the client of a stream, and of a JSON response; `complete` for a complete one */
  stream: string | readonly string[];
  json: string | readonly string[];
}

const brokenServer = (status: number): Row => ({
  ...{ name: `responds ${status}`, behaviour: { kind: "status", status, body: "no" } },
  ...{ stream: "provider_error", json: "provider_error" },
});
const refusedCredentials = (status: number): Row => ({
  ...{ name: `responds ${status}`, behaviour: { kind: "status", status } },
  ...{ stream: "provider_auth_failed", json: "provider_auth_failed" },
});

/** Invalid responses of a provider. Limits: 3 s to the first byte, 3 s between bytes. */
const rows: readonly Row[] = [
  {
    name: "hangs",
    behaviour: { kind: "hang" },
    stream: "provider_timeout",
    json: "provider_timeout",
  },
  {
    ...{ name: "hangs in the middle", behaviour: { kind: "hang-mid-stream" } },
    ...{ stream: "stream_idle_timeout", json: ["stream_idle_timeout", "provider_timeout"] },
  },
  {
    name: "is cut",
    behaviour: { kind: "cut", afterChunks: 3 },
    stream: "provider_disconnected",
    json: broken,
  },
  {
    ...{ name: "is reset", behaviour: { kind: "cut", afterChunks: 3, reset: true } },
    ...{ stream: "provider_disconnected", json: broken },
  },
  {
    name: "ends without a marker",
    behaviour: { kind: "no-marker" },
    stream: "provider_disconnected",
    json: "complete",
  },
  {
    name: "ends without [DONE]",
    behaviour: { kind: "no-done" },
    stream: "complete",
    json: "complete",
  },
  { name: "sends CRLF", behaviour: { kind: "crlf" }, stream: "complete", json: "complete" },
  { name: "drips", behaviour: { kind: "byte-by-byte" }, stream: "complete", json: "complete" },
  {
    name: "responds 200 with an error",
    behaviour: { kind: "error-200" },
    stream: broken.concat("provider_error"),
    json: broken.concat("provider_error", "undefined", "null", ""),
  },
  ...[500, 502, 504, 599].map(brokenServer),
  refusedCredentials(403),
  ...[400, 404, 409, 422, 429].map((status): Row => ({
    ...{ name: `responds ${status}`, behaviour: { kind: "status", status } },
    ...{ stream: "fake", json: "fake" },
  })),
  ...badResponses.map(({ name, bytes, stream, json }): Row => ({
    ...{ name, behaviour: { kind: "raw", bytes }, stream, json },
  })),
];

/** After them the participant gets no requests for a while. */
const refusals: readonly Row[] = [401, 407].map(refusedCredentials).concat(brokenServer(503));

const ways = (["p1", "direct"] as const).flatMap((model) =>
  [true, false].map((stream) => ({ model, stream })),
);

export const badProvider: Scenario = {
  id: "F10",
  title: "whatever a provider responds, the client gets the right error and the hub keeps running",
  needs: ["proc"],
  isQuick: true,
  async run(world) {
    await world.open({
      env: { ROOMHUB_FIRST_BYTE_MS: "3000", ROOMHUB_STREAM_IDLE_MS: "3000" },
      hasLoad: !world.isQuick,
    });
    await joinDirect(world);
    const wrong: string[] = [];
    const wishes = rows.flatMap((row, number) =>
      ways.map((way) => ({ row, tag: `${number}-${way.model}-${way.stream}`, ...way })),
    );
    // Not all at once: on a busy machine the last of them would miss the limits that the first are there to meet.
    const calls = wishes.map(({ row, tag, model, stream }) =>
      world.callWish({ tag, model, stream, behaviour: row.behaviour }),
    );
    const outcomes = await world.clients.call("inTurn", { wishes: calls, atOnce: 16, pauseMs: 0 });
    world.addOutcomes(outcomes);
    const byTag = new Map(outcomes.map((outcome) => [outcome.tag, outcome]));
    for (const { row, tag, ...way } of wishes) judge(row, way, byTag.get(tag), wrong);
    for (const row of refusals) {
      for (const way of ways) judge(row, way, await refuseOnce(world, row, way), wrong);
    }
    world.fact(
      `a provider with invalid responses, ${wishes.length + refusals.length * ways.length} cases`,
      "the right error each",
      wrong.length === 0 ? "all" : `${wrong.length} wrong: ${wrong.slice(0, 8).join("; ")}`,
      wrong.length === 0,
    );
    await randomAnswers(world);
    must((await world.api.health()).status === "ok", "the hub is not well");
  },
};

type Way = (typeof ways)[number];

function judge(
  row: Row,
  { model, stream }: Way,
  outcome: CallOutcome | undefined,
  wrong: string[],
): void {
  if (outcome === undefined || isAsTold(outcome, stream ? row.stream : row.json)) return;
  wrong.push(
    `${row.name} (${model}, ${stream ? "stream" : "plain"}): ${outcome.end} ${outcome.status} ${outcome.code}`,
  );
}

/** One by one, and ready again after each: other credentials are tried at once, and a call that succeeds ends the matter. */
async function refuseOnce(world: World, { name, behaviour }: Row, way: Way): Promise<CallOutcome> {
  const tag = `${name}-${way.model}-${way.stream}`;
  const outcome = await world.outcome(await world.start({ tag, ...way, behaviour }));
  await world.api.updateParticipant(world.code, way.model, { authHeaders: {} });
  const after = await world.outcome(await world.start({ tag: `${tag}-after`, ...way }));
  must(after.end === "complete", `after it ${name}: ${after.end} ${after.code}`);
  return outcome;
}

async function joinDirect(world: World): Promise<void> {
  await world.api.join(world.code, {
    ...{ id: "direct", nickname: "direct", model: "direct-model", endpoint: world.provider.url },
  });
}

/** Bytes that begin as a response and become invalid at any place. */
async function randomAnswers(world: World): Promise<void> {
  const random = createRandom(20_260_801);
  const count = world.isQuick ? 60 : 1_000;
  const wishes = Array.from({ length: count }, (_, index) =>
    world.callWish({
      ...{ tag: `random-${index}`, stream: index % 2 === 0 },
      ...{ model: index % 3 === 0 ? "direct" : "p1" },
      behaviour: { kind: "raw", bytes: randomAnswer(random) },
    }),
  );
  const outcomes = await world.clients.call("inTurn", { wishes, atOnce: 8, pauseMs: 0 });
  world.addOutcomes(outcomes);
  const silent = outcomes.filter(({ end }) => end !== "complete" && end !== "error");
  must(silent.length === 0, `${silent.length} clients of random answers were told nothing`);
  must(!world.hub.hasEnded, "the hub ended");
}

function randomAnswer(random: () => number): string {
  const whole = [
    "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n",
    '29\r\ndata: {"choices":[{"delta":{"content":"a"}}]}\n\n\r\n',
    '38\r\ndata: {"choices":[{"delta":{},"finish_reason":"stop"}]}\n\n\r\n',
    "e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n",
  ].join("");
  const bytes = whole.split("");
  const edits = Math.floor(random() * 6);
  for (let edit = 0; edit < edits; edit++) {
    const at = Math.floor(random() * bytes.length);
    const kind = random();
    if (kind < 0.4) bytes[at] = String.fromCodePoint(Math.floor(random() * 256));
    else if (kind < 0.7) bytes.splice(at, Math.floor(random() * 20));
    else bytes.splice(at, 0, "\r\n".repeat(Math.floor(random() * 3)));
  }
  return random() < 0.3
    ? bytes.slice(0, Math.floor(random() * bytes.length)).join("")
    : bytes.join("");
}

function isAsTold(outcome: CallOutcome, told: string | readonly string[]): boolean {
  const expected = typeof told === "string" ? [told] : told;
  return expected.includes(outcome.end === "complete" ? "complete" : String(outcome.code));
}
