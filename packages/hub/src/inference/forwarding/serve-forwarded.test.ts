import { describe, expect, test } from "vitest";
import { HubError } from "../../errors.ts";
import { aForwarded, aTarget, createOwner, ownParticipant } from "./forwarding.fixture.ts";

const admitted = 'admitted {"requestsUsage":false,"shows":"speed"}';

describe("a forwarded request", () => {
  test("takes a slot, is admitted, and frees the slot when the provider is finished", () => {
    const participant = ownParticipant();
    const owner = createOwner(participant);
    owner.serve(aForwarded());
    expect([participant.active, owner.inFlight.size]).toEqual([1, 1]);
    const { sink } = owner.opened[0]!;
    sink.onHead({ status: 200, headers: { a: "b" } });
    sink.onData(Buffer.from("some"));
    sink.onEnd();
    expect(participant.active).toBe(1);
    sink.onClosed();
    expect([participant.active, owner.inFlight.size, owner.bodies.bytes]).toEqual([0, 0, 0]);
    expect(owner.sent).toEqual([
      ...["slot taken", admitted, 'head 200 {"a":"b"}', "data some", "end", "slot free", "closed"],
    ]);
  });

  test("gets model and defaults of the participant, also those that never leave its hub", () => {
    const config = { temperature: 0.2, instructions: "private" };
    const owner = createOwner(ownParticipant({ model: "qwen", config }));
    const layout = { bodyStart: 1, members: [{ key: "model", start: 9, end: 12 }] };
    owner.serve(aForwarded({ path: "/messages", layout }));
    const { request } = owner.opened[0]!;
    expect(Buffer.concat([...request.body]).toString()).toBe(
      '{"temperature":0.2,"system":"private","model":"qwen"}',
    );
    expect(request.headers["x-roomhub-hop"]).toBe("0000000e,boot1");
  });

  test("asks for usage where both hubs agree, and says so", () => {
    const capabilities = { streamUsage: "supported" } as never;
    for (const [mayRequestUsage, refusesStreamUsage] of [
      [true, false],
      [true, true],
      [false, false],
    ] as const) {
      const owner = createOwner(ownParticipant({ capabilities, refusesStreamUsage }));
      owner.serve(aForwarded({ mayRequestUsage }));
      const requestsUsage = mayRequestUsage && !refusesStreamUsage;
      expect(owner.sent[1]).toContain(`"requestsUsage":${requestsUsage}`);
      const body = Buffer.concat([...owner.opened[0]!.request.body]).toString();
      expect(body.includes("include_usage")).toBe(requestsUsage);
    }
  });

  test.each<[string, Parameters<typeof ownParticipant>[0], Parameters<typeof aForwarded>[0]]>([
    ["unknown undefined", {}, { target: aTarget({ participantKey: "k2" }) }],
    ["unknown undefined", {}, { target: aTarget({ bootId: "boot0" }) }],
    ["full 0", { limit: 0 }, {}],
    ["unroutable 0", { status: "offline" }, {}],
    ["unsupported 0", { capabilities: { chatCompletions: "unsupported" } as never }, {}],
  ])("is refused as %s, and nothing reaches the participant", (refusal, fields, request) => {
    const participant = ownParticipant(fields);
    const owner = createOwner(participant);
    owner.serve(aForwarded(request));
    expect([owner.sent, owner.opened, participant.active]).toEqual([[`refused ${refusal}`], [], 0]);
  });

  test("is not forwarded again by a hub that does not own the participant any more", () => {
    const remote = {
      owner: undefined,
      revision: 1,
      elsewhere: 0,
      grant: undefined,
      machineKey: undefined,
      machine: undefined,
      hasSecrets: false,
    };
    const owner = createOwner(ownParticipant({ remote }));
    owner.serve(aForwarded());
    expect(owner.sent).toEqual(["refused unknown undefined"]);
  });

  test("is sent to a model server that other requests wait for after a 503", () => {
    const owner = createOwner(ownParticipant({ overloadedUntilMs: Infinity }));
    owner.serve(aForwarded());
    expect(owner.opened).toHaveLength(1);
  });

  test("is refused by a hub that stops, or runs too many requests", () => {
    const stopping = createOwner(ownParticipant(), { isDraining: () => true });
    stopping.serve(aForwarded());
    const busy = createOwner(ownParticipant(), { limits: { inFlightPerHub: 0 } });
    busy.serve(aForwarded());
    expect([stopping.sent, busy.sent]).toEqual([
      ["refused overloaded 0"],
      ["refused overloaded 0"],
    ]);
  });

  test("that passed this hub before is a loop", () => {
    const owner = createOwner(ownParticipant());
    owner.serve(aForwarded({ hops: ["boot1", "0000000e"] }));
    expect(owner.sent[0]).toContain("failed routing_loop");
  });

  test("is opened once its body is complete, and its slot is taken before", () => {
    const participant = ownParticipant();
    const owner = createOwner(participant);
    const call = owner.begin(aForwarded());
    call.onBody(Buffer.from('{"model"'));
    expect([participant.active, owner.opened.length, owner.bodies.bytes]).toEqual([1, 0, 8]);
    call.onBody(Buffer.from(':"m"}'));
    call.onBodyEnd();
    expect(owner.opened).toHaveLength(1);
  });

  test("fails when its body is more than the hub can hold", () => {
    const participant = ownParticipant();
    const owner = createOwner(participant);
    const call = owner.begin(aForwarded());
    call.onBody(Buffer.alloc(600));
    call.onBody(Buffer.alloc(600));
    call.onBodyEnd();
    expect(owner.sent[2]).toContain("failed hub_overloaded");
    expect([participant.active, owner.bodies.bytes, owner.opened.length]).toEqual([0, 0, 0]);
  });

  test("pauses its provider while the other hub is behind", () => {
    const owner = createOwner(ownParticipant());
    const call = owner.serve(aForwarded());
    const { sink } = owner.opened[0]!;
    sink.onHead({ status: 200, headers: {} });
    owner.fallBehind();
    expect(sink.onData(Buffer.from("x"))).toBe(false);
    call.onDrain();
    expect(owner.sent.at(-1)).toBe("resumed");
  });

  test("cancelled before its body is complete is closed at once", () => {
    const participant = ownParticipant();
    const owner = createOwner(participant);
    owner.begin(aForwarded()).onCancel("gone");
    expect(owner.sent).toEqual(["slot taken", admitted, "slot free", "closed"]);
    expect(participant.active).toBe(0);
  });

  test("cancelled later is closed once the provider is finished, and nothing more is sent", () => {
    const participant = ownParticipant();
    const owner = createOwner(participant);
    const call = owner.serve(aForwarded());
    call.onCancel("gone");
    const { sink, cancelled } = owner.opened[0]!;
    expect([cancelled, participant.active]).toEqual([["gone"], 1]);
    sink.onHead({ status: 200, headers: {} });
    sink.onData(Buffer.from("late"));
    sink.onEnd();
    sink.onClosed();
    expect(owner.sent).toEqual(["slot taken", admitted, "slot free", "closed"]);
  });

  test("fails with the provider's failure, without secrets", () => {
    const owner = createOwner(ownParticipant());
    owner.serve(aForwarded());
    const { sink } = owner.opened[0]!;
    sink.onFailure({ code: "provider_unreachable", message: "no canary there" });
    sink.onClosed();
    expect(owner.sent.slice(2, 3)).toEqual(["failed provider_unreachable: no ****** there"]);
  });

  test("passes the filter of its participant, headers and held-back bytes included", () => {
    const filterFor = () => () => ({
      headers: () => ({ filtered: "yes" }),
      push: (chunk: Buffer) => chunk.subarray(0, -1),
      end: () => Buffer.from("rest"),
      breakOff: () => Buffer.from("broken"),
    });
    const whole = createOwner(ownParticipant(), { filterFor });
    const broken = createOwner(ownParticipant(), { filterFor });
    for (const owner of [whole, broken]) {
      owner.serve(aForwarded());
      owner.opened[0]!.sink.onHead({ status: 200, headers: { key: "canary" } });
      owner.opened[0]!.sink.onData(Buffer.from("ab"));
    }
    whole.opened[0]!.sink.onEnd();
    broken.opened[0]!.sink.onFailure({ code: "tunnel_lost", message: "" });
    const head = 'head 200 {"filtered":"yes"}';
    expect(whole.sent.slice(2)).toEqual([head, "data a", "data rest", "end"]);
    expect(broken.sent.slice(2)).toEqual([head, "data a", "data broken", "failed tunnel_lost: "]);
  });

  test("is ended here when its own hub does not, 5 s after the time it had", () => {
    const owner = createOwner(ownParticipant());
    owner.serve(aForwarded({ remainingMs: 1_000 }));
    owner.pass(6_000);
    expect(owner.opened[0]!.cancelled).toEqual([]);
    owner.pass(1);
    expect(owner.opened[0]!.cancelled).toHaveLength(1);
    expect(owner.sent.at(-1)).toContain("failed request_timeout");
  });

  test("is cut when the hub stops", () => {
    const owner = createOwner(ownParticipant());
    owner.serve(aForwarded());
    expect(owner.inFlight.cutAll(new HubError("hub_shutting_down", "stopping"))).toBe(1);
    expect(owner.sent.at(-1)).toBe("failed hub_shutting_down: stopping");
    expect(owner.opened[0]!.cancelled).toEqual(["stopping"]);
  });
});

test("the hub that has the client hears of each resume of its request, until the request ends", () => {
  const owner = createOwner(ownParticipant());
  owner.serve(aForwarded());
  const sink = owner.opened[0]?.sink;
  owner.sent.splice(0);
  sink?.onResumed?.();
  sink?.onEnd();
  sink?.onResumed?.();
  expect(owner.sent).toEqual([`req_1 at ana resumed for ${"e".repeat(16)}`, "end"]);
});
