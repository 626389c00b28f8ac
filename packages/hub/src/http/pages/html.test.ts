import { createHash } from "node:crypto";
import type { OutgoingHttpHeaders, ServerResponse } from "node:http";
import { expect, test } from "vitest";
import { html, sendPage } from "./html.ts";
import { carefulLines } from "./room-page.ts";

test("a text cannot become markup, wherever it stands", () => {
  const name = `<script>"&'`;
  expect(html`<p title="${name}">${[html`<b>${name}</b>`]}</p>`.text).toBe(
    '<p title="&lt;script&gt;&quot;&amp;&#39;"><b>&lt;script&gt;&quot;&amp;&#39;</b></p>',
  );
});

test("the careful steps name the version of this hub's program", () => {
  const hub = { hubUrl: "https://h.example/lab", isHandedOut: true };
  const facts = {
    origin: "http://127.0.0.1:5050",
    hub,
    version: "1.2.3",
    isForOperator: false,
    sha512: undefined,
  };
  expect(carefulLines(facts, "ABC234")).toEqual([
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
