import { Elsewhere } from "@roomhub/protocol";
import { expect, test } from "vitest";
import { HubError } from "../errors.ts";
import { rawError } from "./error-response.ts";

const bodyOf = (response: string): unknown =>
  JSON.parse(response.slice(response.indexOf("\r\n\r\n")));

test("a handshake that belongs to the home of its room gets a 421 with the home's URL and epoch", () => {
  const url = "ws://h2:5050/v1/rooms/ABC234/participants/ana/tunnel";
  const error = new HubError("home_elsewhere", "Another hub is the home.", {
    ...{ tunnel: { url }, homeEpoch: 7 },
  });
  const response = rawError(error, "req_1");
  expect(response).toMatch(/^HTTP\/1\.1 421 /);
  expect(Elsewhere.parse(bodyOf(response))).toEqual({
    ...{ error: { code: "home_elsewhere" }, tunnel: { url }, homeEpoch: 7 },
  });
});

test("the body of any other error is its error alone", () => {
  const response = rawError(new HubError("room_not_found", "No."), "req_1");
  expect(Object.keys(bodyOf(response) as object)).toEqual(["error"]);
});
