// A jury: every participant responds, then one of them judges which response is best.
//   node --conditions=@roomhub/source examples/jury.ts http://127.0.0.1:5050/rooms/ABC234 "Is a tomato a fruit?"
import { isLiveAndReady, openAIOptions, openRoom } from "@roomhub/client";
import OpenAI from "openai";

const [invite = "", question = "Is a tomato a fruit?"] = process.argv.slice(2);

const room = await openRoom(invite);
const openai = new OpenAI(openAIOptions(room));

const participants = await room.participants();
const jurors = participants.filter(isLiveAndReady);
const judge = jurors[0];
if (judge === undefined) throw new Error(`No participant in ${room.name} is online.`);

const answers = await Promise.all(jurors.map(({ id }) => ask(id, question)));
jurors.forEach(({ id }, index) => print(`${index + 1}. ${id}: ${answers[index]}`));

const ballot = answers.map((answer, index) => `Answer ${index + 1}:\n${answer}`).join("\n\n");
const ruling = await ask(
  judge.id,
  `${question}\n\n${ballot}\n\nWhich answer is best? Reply with its number and one sentence.`,
);
print(`\n${judge.nickname} judges: ${ruling}`);

/** A failing juror does not end the jury. */
async function ask(model: string, content: string): Promise<string> {
  try {
    const messages = [{ role: "user" as const, content }];
    const { choices } = await openai.chat.completions.create({ model, messages });
    return choices[0]?.message.content?.trim() ?? "(empty response)";
  } catch (error) {
    return `(failed: ${(error as Error).message})`;
  }
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
