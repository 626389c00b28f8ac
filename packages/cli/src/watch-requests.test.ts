import type { HubEvent } from "@roomhub/protocol";
import { expect, test } from "vitest";
import type { CliContext, Client } from "./context.ts";
import { aborted } from "./stop-signal.ts";
import { aComplete, aFailure, makeWorld } from "./test-context.fixture.ts";
import { watchRequests } from "./watch-requests.ts";

type Watching = NonNullable<Parameters<Client["events"]>[1]>;

const where = { hubUrl: "http://127.0.0.1:5050", room: "ABC234" };
const never: CliContext["after"] = () => () => {};

/** A stream that says what the test lets it say. */
function watch(after: CliContext["after"], tell: (stream: Watching) => AsyncGenerator<HubEvent>) {
  const events: Client["events"] = (_code, options) => tell(options ?? {});
  const world = makeWorld({ after }, { events });
  return { world, watching: watchRequests(world.context, where, {}) };
}

/** Without the line of headings. */
function rows(text: string): number {
  return text.trimEnd().split("\n").length - 1;
}

test("what a hub still tells when it has closed is shown, until it ends the stream", async () => {
  const closed = Promise.withResolvers<void>();
  const { world, watching } = watch(never, async function* (stream) {
    stream.onOpen?.();
    yield aComplete;
    await closed.promise;
    yield aFailure;
    stream.onDisconnect?.("the hub ended the stream", 1_000);
    if (stream.signal !== undefined) await aborted(stream.signal);
  });
  const over = watching.hubClosed();
  closed.resolve();
  await over;
  expect(rows(world.stdout.text)).toBe(2);
});

test("a stream that broke before the hub closed is not waited for", async () => {
  const { world, watching } = watch(never, async function* (stream) {
    stream.onOpen?.();
    yield aComplete;
    stream.onDisconnect?.("ECONNRESET", 1_000);
    if (stream.signal !== undefined) await aborted(stream.signal);
  });
  await watching.hubClosed();
  expect(rows(world.stdout.text)).toBe(1);
});

test("a stream that does not end with its hub is waited for a second and no longer", async () => {
  const waits: number[] = [];
  const soon: CliContext["after"] = (ms, callback) => {
    waits.push(ms);
    setImmediate(callback);
    return () => {};
  };
  const { watching } = watch(soon, async function* (stream) {
    stream.onOpen?.();
    yield aComplete;
    if (stream.signal !== undefined) await aborted(stream.signal);
  });
  await watching.hubClosed();
  expect(waits).toEqual([1_000]);
});

test("a room that cannot be watched is an error, but not once its hub is gone", async () => {
  const refused = async function* (): AsyncGenerator<HubEvent> {
    yield* await Promise.reject<HubEvent[]>(new Error("too many watch it"));
  };
  await expect(watch(never, refused).watching.over).rejects.toThrow("too many watch it");
  await expect(watch(never, refused).watching.hubClosed()).resolves.toBeUndefined();
});
