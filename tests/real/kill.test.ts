import { expect, test } from "vitest";
import { ledgerProblems, settled } from "../support/hub/ledger.ts";
import { PATHS } from "../support/hub/joining.ts";
import { userSays } from "../support/clients/openai-client.ts";
import { until } from "../support/waiting.ts";
import { describeReal } from "./binary.ts";
import { startLab } from "./lab.ts";
import { isBusy, startLlamaServer } from "./llama-server.ts";

const surfaces = {
  "/chat/completions": {
    request: { messages: userSays("go on"), max_tokens: 16_000 },
    // The error, then what every client waits for.
    end: /data: \{"error":\{"message":"[^"]+"[^\n]*"code":"provider_disconnected"\}\}\n\ndata: \[DONE\]\n\n$/,
  },
  "/responses": {
    request: { input: "go on", max_output_tokens: 16_000 },
    end: /event: error\ndata: \{[^\n]*"provider_disconnected"[^\n]*\n\nevent: response\.failed\ndata: \{[^\n]*\n\ndata: \[DONE\]\n\n$/,
  },
  "/messages": {
    request: { messages: userSays("go on"), max_tokens: 16_000 },
    end: /event: error\ndata: \{"type":"error","error":\{[^\n]*\}\n\n$/,
  },
} as const;
const surfaceNames = Object.keys(surfaces) as (keyof typeof surfaces)[];

describeReal.for(PATHS)("a server that is killed, by %s", (path) => {
  test.for(surfaceNames)("ends its stream with an error, and once, %s", async (surface) => {
    await using llama = await startLlamaServer({ alias: "tiny" });
    await using lab = await startLab();
    await using _ada = await lab.bring(path, llama.url);

    const answer = await lab.post(surface, {
      model: "*",
      ...surfaces[surface].request,
      ignore_eos: true,
      stream: true,
    });
    const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader();
    let text = (await reader?.read())?.value ?? "";
    await llama.kill("SIGKILL");
    for (;;) {
      const read = await reader?.read();
      if (read === undefined || read.done) break;
      text += read.value;
    }

    expect(text).toMatch(surfaces[surface].end);
    await settled(lab.events, 1);
    expect(lab.events.of("llm.request")).toHaveLength(1);
    expect(lab.events.of("llm.complete")).toEqual([]);
    expect(lab.events.of("llm.error").map(({ data }) => [data["stage"], data["code"]])).toEqual([
      ["provider", "provider_disconnected"],
    ]);
    expect((await lab.client.health()).status).toBe("ok");
  });

  test("gets one more request at most: the next one is refused without a call", async () => {
    await using llama = await startLlamaServer({ alias: "tiny" });
    await using lab = await startLab();
    await using _ada = await lab.bring(path, llama.url);
    await llama.kill("SIGKILL");

    const lost = await lab.post("/chat/completions", { model: "*", messages: userSays("hi") });
    // The second where a look at the server came first.
    expect(["502 provider_unreachable", "503 participant_offline"]).toContain(
      `${lost.status} ${await codeOf(lost)}`,
    );

    await lab.untilReadiness("ada", "down");
    const refused = await lab.post("/chat/completions", { model: "ada", messages: userSays("hi") });
    expect([refused.status, await codeOf(refused)]).toEqual([503, "participant_offline"]);
  });

  test("before a JSON response is complete is an error, and once", async () => {
    await using llama = await startLlamaServer({ alias: "tiny" });
    await using lab = await startLab();
    await using _ada = await lab.bring(path, llama.url);

    const answer = lab.post("/chat/completions", {
      model: "*",
      ...surfaces["/chat/completions"].request,
      ignore_eos: true,
    });
    await until("a slot at work", () => llama.slots(), isBusy);
    await llama.kill("SIGKILL");

    const lost = await answer;
    expect([lost.status, await codeOf(lost)]).toEqual([502, "provider_disconnected"]);
    await settled(lab.events, 1);
    expect(lab.events.of("llm.error")).toHaveLength(1);
    expect(ledgerProblems(lab.events)).toEqual([]);
  });

  test("loses no request that another participant can serve", async () => {
    await using first = await startLlamaServer({ alias: "tiny" });
    await using second = await startLlamaServer({ alias: "tiny" });
    await using lab = await startLab();
    await using _ada = await lab.bring(path, first.url);
    await using _bob = await lab.join(second.url, ["--id", "bob", "--model", "tiny"]);
    await first.kill("SIGKILL");

    // The first by the order in which they joined, which cannot be known to be down.
    const { status, headers } = await lab.post("/chat/completions", {
      model: "model:tiny",
      messages: userSays("hi"),
      max_tokens: 5,
    });

    expect(status).toBe(200);
    expect(headers.get("x-roomhub-participant")).toBe("bob");
    await settled(lab.events, 1);
    expect(lab.events.of("llm.request").map(({ data }) => data["participantId"])).toEqual([
      "ada",
      "bob",
    ]);
    expect(lab.events.of("llm.complete")).toHaveLength(1);
    expect(ledgerProblems(lab.events)).toEqual([]);
  });
});

async function codeOf(answer: Response): Promise<string> {
  const { error } = (await answer.json()) as { error: { code: string } };
  return error.code;
}
