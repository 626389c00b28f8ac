import { expect, test } from "vitest";
import { ledgerProblems, settled } from "../support/hub/ledger.ts";
import { PATHS } from "../support/hub/joining.ts";
import { userSays } from "../support/clients/openai-client.ts";
import { type RoomhubProcess, startRoomhub } from "../support/programs/roomhub-process.ts";
import { until } from "../support/waiting.ts";
import { describeReal } from "./binary.ts";
import { type Lab, startLab } from "./lab.ts";
import { startLlamaServer } from "./llama-server.ts";
import { startTap } from "./tap.ts";

const short = { max_tokens: 5 };

describeReal.for(PATHS)("a server that loads its model, by %s", (path) => {
  test("is listed as loading, and a request waits for it with keepalives, then completes", async () => {
    await using llama = await startLlamaServer({ alias: "tiny", isHeld: true });
    await using tap = await startTap(llama.port);
    await using lab = await startLab({
      ROOMHUB_EARLY_COMMIT_MS: "300",
      ROOMHUB_KEEPALIVE_COMMENT_MS: "200",
    });
    await using _ada = await lab.bring(path, tap.url);
    await lab.untilReadiness("ada", "loading");
    await until(
      "how long it has been loading",
      async () => (await lab.client.getParticipant(lab.code, "ada")).connection.problem,
      (problem) => /loading its model for \d+ s/.test(problem ?? ""),
    );

    const byName = await lab.post("/chat/completions", {
      ...{ model: "tiny", messages: userSays("a patient one"), ...short },
      stream: true,
    });
    const byId = lab.post("/chat/completions", {
      ...{ model: "ada", messages: userSays("a patient one"), ...short },
    });
    const reader = byName.body?.pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    while (text.split(": keepalive").length < 3) text += (await reader?.read())?.value ?? "";
    await untilQueued(lab, 2);
    expect(text).not.toContain("data:");
    expect(tap.connections.some(({ sent }) => sent.includes("a patient one"))).toBe(false);

    await llama.load();
    for (;;) {
      const read = await reader?.read();
      if (read === undefined || read.done) break;
      text += read.value;
    }
    expect(text).toMatch(/data: \[DONE\]\n\n$/);
    const { status, headers } = await byId;
    expect(status).toBe(200);
    expect(Number(headers.get("x-roomhub-queue-ms"))).toBeGreaterThan(0);
    await settled(lab.events, 2);
    expect(lab.events.of("llm.request")).toHaveLength(2);
    expect(lab.events.of("llm.complete")).toHaveLength(2);
    expect(await lab.readiness("ada")).toBe("ready");
  });

  test("loses its requests to a participant that is ready", async () => {
    await using loading = await startLlamaServer({ alias: "tiny", isHeld: true });
    await using ready = await startLlamaServer({ alias: "tiny" });
    await using lab = await startLab();
    await using _ada = await lab.bring(path, loading.url);
    await lab.untilReadiness("ada", "loading");
    await using _bob = await lab.join(ready.url, ["--id", "bob", "--model", "tiny"]);

    const answers = await Promise.all(
      ["*", "*", "*", "*", "any", "any", "tiny", "model:tiny"].map((model) =>
        lab.post("/chat/completions", { model, messages: userSays("hi"), ...short }),
      ),
    );

    expect(
      answers.map(({ status, headers }) => [status, headers.get("x-roomhub-participant")]),
    ).toEqual(answers.map(() => [200, "bob"]));
    await settled(lab.events, 8);
    expect(lab.events.of("llm.request")).toHaveLength(8);
  });

  test("is waited for no longer than the queue allows", async () => {
    await using llama = await startLlamaServer({ alias: "tiny", isHeld: true });
    await using lab = await startLab({ ROOMHUB_QUEUE_WAIT_MS: "500" });
    await using _ada = await lab.bring(path, llama.url);
    await lab.untilReadiness("ada", "loading");

    const late = await lab.post("/chat/completions", { model: "*", messages: userSays("hi") });

    expect(late.status).toBe(503);
    expect(late.headers.get("retry-after")).not.toBeNull();
    expect(await late.json()).toMatchObject({ error: { code: "queue_timeout" } });
  });

  test.for(["ada", "tiny", "*"])(
    "puts the request that notices its restart back in the queue: %s",
    async (model) => {
      const first = await startLlamaServer({ alias: "tiny" });
      const { port } = first;
      await using lab = await startLab();
      await using _ada = await lab.bring(path, first.url);
      await lab.untilReadiness("ada", "ready");
      await first[Symbol.asyncDispose]();
      await using again = await startLlamaServer({ alias: "tiny", port, isHeld: true });

      const answer = lab.post("/chat/completions", { model, messages: userSays("hi"), ...short });
      await untilQueued(lab, 1);
      expect(await lab.readiness("ada")).toBe("loading");
      await again.load();

      expect((await answer).status).toBe(200);
      await settled(lab.events, 1);
      expect(lab.events.of("llm.request").map(({ data }) => data["attempt"])).toEqual([1, 2]);
      expect(lab.events.of("llm.complete")).toHaveLength(1);
      expect(ledgerProblems(lab.events)).toEqual([]);
    },
  );
});

describeReal("the commands beside a server that loads its model", () => {
  test("join prints that it waits, and shares the model once it is loaded", async () => {
    await using llama = await startLlamaServer({ alias: "tiny", isHeld: true });
    await using lab = await startLab();
    await using join = startRoomhub(
      [
        ...["join", `${lab.url}/rooms/${lab.code}`, "--nickname", "Ada", "--yes"],
        ...["--endpoint", llama.url],
      ],
      {},
      "text",
    );

    await untilSaid(join, /is loading its model/);
    expect(await lab.client.listParticipants(lab.code)).toEqual([]);
    await llama.load();

    await untilSaid(join, /connected/);
    const [ada] = await lab.client.listParticipants(lab.code);
    expect(ada?.model).toBe("tiny");
    await lab.untilReadiness(ada?.id ?? "", "ready");
  });

  test("up prints that it waits, and creates the room with the model", async () => {
    await using llama = await startLlamaServer({ alias: "tiny", isHeld: true });
    await using up = startRoomhub(["up", "--port", "0", "--endpoint", llama.url], {}, "text");

    await untilSaid(up, /is loading its model/);
    await llama.load();

    await untilSaid(up, /http:\/\/\S+\/rooms\/\w{6}\/v1/);
    const [baseUrl = ""] = /http:\/\/\S+\/rooms\/\w{6}\/v1/.exec(up.output) ?? [];
    const answer = await fetch(`${baseUrl}/chat/completions`, {
      method: "POST",
      body: JSON.stringify({ model: "tiny", messages: userSays("hi"), ...short }),
    });
    expect(answer.status).toBe(200);
    expect(await answer.json()).toMatchObject({ model: "tiny", timings: expect.anything() });
  });
});

function untilSaid(command: RoomhubProcess, pattern: RegExp): Promise<string> {
  return until(
    `${pattern}`,
    () => command.output,
    (text) => pattern.test(text),
    30_000,
  );
}

function untilQueued(lab: Lab, count: number): Promise<unknown> {
  return until(
    `${count} requests in the queue`,
    async () => (await lab.client.explainRoute(lab.code, {})).queue.waiting,
    (waiting) => waiting === count,
  );
}
