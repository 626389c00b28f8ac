import type { Invite } from "@roomhub/client";
import type { InferenceProtocol } from "@roomhub/protocol";
import { contextOf, type ModelChoice, modelChoices } from "../chat/model-choices.ts";
import type { CliContext } from "../context.ts";
import { CommandError, EXIT, exitCodeOfStatus } from "../exit-code.ts";
import { hintHere } from "../rooms/hub-hint.ts";
import { safe, shellWord } from "../terminal/text.ts";

/** What a model is chosen for. */
interface Purpose extends Invite {
  /** of the program */
  title: string;
  surface: InferenceProtocol;
  /** the command, for lines to paste */
  here: string;
  /** where the program works; the choice is remembered per folder */
  folder: string;
}

interface Given {
  model?: string;
  /** whether to select again what is remembered */
  pick?: boolean;
  canAsk: boolean;
}

export type ChosenModel = Pick<ModelChoice, "selector" | "name" | "context">;

/**
 * The named model, the room's only one, the one of last time in this folder, or the one that is selected.
 *
 * @throws CommandError when no participant can serve the program's surface with it, or no prompt can be shown
 */
export async function chooseModel(
  context: CliContext,
  purpose: Purpose,
  { model, pick = false, canAsk }: Given,
): Promise<ChosenModel> {
  const { hubUrl, room, surface } = purpose;
  const client = context.createClient(hubUrl);
  const chosen =
    model === undefined
      ? await fromRoom(context, purpose, { pick, canAsk })
      : {
          selector: model,
          name: safe(model),
          context: contextOf(await client.listParticipants(room), model),
        };
  const question = { model: chosen.selector, protocol: surface };
  const { refusal } = await client.explainRoute(room, question);
  if (refusal === undefined) return chosen;
  const hint = hintHere(context, safe(refusal.hint), hubUrl);
  throw new CommandError(safe(refusal.message), hint, exitCodeOfStatus(refusal.status));
}

async function fromRoom(
  context: CliContext,
  { hubUrl, room, title, surface, here, folder }: Purpose,
  { pick, canAsk }: Required<Omit<Given, "model">>,
): Promise<ModelChoice> {
  const choices = await modelChoices(context.world, context.createClient(hubUrl), room, surface);
  const url = shellWord(`${hubUrl}/rooms/${room}`);
  const [first] = choices;
  if (first === undefined) {
    const hint = `share one: ${context.commandName} join ${url}`;
    throw new CommandError(`Room ${room} has no model that can chat`, hint, EXIT.notFound);
  }
  if (choices.length === 1) return first;
  if (!canAsk) {
    const start = `${context.commandName} ${here} ${url}`;
    const lines = choices.map(
      ({ selector, facts }) => `${start} --model ${shellWord(safe(selector))}  # ${facts}`,
    );
    throw new CommandError(
      `Room ${room} has ${choices.length} models`,
      "name one:",
      EXIT.usage,
      lines,
    );
  }
  const remembered = await context.savedTokens("chosen-models");
  const place = { hubUrl, room, id: folder };
  const last = pick ? undefined : await remembered.tokenOf(place);
  const again = choices.find(({ selector }) => selector === last);
  if (again !== undefined) {
    context.stderr.write(`${again.name}, as last time in this folder; --pick selects again\n`);
    return again;
  }
  const picked = await context.prompts.pickOne(
    `Select a model for ${title}`,
    choices.map((value) => ({ value, label: value.name, hint: value.facts })),
  );
  await remembered.save({ ...place, token: picked.selector });
  return picked;
}
