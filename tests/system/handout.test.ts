import { createHash } from "node:crypto";
import { get } from "node:http";
import { text as readText } from "node:stream/consumers";
import { expect, test } from "vitest";
import type { Handout } from "../../packages/hub/src/index.ts";
import { until } from "../support/waiting.ts";
import { startTestHub } from "../support/hub/start-test-hub.ts";

const people = { accept: "text/html,application/xhtml+xml,*/*;q=0.8" };
const program = Buffer.from("the program");
const handout: Handout = {
  program: async () => program,
  sdk: async () => Buffer.from("the SDK"),
  monitor: async () =>
    new Map([["/index.html", { type: "text/html; charset=utf-8", body: Buffer.from("<p>") }]]),
};

async function hubWithRoom(given: Handout | undefined = handout) {
  const hub = await startTestHub({ handout: given });
  const created = await fetch(`${hub.url}/rooms`, { method: "POST", body: '{"name":"Lab <1>"}' });
  const { room } = (await created.json()) as { room: { code: string } };
  return { hub, code: room.code, [Symbol.asyncDispose]: () => hub[Symbol.asyncDispose]() };
}

test("the program is handed out with its digest, under its version for ever", async () => {
  await using world = await hubWithRoom();
  const { version } = (await (await fetch(`${world.hub.url}/health`)).json()) as {
    version: string;
  };
  const response = await fetch(`${world.hub.url}/roomhub.tgz`);
  expect(Buffer.from(await response.arrayBuffer())).toEqual(program);
  const digest = createHash("sha512").update(program).digest("base64");
  expect(response.headers.get("repr-digest")).toBe(`sha-512=:${digest}:`);
  expect(response.headers.get("cache-control")).toBe("no-cache");

  const versioned = await fetch(`${world.hub.url}/roomhub-${version}.tgz`, { method: "HEAD" });
  expect(versioned.status).toBe(200);
  expect(versioned.headers.get("content-length")).toBe(String(program.length));
  expect(versioned.headers.get("cache-control")).toBe("public, max-age=31536000, immutable");

  const etag = response.headers.get("etag") ?? "";
  const again = await fetch(`${world.hub.url}/roomhub.tgz`, { headers: { "if-none-match": etag } });
  expect(again.status).toBe(304);
  expect((await fetch(`${world.hub.url}/roomhub-9.9.9-rc.1.tgz`)).status).toBe(404);
});

test("the SDK is handed out beside it, and the page of a room has the line that installs it", async () => {
  await using world = await hubWithRoom();
  const { hub, code } = world;
  const response = await fetch(`${hub.url}/roomhub-client.tgz`);
  expect(await response.text()).toBe("the SDK");
  expect(response.headers.get("cache-control")).toBe("no-cache");
  const digest = createHash("sha512").update("the SDK").digest("base64");
  expect(response.headers.get("repr-digest")).toBe(`sha-512=:${digest}:`);
  const page = await (await fetch(`${hub.url}/rooms/${code}`, { headers: people })).text();
  expect(page).toContain(`<code>npm install ${hub.url}/roomhub-client.tgz</code>`);
});

test("a program that cannot be built is 503, and is tried again with the next request", async () => {
  let builds = 0;
  const broken = async () => {
    builds += 1;
    if (builds === 1) throw new Error("no compiler");
    return program;
  };
  await using world = await hubWithRoom({ ...handout, program: broken });
  const first = await fetch(`${world.hub.url}/roomhub.tgz`);
  expect(first.status).toBe(503);
  expect(first.headers.get("retry-after")).toBe("5");
  const { error } = (await first.json()) as { error: { code: string; message: string } };
  expect(error.code).toBe("handout_unavailable");
  expect(error.message).toContain("no compiler");
  expect((await fetch(`${world.hub.url}/roomhub.tgz`)).status).toBe(200);
});

