import { expect, test } from "vitest";
import { serveMetrics } from "./metrics-server.ts";

test("the metrics are served at /metrics alone, to be read", async () => {
  const server = await serveMetrics({ host: "127.0.0.1", port: 0, text: async () => "a 1\n" });
  try {
    const url = `http://127.0.0.1:${server.port}`;
    const response = await fetch(`${url}/metrics?name=a`);
    expect(await response.text()).toBe("a 1\n");
    expect(response.headers.get("content-type")).toBe("text/plain; version=0.0.4; charset=utf-8");
    expect((await fetch(`${url}/`)).status).toBe(404);
    expect((await fetch(`${url}/metrics`, { method: "POST" })).status).toBe(405);
  } finally {
    await server.close();
  }
});

test("metrics that cannot be made are an error, and a port in use is one", async () => {
  const text = () => Promise.reject(new Error("no metrics"));
  const server = await serveMetrics({ host: "127.0.0.1", port: 0, text });
  try {
    expect((await fetch(`http://127.0.0.1:${server.port}/metrics`)).status).toBe(500);
    await expect(
      serveMetrics({ host: "127.0.0.1", port: server.port, text }),
    ).rejects.toMatchObject({ code: "EADDRINUSE" });
  } finally {
    await server.close();
  }
});
