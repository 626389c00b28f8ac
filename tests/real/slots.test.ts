import { expect, test } from "vitest";
import { PATHS } from "../support/hub/joining.ts";
import { userSays } from "../support/clients/openai-client.ts";
import { until } from "../support/waiting.ts";
import { describeReal } from "./binary.ts";
import { type Lab, startLab } from "./lab.ts";
import { type LlamaServer, type Slot, startLlamaServer } from "./llama-server.ts";

describeReal.for(PATHS)("slots by %s", (path) => {
  test("are how many requests a participant serves at once, unless it declares a limit itself", async () => {
    await using llama = await startLlamaServer({ alias: "tiny", slots: 3 });
    await using lab = await startLab();
    await using _ada = await lab.bring(path, llama.url);
    await untilLimit(lab, "ada", 3);

    await using _bob = await lab.join(llama.url, [
      ...["--id", "bob", "--model", "tiny", "--max-concurrency", "5"],
    ]);
    await untilLimit(lab, "bob", 5);
  });

  test("that stay busy after an abort are listed until they are free", async () => {
    await using llama = await startLlamaServer({ alias: "tiny", slots: 2 });
    await using lab = await startLab();
    await using _ada = await lab.bring(path, llama.url);
    await untilLimit(lab, "ada", 2);
    const load = async () => (await lab.client.getParticipant(lab.code, "ada")).load;
    const long = { messages: userSays("go on"), max_tokens: 30_000, ignore_eos: true };
    const [leave, leaveOther] = [new AbortController(), new AbortController()];

    // A stream beside the hub: while the server sends tokens, it does not notice disconnects.
    const other = await fetch(`${llama.url}/chat/completions`, {
      method: "POST",
      body: JSON.stringify({ ...long, stream: true }),
      signal: leaveOther.signal,
    });
    const answer = lab.post("/chat/completions", { model: "*", ...long }, { signal: leave.signal });
    answer.catch(() => undefined);
    await until("both slots at work", () => llama.slots(), areBusy);
    leave.abort();

    await until("both to be listed", load, (now) => now.active === 0 && now.elsewhere === 2);
    leaveOther.abort();
    await expect(other.text()).rejects.toThrow("aborted");
    await until("them to be free", load, ({ elsewhere }) => elsewhere === undefined, 60_000);
    expect((await llama.slots()).some(({ is_processing }) => is_processing)).toBe(false);
  });

  test("of a router's model are known once it is loaded, and finding out loads nothing", async () => {
    await using llama = await startLlamaServer({ isRouter: true, slots: 3 });
    await using lab = await startLab();
    await using _ada =
      path === "tunnel"
        ? await lab.join(llama.url, ["--model", "one"])
        : await lab.register(llama.url, { model: "one", liveness: "probe" });
    await until(
      "its surfaces to be known",
      async () => (await lab.client.getParticipant(lab.code, "ada")).capabilities,
      ({ chatCompletions, openResponses }) =>
        chatCompletions === "supported" && openResponses === "supported",
      30_000,
    );
    expect(await loadedModels(llama)).toEqual([]);

    const answer = await lab.post("/chat/completions", {
      model: "one",
      messages: userSays("hi"),
      max_tokens: 5,
    });

    expect(answer.status).toBe(200);
    expect(await loadedModels(llama)).toEqual(["one"]);
    await untilLimit(lab, "ada", 3);
    expect(await loadedModels(llama)).toEqual(["one"]);
  });
});

async function untilLimit(lab: Lab, id: string, expected: number): Promise<void> {
  await until(
    `${id}'s limit to be ${expected}`,
    async () => (await lab.client.getParticipant(lab.code, id)).load.limit,
    (limit) => limit === expected,
    80_000,
  );
}

async function loadedModels(llama: LlamaServer): Promise<string[]> {
  const { data } = (await (await llama.get("/models")).json()) as {
    data: { id: string; status: { value: string } }[];
  };
  return data.filter(({ status }) => status.value !== "unloaded").map(({ id }) => id);
}

function areBusy(slots: readonly Slot[]): boolean {
  return slots.every(({ is_processing }) => is_processing);
}