test("a hub that hands out nothing has neither program nor monitor, and its page names the installed command", async () => {
  await using world = await hubWithRoom({ ...handout });
  await using bare = await startTestHub();
  const paths = ["/roomhub.tgz", "/roomhub-0.1.0.tgz", "/roomhub-client.tgz", "/monitor/"];
  for (const path of [...paths, "/monitor"]) {
    expect((await fetch(`${bare.url}${path}`)).status).toBe(404);
    expect((await fetch(`${bare.url}${path}`, { method: "POST", body: "{}" })).status).toBe(404);
  }
  const created = await fetch(`${bare.url}/rooms`, { method: "POST", body: '{"name":"lab"}' });
  const { room } = (await created.json()) as { room: { code: string } };
  const url = `${bare.url}/rooms/${room.code}`;
  const page = await (await fetch(url, { headers: people })).text();
  expect(page).toContain(`<code>roomhub join ${url}</code>`);
  expect(page).not.toContain("npx");
  expect((await fetch(`${world.hub.url}/monitor/`)).status).toBe(200);
});

test("people get the room as a page with the one line, programs get JSON as before", async () => {
  await using world = await hubWithRoom();
  const { hub, code } = world;
  const url = `${hub.url}/rooms/${code}`;
  const page = await fetch(url, { headers: people });
  expect(page.headers.get("content-type")).toBe("text/html; charset=utf-8");
  expect(page.headers.get("vary")).toBe("Accept");
  expect(page.headers.get("cache-control")).toBe("no-store");
  expect(page.headers.get("content-security-policy")).toMatch(
    /^default-src 'none'; style-src 'sha256-[A-Za-z0-9+/=]{44}'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'$/,
  );
  const text = await page.text();
  expect(text).toContain(`<code>npx -y ${hub.url}/roomhub.tgz join ${url}</code>`);
  expect(text).toContain(`<code>${url}/v1</code>`);
  expect(text).toContain("Lab &lt;1&gt;");
  expect(text).not.toContain("<script");

  for (const accept of ["*/*", "application/json", "text/html;q=0, */*", "nonsense"]) {
    const response = await fetch(url, { headers: { accept } });
    expect(response.headers.get("content-type")).toBe("application/json");
    expect(await response.json()).toMatchObject({ room: { code } });
  }
});

test("who scans the room's QR code comes to what a phone can do, then to the base URL, then to lines for a computer", async () => {
  await using world = await hubWithRoom();
  const url = `${world.hub.url}/rooms/${world.code}`;
  const page = await (await fetch(url, { headers: people })).text();
  const places = [">Try it<", ">Watch<", `<code>${url}/v1</code>`, "On a computer", "npx -y "];
  const found = places.map((text) => page.indexOf(text));
  expect(found).not.toContain(-1);
  expect(found).toEqual(found.toSorted((one, other) => one - other));
});

test("at a loopback address, lines for others have the hub's URL for them, and health says it", async () => {
  const shared = "http://192.168.1.5:6060";
  await using hub = await startTestHub({ handout, sharedUrl: () => shared });
  const code = await hub.createRoom();
  for (const path of ["/", `/rooms/${code}`]) {
    const page = await (await fetch(`${hub.url}${path}`, { headers: people })).text();
    const lines = [...page.matchAll(/<pre><code>(.*?)<\/code>/g)].map(([, line]) => line ?? "");
    expect(lines.join("\n")).toContain(`npx -y ${shared}/roomhub.tgz join ${shared}/rooms/${code}`);
    expect(lines.join("\n")).not.toContain("127.0.0.1");
  }
  const health = await (await fetch(`${hub.url}/health`)).json();
  expect(health).toMatchObject({ url: shared, handout: true });
  await using alone = await startTestHub();
  const own = await (await fetch(`${alone.url}/health`)).json();
  expect(own).toMatchObject({ url: alone.url, handout: false });
});

test("the short link leads people to the page that watches the room, and programs nowhere", async () => {
  await using world = await hubWithRoom();
  await using bare = await startTestHub();
  const { hub, code } = world;
  const watch = (url: string, headers = {}) => fetch(url, { headers, redirect: "manual" });
  const link = `${hub.url}/rooms/${code}/watch`;
  const moved = await watch(link, people);
  expect(moved.status).toBe(302);
  const location = new URL(moved.headers.get("location") ?? "");
  expect(location.href.split("?")[0]).toBe(`${hub.url}/monitor/`);
  expect(Object.fromEntries(location.searchParams)).toEqual({ hub: hub.url, room: code });
  expect((await watch(link)).status).toBe(404);
  expect((await watch(`${hub.url}/rooms/QQQQQQ/watch`, people)).status).toBe(404);
  const there = await bare.createRoom();
  expect((await watch(`${bare.url}/rooms/${there}/watch`, people)).status).toBe(404);
});

