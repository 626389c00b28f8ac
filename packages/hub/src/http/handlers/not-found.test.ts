import { describe, expect, test } from "vitest";
import { type AskedAt, notFound } from "./not-found.ts";

const origin = "http://hub:5050";
const someRooms = { origin, onlyRoom: undefined };
const hintOf = (path: string, at: AskedAt = someRooms) => notFound("POST", path, at).hint ?? "";

describe("the error for a wrong URL names the right one", () => {
  test.each([
    [
      "the v1 is missing",
      "/rooms/ABC234/chat/completions",
      "Use http://hub:5050/rooms/ABC234/v1/chat/completions",
    ],
    [
      "the v1 is doubled",
      "/rooms/ABC234/v1/v1/chat/completions",
      "Use http://hub:5050/rooms/ABC234/v1/chat/completions",
    ],
    [
      "the v1 is doubled by a program that adds it",
      "/rooms/ABC234/v1/v1/messages",
      "(base URL: http://hub:5050/rooms/ABC234/v1, or http://hub:5050/rooms/ABC234/ for a program that adds v1 itself)",
    ],
    [
      "the v1 is added without a slash",
      "/rooms/ABC234/v1v1/chat/completions",
      "or http://hub:5050/rooms/ABC234/ for a program that adds v1 itself)",
    ],
    [
      "the v1 is added to the code of the room",
      "/rooms/ABC234v1/chat/completions",
      "or http://hub:5050/rooms/ABC234/ for a program that adds v1 itself)",
    ],
    [
      "a file is uploaded",
      "/rooms/ABC234/v1/files",
      "roomhub batch serve --room http://hub:5050/rooms/ABC234",
    ],
    [
      "a batch is looked up",
      "/rooms/ABC234/v1/batches/batch_1",
      "roomhub batch serve --room http://hub:5050/rooms/ABC234",
    ],
    [
      "the base URL already ended in the operation",
      "/rooms/ABC234/v1/chat/completions/chat/completions",
      "Use http://hub:5050/rooms/ABC234/v1/chat/completions",
    ],
    [
      "something that is none follows an operation",
      "/rooms/ABC234/v1/completions/chat",
      "A room relays chat/completions, responses, ",
    ],
    [
      "the room is in lower case",
      "/rooms/abc234/v1/v1/responses",
      "Use http://hub:5050/rooms/ABC234/v1/responses",
    ],
    [
      "the families are mixed",
      "/v1/rooms/ABC234/v1/chat/completions",
      "Use http://hub:5050/rooms/ABC234/v1/chat/completions",
    ],
    [
      "a prefix of another product",
      "/api/rooms/ABC234/v1/models",
      "Use http://hub:5050/rooms/ABC234/v1/models",
    ],
    [
      "a space is pasted behind the code",
      "/rooms/ABC234%20/chat/completions",
      "Use http://hub:5050/rooms/ABC234/v1/chat/completions",
    ],
    [
      "a quote is pasted behind the base URL",
      "/rooms/ABC234/v1%22/chat/completions",
      "Use http://hub:5050/rooms/ABC234/v1/chat/completions",
    ],
    [
      "the operation stands behind everything twice, v1 included",
      "/rooms/ABC234/v1/chat/completions/v1/chat/completions",
      "Use http://hub:5050/rooms/ABC234/v1/chat/completions",
    ],
    [
      "the base itself is requested",
      "/rooms/ABC234/v1",
      "The base URL of this room is http://hub:5050/rooms/ABC234/v1",
    ],
    [
      "the operation is misspelled",
      "/rooms/ABC234/v1/chat/completion",
      "A room relays chat/completions, responses, ",
    ],
    [
      "an operation that rooms do not relay",
      "/rooms/ABC234/v1/fine_tuning/jobs",
      "A room relays chat/completions, responses, ",
    ],
    [
      "one that rooms do not relay, with the v1 doubled",
      "/rooms/ABC234/v1/v1/fine_tuning/jobs",
      "The base URL of this room is http://hub:5050/rooms/ABC234/v1",
    ],
    [
      "one that rooms do not relay, by an id",
      "/rooms/ABC234/v1/organization/projects/p_1",
      "A room relays chat/completions, responses, ",
    ],
    [
      "one below an operation",
      "/rooms/ABC234/v1/messages/batches",
      "A room relays chat/completions, responses, ",
    ],
    [
      "the room is missing",
      "/v1/chat/completions",
      "The base URL must name a room: http://hub:5050/rooms/CODE/v1",
    ],
    [
      "everything but the operation is missing",
      "/responses",
      "The base URL must name a room: http://hub:5050/rooms/CODE/v1",
    ],
    [
      "the page of a browser",
      "/",
      "Base URLs are http://hub:5050/rooms/CODE/v1; rooms are listed at http://hub:5050/rooms",
    ],
    ["Ollama's own path", "/api/chat", "Base URLs are http://hub:5050/rooms/CODE/v1"],
  ])("%s", (_what, path, hint) => {
    expect(hintOf(path)).toContain(hint);
  });
});

test.each(["/v1/chat/completions", "/responses", "/", "/api/chat"])(
  "where there is one room only, the error for %s names its base URL",
  (path) => {
    expect(hintOf(path, { origin, onlyRoom: "ABC234" })).toContain(`${origin}/rooms/ABC234/v1`);
  },
);

test("the error names the method and a shortened path", () => {
  const error = notFound("GET", `/${"x".repeat(500)}`, someRooms);
  expect(error).toMatchObject({ code: "not_found", status: 404 });
  expect(error.message).toBe(`There is nothing at GET /${"x".repeat(199)}.`);
});
