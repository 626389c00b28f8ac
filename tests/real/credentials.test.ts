import { expect, test } from "vitest";
import { ledgerProblems, settled } from "../support/hub/ledger.ts";
import { PATHS } from "../support/hub/joining.ts";
import { userSays } from "../support/clients/openai-client.ts";
import { startRoomhub } from "../support/programs/roomhub-process.ts";
import { describeReal } from "./binary.ts";
import { type Lab, startLab } from "./lab.ts";
import { type LlamaServer, startLlamaServer } from "./llama-server.ts";
import { startTap } from "./tap.ts";

const apiKey = "sk-the-servers-own-key-123456";
const short = { messages: userSays("hi"), max_tokens: 5 };

describeReal.for(PATHS)("a server that has come to require a key, by %s", (path) => {
  test("takes no request from a healthy participant", async () => {
    const open = await startLlamaServer({ alias: "tiny" });
    await using healthy = await startLlamaServer({ alias: "tiny" });
    await using tap = await startTap(open.port);
    await using lab = await startLab();
    await using _ada = await lab.bring(path, tap.url);
    await using _bob = await lab.join(healthy.url, ["--id", "bob", "--model", "tiny"]);
    await using _locked = await locked(open);

    // The first by the order in which they joined: it finds out.
    const answers = [await lab.post("/chat/completions", { model: "model:tiny", ...short })];
    for (let n = 0; n < 20; n += 1) {
      answers.push(await lab.post("/chat/completions", { model: "*", ...short }));
    }

    expect(
      answers.map(({ status, headers }) => [status, headers.get("x-roomhub-participant")]),
    ).toEqual(answers.map(() => [200, "bob"]));
    await settled(lab.events, 21);
    const selected = lab.events.of("llm.request").map(({ data }) => data["participantId"]);
    expect(selected.filter((id) => id === "ada")).toHaveLength(1);
    expect(lab.events.of("llm.complete")).toHaveLength(21);
    expect(ledgerProblems(lab.events)).toEqual([]);
    expect(await problemOf(lab)).toContain("requires credentials");
  });

  test("is not called when it alone could serve the request, and the refusal explains it", async () => {
    const open = await startLlamaServer({ alias: "tiny" });
    await using tap = await startTap(open.port);
    await using lab = await startLab();
    await using _ada = await lab.bring(path, tap.url);
    await using _locked = await locked(open);

    const first = await lab.post("/chat/completions", { model: "ada", ...short });
    expect([first.status, await codeOf(first)]).toEqual([502, "provider_auth_failed"]);
    await lab.untilReadiness("ada", "needs-credentials");

    for (const model of ["ada", "tiny", "*"]) {
      const refused = await lab.post("/chat/completions", {
        model,
        messages: userSays("not to be sent"),
      });
      expect(refused.status).toBe(502);
      expect(refused.headers.get("x-should-retry")).toBe("false");
      expect(await refused.json()).toMatchObject({
        error: {
          code: "provider_auth_failed",
          message: expect.stringContaining("requires credentials"),
          hint: expect.stringContaining("--header-env"),
        },
      });
    }
    expect(tap.connections.some(({ sent }) => sent.includes("not to be sent"))).toBe(false);
    await settled(lab.events, 4);
    expect(lab.events.of("llm.request")).toHaveLength(1);
    expect(JSON.stringify(lab.events.events)).not.toContain(apiKey);
  });
});

describeReal("a server that requires a key", () => {
  test("makes a registration without one need credentials at once, and PUT of the key ready", async () => {
    await using llama = await startLlamaServer({ alias: "tiny", apiKey });
    await using lab = await startLab();
    await using _ada = await lab.register(llama.url);
    expect(await lab.readiness("ada")).toBe("needs-credentials");

    await lab.client.updateParticipant(lab.code, "ada", {
      authHeaders: { authorization: `Bearer ${apiKey}` },
    });

    await lab.untilReadiness("ada", "ready");
    const answer = await lab.post("/chat/completions", { model: "ada", ...short });
    expect(answer.status).toBe(200);
    expect(JSON.stringify(await lab.client.listParticipants(lab.code))).not.toContain(apiKey);
  });

  test("ends join with the option that passes the key, and that option works", async () => {
    await using llama = await startLlamaServer({ alias: "tiny", apiKey });
    await using lab = await startLab();
    await using keyless = startRoomhub([
      ...["join", `${lab.url}/rooms/${lab.code}`, "--nickname", "Ada", "--yes"],
      ...["--endpoint", llama.url],
    ]);
    await expect(
      keyless.line("that it is connected", ({ kind }) => kind === "connected"),
    ).rejects.toThrow(/requires credentials[^]*--header-env/);

    await using _ada = await lab.join(
      llama.url,
      ["--yes", "--header-env", "Authorization=LLAMA_KEY"],
      { LLAMA_KEY: `Bearer ${apiKey}` },
    );

    await lab.untilReadiness("ada", "ready");
    const answer = await lab.post("/chat/completions", { model: "tiny", ...short });
    expect(answer.status).toBe(200);
  });

  test("is shared by up with the key", async () => {
    await using llama = await startLlamaServer({ alias: "tiny", apiKey });
    await using up = startRoomhub(
      [
        ...["up", "--port", "0", "--endpoint", llama.url],
        ...["--header-env", "Authorization=LLAMA_KEY"],
      ],
      { LLAMA_KEY: `Bearer ${apiKey}` },
    );

    const opened = await up.line("what it shares", (line) => "isDemo" in line);
    expect(opened).toMatchObject({ model: "tiny", isDemo: false });
    const answer = await fetch(`${String(opened["baseUrl"])}/chat/completions`, {
      method: "POST",
      body: JSON.stringify({ model: "*", ...short }),
    });
    expect(answer.status).toBe(200);
    expect(up.output).not.toContain(apiKey);
  });
});

/** The same server again, now with a key; the one without has ended. */
async function locked(open: LlamaServer): Promise<LlamaServer> {
  const { port } = open;
  await open[Symbol.asyncDispose]();
  return startLlamaServer({ alias: "tiny", port, apiKey });
}

async function problemOf(lab: Lab): Promise<string | undefined> {
  return (await lab.client.getParticipant(lab.code, "ada")).connection.problem;
}

async function codeOf(answer: Response): Promise<string> {
  const { error } = (await answer.json()) as { error: { code: string } };
  return error.code;
}
