import { expect, test } from "vitest";
import { DialCourse, type DialCourseOptions, HomeFence } from "./dial-course.ts";

const given = new URL("ws://hubs.example/v1/rooms/ABC234/participants/ana/tunnel");
const at = (host: string) => given.href.replace("hubs.example", host);

/** @param highest - the epoch that the agent has seen; 0 for hubs whose rooms have no homes */
function course(highest = 0, over: Partial<DialCourseOptions> = {}) {
  const fence = new HomeFence();
  if (highest > 0) fence.refusalOf(highest);
  const known = ({ url }: { url: string }) => (url.includes("stranger") ? undefined : new URL(url));
  const dial = new DialCourse({ url: given, resumesAt: undefined, known, fence, ...over });
  return { dial, fence };
}

function elsewhere(code: string, host: string, homeEpoch?: number): string {
  return JSON.stringify({ error: { code }, tunnel: { url: at(host) }, homeEpoch });
}

const leadsTo = (host: string, isPiped = false) => ({
  kind: "stop",
  stop: { url: new URL(at(host)), isPiped },
});

test("only a 421 that names a tunnel leads a dial elsewhere", () => {
  const body = elsewhere("session_elsewhere", "h2");
  expect(course().dial.follow(404, body)).toBeUndefined();
  for (const text of ["", "null", "{}", '{"tunnel":{}}', '{"tunnel":{"url":5}}'])
    expect(course().dial.follow(421, text)).toBeUndefined();
  expect(course().dial.follow(421, body)).toEqual(leadsTo("h2"));
  expect(course().dial.follow(421, body.replace(/"error":[^}]+}/, '"error":{}'))).toEqual(
    leadsTo("h2"),
  );
});

test("a session is followed to one hub that is known, and no further", () => {
  const { dial } = course();
  expect(dial.follow(421, elsewhere("session_elsewhere", "stranger"))).toBeUndefined();
  const another = course().dial;
  another.follow(421, elsewhere("session_elsewhere", "h2"));
  expect(another.follow(421, elsewhere("session_elsewhere", "h3"))).toBeUndefined();
  expect(another.goBack()).toBeUndefined();
});

test("a home is followed until hubs have sent the dial on five times, then the first one passes it on", () => {
  const { dial, fence } = course(1);
  for (const [index, host] of ["h1", "h2", "h1", "h2", "h1"].entries())
    expect(dial.follow(421, elsewhere("home_elsewhere", host, index + 2))).toEqual(leadsTo(host));
  expect(fence.highest).toBe(6);
  expect(dial.follow(421, elsewhere("home_elsewhere", "h2", 7))).toEqual(
    leadsTo("hubs.example", true),
  );
  expect(dial.follow(421, elsewhere("home_elsewhere", "h2", 8))).toBeUndefined();
});

test.each([
  ["is not known", "stranger"],
  ["is the one that named it", "hubs.example"],
])("the hub that was reached passes the tunnel on when the home %s", (_why, host) => {
  const { dial } = course();
  expect(dial.follow(421, elsewhere("home_elsewhere", host, 1))).toEqual(
    leadsTo("hubs.example", true),
  );
});

test("a home that cannot be reached is reached through the hub that was given, once", () => {
  const { dial } = course();
  expect(dial.goBack()).toBeUndefined();
  dial.follow(421, elsewhere("home_elsewhere", "h2", 1));
  expect(dial.isElsewhere).toBe(true);
  expect(dial.goBack()).toEqual({ url: given, isPiped: true });
  expect(dial.goBack()).toBeUndefined();
});

test("a hub that names an earlier home is behind, and not followed", () => {
  const { dial, fence } = course(5);
  const redirect = dial.follow(421, elsewhere("home_elsewhere", "h2", 4));
  expect(redirect).toEqual({
    kind: "behind",
    reason: "is behind: it names epoch 4 of the room's home, which has reached 5",
  });
  expect(fence.highest).toBe(5);
  expect(dial.stop).toEqual({ url: given, isPiped: false });
});

test("a session is followed to its hub, whichever epoch is named, and reached through another hub else", () => {
  const { dial } = course(5);
  expect(dial.follow(421, elsewhere("session_elsewhere", "h2", 4))).toEqual(leadsTo("h2"));
  expect(dial.goBack()).toEqual({ url: given, isPiped: true });
});

test("a dial that resumes goes where its session was first", () => {
  const resumesAt = { url: new URL(at("h2")), isPiped: false };
  const { dial } = course(5, { resumesAt });
  expect(dial.stop).toBe(resumesAt);
  expect(dial.goBack()).toEqual({ url: given, isPiped: true });
  const { dial: piped } = course(5, { resumesAt: { url: given, isPiped: true } });
  expect(piped.goBack()).toBeUndefined();
});
