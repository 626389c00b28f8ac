import { expect, test } from "vitest";
import { userSays } from "../support/clients/openai-client.ts";
import { startRoomhub } from "../support/programs/roomhub-process.ts";
import { temporaryFolder } from "../support/programs/temporary-folder.ts";
import { describeReal } from "./binary.ts";
import { startLab } from "./lab.ts";
import { startLlamaServer } from "./llama-server.ts";

const short = { messages: userSays("hi"), max_tokens: 5 };

describeReal("a participant of one request, whose endpoint is probed", () => {
  test("stays as long as its server responds, without a heartbeat", async () => {
    await using llama = await startLlamaServer({ alias: "tiny" });
    await using lab = await startLab();
    const body = { nickname: "Ada", model: "tiny", endpoint: llama.url };
    await lab.client.join(lab.code, { ...body, id: "silent" });
    await lab.client.join(lab.code, { ...body, id: "ada", liveness: "probe" });

    // By then the hub has probed it three times.
    await lab.events.waitFor(
      "the silence of the other one",
      ({ events }) => events.some(({ data }) => data["participantId"] === "silent"),
      45_000,
    );

    const ada = await lab.client.getParticipant(lab.code, "ada");
    expect(ada).toMatchObject({ status: "online", liveness: "probe" });
    expect(lab.events.of("participant.offline").map(({ data }) => data["participantId"])).toEqual([
      "silent",
    ]);
    const answer = await lab.post("/chat/completions", { model: "*", ...short });
    expect(answer.status).toBe(200);
  });

  test("is added and removed by one command each", async () => {
    await using folder = await temporaryFolder();
    await using llama = await startLlamaServer({ alias: "tiny", apiKey: "sk-1234567890" });
    await using lab = await startLab();
    const roomhub = async (...args: string[]) => {
      await using command = startRoomhub(["participant", ...args, "--hub", lab.url], {
        XDG_STATE_HOME: folder.path,
        LLAMA_KEY: "Bearer sk-1234567890",
      });
      return await command.line("what became of it", () => true);
    };

    const added = await roomhub(
      ...["add", llama.url, "--room", lab.code, "--nickname", "Ada"],
      ...["--auth-header-env", "Authorization=LLAMA_KEY"],
    );

    expect(added).toMatchObject({
      participant: { id: "ada-tiny", model: "tiny", liveness: "probe" },
    });
    await lab.untilReadiness("ada-tiny", "ready");
    const answer = await lab.post("/chat/completions", { model: "tiny", ...short });
    expect(answer.status).toBe(200);

    expect(await roomhub("remove", "ada-tiny")).toEqual({ success: true });
    expect(await lab.client.listParticipants(lab.code)).toEqual([]);
  });
});
