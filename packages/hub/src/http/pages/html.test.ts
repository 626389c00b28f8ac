import { createHash } from "node:crypto";
import type { OutgoingHttpHeaders, ServerResponse } from "node:http";
import { expect, test } from "vitest";
import { html, sendPage } from "./html.ts";
import { carefulLines, joinLine, shellWord } from "./lines.ts";

test("a text cannot become markup, wherever it stands", () => {
  const name = `<script>"&'`;
  expect(html`<p title="${name}">${[html`<b>${name}</b>`]}</p>`.text).toBe(
    '<p title="&lt;script&gt;&quot;&amp;&#39;"><b>&lt;script&gt;&quot;&amp;&#39;</b></p>',
  );
});

test.each([
  ["http://192.168.1.5:5050/rooms/ABC234", "http://192.168.1.5:5050/rooms/ABC234"],
  ["http://[::1]:5050", "'http://[::1]:5050'"],
  ["https://hub.example/$(id)", "'https://hub.example/$(id)'"],
  ["it's", String.raw`'it'\''s'`],
])("a shell reads %j as one word: %s", (text, word) => {
  expect(shellWord(text)).toBe(word);
});

test("the line to join names the program of this hub, the careful one its version", () => {
  const facts = { origin: "https://h.example/lab", version: "1.2.3" };
  expect(joinLine({ ...facts, handout: { sha512: undefined } }, "ABC234")).toBe(
    "npx -y https://h.example/lab/roomhub.tgz join https://h.example/lab/rooms/ABC234",
  );
  expect(joinLine({ ...facts, handout: undefined }, "ABC234")).toBe(
    "roomhub join https://h.example/lab/rooms/ABC234",
  );
  expect(carefulLines({ ...facts, handout: { sha512: undefined } }, "ABC234")).toEqual([
    "curl -fO https://h.example/lab/roomhub-1.2.3.tgz",
    "sha512sum roomhub-1.2.3.tgz",
    "npx -y ./roomhub-1.2.3.tgz join https://h.example/lab/rooms/ABC234",
  ]);
});

test("the policy of a page allows exactly its style", () => {
  let headers: OutgoingHttpHeaders = {};
  let body = "";
  const response = {
    writeHead: (_status: number, given: OutgoingHttpHeaders) => void (headers = given),
    end: (bytes: Buffer) => void (body = bytes.toString()),
  };
  sendPage(response as unknown as ServerResponse, 200, "title", html`<p>body</p>`);
  const [, style = ""] = /<style>([^]*)<\/style>/.exec(body) ?? [];
  const digest = createHash("sha256").update(style).digest("base64");
  expect(headers["content-security-policy"]).toContain(`style-src 'sha256-${digest}';`);
});
