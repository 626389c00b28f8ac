import { describe, expect, test } from "vitest";
import { PATHS } from "../support/hub/joining.ts";
import { openResponsesRoom, responseId, turn } from "../support/hub/responses-room.ts";

/** The error of a provider that stores responses for one it does not have. */
const notKept = {
  kind: "status" as const,
  status: 400,
  body: {
    error: {
      message: "Previous response not found.",
      type: "invalid_request_error",
      param: "previous_response_id",
      code: "previous_response_not_found",
    },
  },
};

describe("a turn that continues the previous one", () => {
  test("reaches the provider with the whole conversation, and without the id", async () => {
    await using room = await openResponsesRoom();
    await using client = await room.open();
    const first = await client.turn(turn);
    const second = await client.turn({
      ...turn,
      input: [{ role: "user", content: "that is" }],
      previous_response_id: responseId(first),
    });
    expect(second.at(-1)?.type).toBe("response.completed");
    const asked = room.turns().at(-1);
    expect(asked).not.toHaveProperty("previous_response_id");
    expect(asked?.["input"]).toEqual([
      { type: "message", role: "user", content: "to be or not" },
      expect.objectContaining({
        role: "assistant",
        content: [expect.objectContaining({ text: "to be or not" })],
      }),
      { role: "user", content: "that is" },
    ]);
  });

  test("may be continued again and again", async () => {
    await using room = await openResponsesRoom();
    await using client = await room.open();
    let previous: string | undefined;
    for (const input of ["one", "two", "three"]) {
      const events = await client.turn({ ...turn, input, previous_response_id: previous });
      previous = responseId(events);
    }
    expect(room.turns().at(-1)?.["input"]).toHaveLength(5);
  });

  test.each(PATHS)("is stored completely over %s, however long it was", async (path) => {
    await using room = await openResponsesRoom(undefined, {}, path);
    await using client = await room.open();
    const input = "x".repeat(150_000);
    let previous: string | undefined;
    for (let count = 0; count < 3; count++) {
      const events = await client.turn({ ...turn, input, previous_response_id: previous });
      previous = responseId(events);
    }
    const said = room.turns().at(-1)?.["input"] as { role: string; content: unknown }[];
    const ofUser = said.filter(({ role }) => role === "user");
    expect(ofUser.map(({ content }) => content)).toEqual([input, input, input]);
  });

  test("is dropped when it fails, so that a second attempt must send everything", async () => {
    let isBroken = false;
    await using room = await openResponsesRoom(({ json }) => {
      if (json["previous_response_id"] !== undefined) return notKept;
      return isBroken ? { kind: "status", status: 422 } : undefined;
    });
    await using client = await room.open();
    const previous_response_id = responseId(await client.turn(turn));
    isBroken = true;
    const [failed] = await client.turn({ ...turn, previous_response_id });
    expect(failed).toMatchObject({ type: "error", status: 422, code: "fake" });
    isBroken = false;
    const [again] = await client.turn({ ...turn, previous_response_id });
    expect(again).toMatchObject({ status: 400, error: { code: "previous_response_not_found" } });
    expect((await client.turn(turn)).at(-1)?.type).toBe("response.completed");
  });

  test("is unknown on another socket, which stays open", async () => {
    await using room = await openResponsesRoom(({ json }) =>
      json["previous_response_id"] === undefined ? undefined : notKept,
    );
    await using client = await room.open();
    const previous_response_id = responseId(await client.turn(turn));
    await using other = await room.open();
    const [refused] = await other.turn({ ...turn, previous_response_id });
    expect(refused).toMatchObject({
      type: "error",
      status: 400,
      code: "previous_response_not_found",
      error: { code: "previous_response_not_found", type: "invalid_request_error" },
    });
    expect((await other.turn(turn)).at(-1)?.type).toBe("response.completed");
  });

  test("can begin with a warm-up, which reaches no provider", async () => {
    await using room = await openResponsesRoom();
    await using client = await room.open();
    const instructions = [{ type: "message", role: "developer", content: "be brief" }];
    const warm = await client.turn({ ...turn, input: instructions, generate: false });
    expect(warm.map(({ type }) => type)).toEqual(["response.created", "response.completed"]);
    expect(warm.at(-1)?.response).toMatchObject({ status: "completed", output: [], model: "*" });
    expect(room.turns()).toEqual([]);
    await client.turn({ ...turn, previous_response_id: responseId(warm) });
    const asked = room.turns().at(-1);
    expect(asked).not.toHaveProperty("generate");
    expect(asked?.["input"]).toEqual([
      ...instructions,
      { type: "message", role: "user", content: "to be or not" },
    ]);
  });
});

test("a turn too large to be stored gets its response, and cannot be continued", async () => {
  await using room = await openResponsesRoom(
    ({ json }) => (json["previous_response_id"] === undefined ? undefined : notKept),
    { limits: { responseSocketMemoryBytes: 2_000 } },
  );
  await using client = await room.open();
  const input = "x".repeat(2_000);
  const previous_response_id = responseId(await client.turn({ ...turn, input }));
  const [refused] = await client.turn({ ...turn, previous_response_id });
  expect(refused).toMatchObject({ code: "previous_response_not_found" });
});