test("the hub's page says what a room is, and has each with a link to watch it; for programs there is nothing at /", async () => {
  await using world = await hubWithRoom();
  const page = await (await fetch(world.hub.url, { headers: people })).text();
  expect(page).toContain("In a room, people share the language models of their machines");
  expect(page).toContain(`roomhub.tgz join ${world.hub.url}/rooms/${world.code}`);
  expect(page).toContain(`href="${world.hub.url}/rooms/${world.code}/watch"`);
  for (const method of ["GET", "POST"]) {
    const response = await fetch(world.hub.url, { method });
    expect([response.status, response.headers.get("allow")]).toEqual([404, null]);
  }
});

test.each(["a$(id)", "hub/`id`", "x'y", "<script>", "[::1"])(
  "the line for a shell has nothing of the forged host %j",
  async (host) => {
    await using world = await hubWithRoom();
    const { hub, code } = world;
    const text = await new Promise<string>((resolve, reject) => {
      const options = { headers: { ...people, host, "x-forwarded-host": host } };
      get(`${hub.url}/rooms/${code}`, options, (response) => {
        resolve(readText(response));
      }).on("error", reject);
    });
    expect(text).toContain(`npx -y ${hub.url}/roomhub.tgz join ${hub.url}/rooms/${code}`);
    expect(text).not.toContain(host);
  },
);

test("an error is a page for people too, with a way on", async () => {
  await using world = await hubWithRoom();
  const response = await fetch(`${world.hub.url}/rooms/QQQQQQ`, { headers: people });
  expect(response.status).toBe(404);
  expect(response.headers.get("content-type")).toBe("text/html; charset=utf-8");
  const page = await response.text();
  expect(page).toContain("room_not_found");
  expect(page).toContain(`href="${world.hub.url}/"`);
  // Commands are for terminals.
  expect(page).not.toContain("roomhub room list");
});

test("the page of a protected room has its name and line, and not who is there", async () => {
  await using hub = await startTestHub({ handout });
  const created = await fetch(`${hub.url}/rooms`, {
    method: "POST",
    body: '{"name":"secret lab","password":"swordfish"}',
  });
  const { room } = (await created.json()) as { room: { code: string } };
  await fetch(`${hub.url}/rooms/${room.code}/join`, {
    method: "POST",
    body: JSON.stringify({
      ...{ id: "ada", nickname: "Ada Lovelace", model: "m1", password: "swordfish" },
      endpoint: "http://127.0.0.1:9/v1",
    }),
  });
  const page = await (await fetch(`${hub.url}/rooms/${room.code}`, { headers: people })).text();
  expect(page).toContain("secret lab");
  expect(page).toContain("join ");
  expect(page).not.toContain("Ada");
});

test("the monitor stands below the hub, and its folder is found without the slash", async () => {
  await using world = await hubWithRoom();
  const { hub, code } = world;
  const moved = await fetch(`${hub.url}/monitor?room=${code}`, { redirect: "manual" });
  expect([moved.status, moved.headers.get("location")]).toEqual([302, `monitor/?room=${code}`]);
  const page = await fetch(`${hub.url}/monitor/?room=${code}`);
  expect(page.status).toBe(200);
  expect(page.headers.get("content-security-policy")).toContain("script-src 'self'");
  expect((await fetch(`${hub.url}/monitor/../health2`)).status).toBe(404);
  expect((await fetch(`${hub.url}/monitor/assets/none.js`)).status).toBe(404);
});

test("of many downloads at once, those beyond 32 are 503", async () => {
  const large = Buffer.alloc(32 * 1024 * 1024);
  await using world = await hubWithRoom({ ...handout, program: async () => large });
  const stop = new AbortController();
  // Their bodies are not read, so each keeps its place.
  const responses = await Promise.all(
    Array.from({ length: 33 }, () =>
      fetch(`${world.hub.url}/roomhub.tgz`, { signal: stop.signal }),
    ),
  );
  const statuses = responses.map(({ status }) => status).sort((one, other) => one - other);
  stop.abort();
  expect(statuses).toEqual([...Array.from({ length: 32 }, () => 200), 503]);
  // Those that left have made room.
  await until(
    "a download to be possible again",
    async () => {
      const response = await fetch(`${world.hub.url}/roomhub.tgz`);
      await response.body?.cancel();
      return response.status;
    },
    (status) => status === 200,
  );
});
