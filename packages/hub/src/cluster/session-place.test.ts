import { expect, test } from "vitest";
import { sessionPlace } from "./session-place.ts";

const hubs = [
  { hubId: "aaaaaaaaaaaaaaaa", advertiseUrl: "http://one:4242", linkUrl: "http://10.0.0.1:4242" },
  { hubId: "bbbbbbbbbbbbbbbb", advertiseUrl: "", linkUrl: "http://127.0.0.1:40123" },
  { hubId: "cccccccccccccccc", advertiseUrl: "", linkUrl: "http://10.0.0.3:40123" },
];

test.each([
  [
    "of a hub with a URL of its own",
    "aaaaaaaaaaaaaaaa-1f",
    { kind: "elsewhere", advertiseUrl: "http://one:4242" },
  ],
  ["of a worker on this machine", "bbbbbbbbbbbbbbbb-1f", { kind: "sibling", port: 40_123 }],
  ["of a worker on another machine", "cccccccccccccccc-1f", undefined],
  ["of a hub that is gone", "dddddddddddddddd-1f", undefined],
  ["of a hub that is alone", "3f2a9c0d5e7b41688a1c2d3e4f506172", undefined],
  ["that is not named", undefined, undefined],
])("a session %s", (_what, name, place) => {
  expect(sessionPlace(name, hubs)).toEqual(place);
});
