import { expect, test } from "vitest";
import { joinTunnel } from "../support/hub/joining.ts";
import { startTestHub } from "../support/hub/start-test-hub.ts";
import { missingTerminal, startInTerminal } from "../support/programs/in-terminal.ts";
import { temporaryFolder } from "../support/programs/temporary-folder.ts";
import {
  LLAMA_MODEL,
  llamaRecording,
  startRecordedLlama,
} from "../support/providers/recorded-llama.ts";
import { createGate, until } from "../support/waiting.ts";

type Messages = { role: string; content: string }[];

test.skipIf(missingTerminal !== undefined)(
  "a conversation in a terminal: reasoning dimmed, pasted lines as one message, an answer that is stopped",
  async () => {
    const never = createGate();
    const lastOf = (body: Record<string, unknown>) =>
      (body["messages"] as Messages | undefined)?.at(-1)?.content;
    await using llama = await startRecordedLlama(
      ({ body }) =>
        lastOf(body) === "think" ? llamaRecording("reasoning-chat-stream") : undefined,
      { before: ({ body }) => (lastOf(body) === "wait" ? never.opened : undefined) },
    );
    await using folder = await temporaryFolder();
    await using hub = await startTestHub();
    const code = await hub.createRoom();
    const wishes = { id: "ada", nickname: "Ada", endpoint: llama.url, model: LLAMA_MODEL };
    await using _ada = await joinTunnel(hub, code, wishes);
    const sent = () =>
      llama.asked.flatMap(({ body }) => (body["messages"] as Messages | undefined) ?? []);

    await using chat = startInTerminal(["chat", `${hub.url}/rooms/${code}`, "--as", "alice"], {
      XDG_STATE_HOME: folder.path,
    });
    await chat.says(/Model tiny from Ada[^]*> .\[3G$/);

    chat.type("think\r");
    await chat.says(/.\[2m\r?\n=\{\}[^]*— ada \(tiny\), cut off at its length limit[^]*> .\[3G$/);

    chat.type("\u001b[200~one\ntwo\u001b[201~\r");
    const answer = "原本 brilliantly资助 тест";
    await chat.says(
      new RegExp(`${answer}\\r\\n[^]*— ada \\(tiny\\)[^]*4 tokens, [\\d.]+ tokens/s[^]*\\[3G$`),
    );
    expect(sent().slice(-1)).toEqual([{ role: "user", content: "one\ntwo" }]);

    chat.type("wait\r");
    await until(
      "its request",
      () => sent().at(-1)?.content,
      (content) => content === "wait",
    );
    expect(sent().slice(-3)).toEqual([
      { role: "user", content: "one\ntwo" },
      { role: "assistant", content: answer },
      { role: "user", content: "wait" },
    ]);
    chat.type("\u0003");
    await chat.says(/— stopped; \/retry sends it again[^]*> .\[3G$/);

    chat.type("/model nobody\r");
    await chat.says(
      /error: No participant in room \w+ has the id or serves the model "nobody"[^]*> .\[3G$/,
    );

    chat.type("/exit\r");
    await chat.says(/exit 0\r\n[^]* icanon [^]* echo /);
    never.open();
  },
);
