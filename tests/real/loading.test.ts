import { expect, test } from "vitest";
import { userSays } from "../support/clients/openai-client.ts";
import { type RoomhubProcess, startRoomhub } from "../support/programs/roomhub-process.ts";
import { until } from "../support/waiting.ts";
import { describeReal } from "./binary.ts";
import { startLab } from "./lab.ts";
import { startLlamaServer } from "./llama-server.ts";

const short = { max_tokens: 5 };

describeReal("the commands beside a server that loads its model", () => {
  test("join waits with a line that says so, and shares the model once it is there", async () => {
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

  test("up waits with a line that says so, and opens the room with the model", async () => {
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
