import { get } from "node:http";
import { expect, test } from "vitest";
import { monitorQuery, serveMonitor } from "./page-server.ts";

const room = { hubUrl: "http://127.0.0.1:5050", code: "ABC234" };

test("the page without a query is sent to the room", async () => {
  const page = await serveMonitor({ port: 0, room });
  try {
    const response = await fetch(`http://127.0.0.1:${page.port}/`, { redirect: "manual" });
    expect(response.status).toBe(302);
    expect(response.headers.get("location")).toBe(
      "/?hub=http%3A%2F%2F127.0.0.1%3A5050&room=ABC234",
    );
    expect(response.headers.get("content-security-policy")).toContain("frame-ancestors 'none'");
  } finally {
    await page.close();
  }
});

test("only reading is served, and nothing outside the page", async () => {
  const page = await serveMonitor({ port: 0, room });
  try {
    const url = `http://127.0.0.1:${page.port}`;
    expect((await fetch(url, { method: "POST" })).status).toBe(405);
    expect(await statusOf(page.port, "/../../package.json")).toBe(404);
    expect(await statusOf(page.port, "/%2e%2e/package.json")).toBe(404);
  } finally {
    await page.close();
  }
});

test("a port that is named and in use is an error, and the usual one is left for a free one", async () => {
  const first = await serveMonitor({ port: undefined, room });
  const second = await serveMonitor({ port: undefined, room });
  try {
    expect(second.port).not.toBe(first.port);
    await expect(serveMonitor({ port: second.port, room })).rejects.toMatchObject({
      code: "EADDRINUSE",
    });
  } finally {
    await first.close();
    await second.close();
  }
});

test.each([
  ["http://127.0.0.1:5050", "127.0.0.1:5051", "http://127.0.0.1:5050"],
  ["http://127.0.0.1:5050", "192.168.1.5:5051", "http://192.168.1.5:5050"],
  ["https://hub.example/x", "192.168.1.5:5051", "https://hub.example/x"],
  ["http://127.0.0.1:5050", undefined, "http://127.0.0.1:5050"],
  ["http://127.0.0.1:5050", "a b", "http://127.0.0.1:5050"],
])("for the hub %s a page at %s calls %s", (hubUrl, host, expected) => {
  const query = new URLSearchParams(monitorQuery({ hubUrl, code: "ABC234" }, host));
  expect(query.get("hub")).toBe(expected);
});

/** `fetch` would resolve the dots itself. */
function statusOf(port: number, path: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    get({ host: "127.0.0.1", port, path }, (response) => {
      response.resume();
      resolve(response.statusCode);
    }).on("error", reject);
  });
}
