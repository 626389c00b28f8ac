// A complete hub inside a program, for example a test: a port of its own, no file, stopped at the end.
//   node --conditions=@roomhub/source examples/embed-hub.ts
import { openAIOptions, RoomhubClient } from "@roomhub/client";
import { createHub } from "@roomhub/hub";
import { createParticipant } from "@roomhub/participant";
import OpenAI from "openai";

await using hub = createHub({ port: 0 });
const { url } = await hub.listen();

const client = new RoomhubClient({ hubUrl: url });
const { room: created } = await client.createRoom({ name: "test" });
const room = await client.room(created.code);

await using participant = createParticipant({
  hubUrl: url,
  room: room.code,
  id: "oracle",
  nickname: "Oracle",
  model: "oracle-1",
  serve: () =>
    Response.json({
      id: "chatcmpl-1",
      object: "chat.completion",
      created: 0,
      model: "oracle-1",
      choices: [{ index: 0, message: { role: "assistant", content: "42" }, finish_reason: "stop" }],
    }),
});
await participant.start();

const openai = new OpenAI(openAIOptions(room));
const { choices } = await openai.chat.completions.create({
  model: "oracle-1",
  messages: [{ role: "user", content: "What is the answer?" }],
});
process.stdout.write(`${choices[0]?.message.content}\n`);
