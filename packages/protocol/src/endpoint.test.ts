import * as fc from "fast-check";
import { expect, test } from "vitest";
import { checkEndpoint, serverRoot, urlBelow } from "./endpoint.ts";
import { LIMITS } from "./limits.ts";

test.each([
  ["http://127.0.0.1:11434", "http://127.0.0.1:11434/v1"],
  ["http://127.0.0.1:11434/", "http://127.0.0.1:11434/v1"],
  ["http://127.0.0.1:11434//", "http://127.0.0.1:11434/v1"],
  ["http://127.0.0.1:11434/v1", "http://127.0.0.1:11434/v1"],
  ["http://127.0.0.1:11434/v1/", "http://127.0.0.1:11434/v1"],
  ["http://127.0.0.1:11434/v1///", "http://127.0.0.1:11434/v1"],
  ["https://api.example/openai/v2", "https://api.example/openai/v2"],
  ["https://api.example/V1", "https://api.example/V1"],
  ["http://127.0.0.1:8080/v1/chat/completions", "http://127.0.0.1:8080/v1"],
  ["http://127.0.0.1:8080/v1/chat/completions/", "http://127.0.0.1:8080/v1"],
  ["http://127.0.0.1:8080/v1/responses", "http://127.0.0.1:8080/v1"],
  ["http://127.0.0.1:8080/v1/models", "http://127.0.0.1:8080/v1"],
  ["http://127.0.0.1:8080/v1/models/", "http://127.0.0.1:8080/v1"],
  ["http://127.0.0.1:8080/v1/mymodels", "http://127.0.0.1:8080/v1/mymodels"],
  ["http://127.0.0.1:8080/chat", "http://127.0.0.1:8080/chat"],
  ["HTTP://Example.TEST:80/V1", "http://example.test/V1"],
  ["http://[::1]:11434", "http://[::1]:11434/v1"],
  ["http://bücher.example", "http://xn--bcher-kva.example/v1"],
  ["http://127.0.0.1:8080/a/../v1", "http://127.0.0.1:8080/v1"],
  ["http://127.0.0.1:8080?", "http://127.0.0.1:8080/v1"],
  ["http://127.0.0.1:8080/?a=%20b", "http://127.0.0.1:8080/v1?a=%20b"],
  [
    "https://lab.example/openai/deployments/four/chat/completions?api-version=2024-10-21",
    "https://lab.example/openai/deployments/four?api-version=2024-10-21",
  ],
])("the base URL of %s is %s", (endpoint, baseUrl) => {
  expect(checkEndpoint(endpoint)).toMatchObject({ ok: true, baseUrl });
});

test("an operation path directly below the host is removed and /v1 is not added", () => {
  expect(checkEndpoint("http://127.0.0.1:8080/chat/completions")).toMatchObject({
    ok: true,
    baseUrl: "http://127.0.0.1:8080",
  });
});

test("the origin has no path and no default port", () => {
  expect(checkEndpoint("https://API.example:443/v1/responses")).toMatchObject({
    origin: "https://api.example",
  });
  expect(checkEndpoint("https://api.example:8443/v1")).toMatchObject({
    origin: "https://api.example:8443",
  });
});

test.each([
  ["a local file", "file:///etc/passwd"],
  ["a script", "javascript:alert(1)"],
  ["another protocol", "gopher://127.0.0.1:70/"],
  ["a WebSocket", "ws://127.0.0.1:11434/v1"],
  ["a data URL", "data:text/plain,hello"],
  ["no scheme", "127.0.0.1:11434"],
  ["a host alone", "localhost"],
  ["a host that looks like a scheme", "localhost:11434"],
  ["a path alone", "/v1"],
  ["nothing", ""],
  ["no host", "http://"],
  ["a scheme without slashes", "http:127.0.0.1"],
  ["a scheme with one slash", "http:/127.0.0.1"],
  ["a port that is none", "http://127.0.0.1:99999"],
  ["a user name", "http://ada@127.0.0.1"],
  ["a user name and a password", "http://ada:swordfish@127.0.0.1"],
  ["an empty user name", "http://@127.0.0.1"],
  ["an empty user name and password", "http://:@127.0.0.1/v1"],
  ["a key in its query", "http://127.0.0.1/v1?api-version=1&api-KEY=swordfish"],
  ["a key whose name is encoded", "http://127.0.0.1/v1?%6bey=swordfish"],
  ["a token in its query", "http://127.0.0.1/v1?access_token=swordfish"],
  ["a signature in its query", "http://127.0.0.1/v1?sig=swordfish"],
  ["a secret in its query", "http://127.0.0.1/v1?client_secret=swordfish"],
  ["a code in its query", "http://127.0.0.1/v1?code=swordfish"],
  ["a fragment", "http://127.0.0.1/v1#top"],
  ["an empty fragment", "http://127.0.0.1/v1#"],
  ["a tab", "http://127.0.0.1/\tv1"],
  ["a line feed", "http://127.0.0.1/v1\n"],
  ["a carriage return", "http://127.0.0.1\r/v1"],
  ["a NUL", "http://127.0.0.1/\u0000"],
  ["a C1 control", "http://127.0.0.1/\u009b2J"],
  ["a space before it", " http://127.0.0.1"],
  ["a space inside", "http://127.0.0.1/v 1"],
  ["backslashes", "http:\\\\127.0.0.1\\v1"],
  ["a backslash in the path", "http://127.0.0.1/v1\\..\\admin"],
  ["a character that turns the text around", "http://127.0.0.1/\u202e1v"],
  ["a line separator", "http://127.0.0.1/\u2028"],
])("an endpoint with %s is refused", (_title, endpoint) => {
  const check = checkEndpoint(endpoint);
  expect(check.ok).toBe(false);
  expect(check.ok ? "" : check.reason).not.toContain("swordfish");
});

test("an @ in the path is part of the path", () => {
  expect(checkEndpoint("http://127.0.0.1/@ada/v1")).toMatchObject({
    ok: true,
    baseUrl: "http://127.0.0.1/@ada/v1",
  });
});

test("an endpoint of 2048 characters is accepted, one of 2049 is not", () => {
  const start = "http://127.0.0.1/";
  const longest = start + "a".repeat(LIMITS.endpointLength.default - start.length);
  expect(checkEndpoint(longest).ok).toBe(true);
  expect(checkEndpoint(`${longest}a`).ok).toBe(false);
});

test("an accepted endpoint has an http origin and no userinfo, fragment or trailing slash", () => {
  const piece = fc.constantFrom(
    "http://",
    "https://",
    "a",
    ":",
    "@",
    "/",
    "?",
    "#",
    ".",
    "80",
    "v1",
    "[",
    "\\",
    "%2e",
  );
  const text = fc.oneof(
    fc.string(),
    fc.webUrl({ withQueryParameters: true, withFragments: true }),
    fc.array(piece, { maxLength: 12 }).map((pieces) => `http://h${pieces.join("")}`),
  );
  fc.assert(
    fc.property(text, (endpoint) => {
      const check = checkEndpoint(endpoint);
      if (!check.ok) return;
      const url = new URL(check.baseUrl);
      expect(check.baseUrl.startsWith(check.origin)).toBe(true);
      expect(["http:", "https:"]).toContain(url.protocol);
      expect([url.username, url.password, url.hash]).toEqual(["", "", ""]);
      expect(check.baseUrl.split("?")[0]?.endsWith("/")).toBe(false);
      expect(checkEndpoint(endpoint)).toEqual(check);
    }),
    { numRuns: 1_000 },
  );
});

test.each([
  ["http://h/v1", "/models", "http://h/v1/models"],
  ["http://h/v1", "/slots?model=a", "http://h/v1/slots?model=a"],
  ["http://h/v1?v=1", "/models", "http://h/v1/models?v=1"],
  ["http://h?v=1", "/models", "http://h/models?v=1"],
  ["http://h/v1?v=1&w=/?", "/slots?model=a?&b", "http://h/v1/slots?v=1&w=/?&model=a?&b"],
])("a call to %s of %s goes to %s", (baseUrl, path, url) => {
  expect(urlBelow(baseUrl, path)).toBe(url);
});

test.each([
  ["http://h/v1", "http://h"],
  ["http://h/v1?v=1", "http://h?v=1"],
  ["http://h/api?v=/v1", "http://h/api?v=/v1"],
  ["http://h/v1/v1", "http://h/v1"],
])("the root of %s is %s", (baseUrl, root) => {
  expect(serverRoot(baseUrl)).toBe(root);
});
