import type { Readable, Writable } from "node:stream";
import { cutTo, displayWidth } from "./display-width.ts";
import { CommandError, EXIT } from "../exit-code.ts";
import type { TerminalKeys } from "./keyboard.ts";
import type { Typed } from "./message-input.ts";

export interface Choice<T> {
  value: T;
  label: string;
  hint?: string | undefined;
}

/** A stream that is a terminal, or may be one. */
type TerminalOutput = Writable & { readonly columns?: number };

/** Prompts at the terminal. All throw CommandError when cancelled with Ctrl+C. */
export interface Prompts {
  pickOne<T>(question: string, choices: readonly Choice<T>[]): Promise<T>;
  /** @returns at least one, in the order of `choices` */
  pickSome<T>(question: string, choices: readonly Choice<T>[], first: readonly T[]): Promise<T[]>;
  /** Hides the input. */
  askSecret(question: string): Promise<string>;
  /** One message of a conversation; throws nothing. */
  readMessage(history: readonly string[], signal: AbortSignal): Promise<Typed>;
}

/** @param output - stderr, since stdout is for data */
export function promptsAt(input: Readable, output: TerminalOutput, keys: TerminalKeys): Prompts {
  const optionsOf = (choices: readonly Choice<unknown>[]) =>
    choices.map((choice, index) => optionOf(choice, index, output.columns || 80));
  return {
    async pickOne(question, choices) {
      const { select, isCancel } = await import("@clack/prompts");
      const options = optionsOf(choices);
      const index = await select({ message: question, options, input, output });
      if (isCancel(index)) throw cancelled();
      return choiceAt(choices, index);
    },

    async pickSome(question, choices, first) {
      const { multiselect, isCancel } = await import("@clack/prompts");
      const picked = await multiselect({
        message: question,
        options: optionsOf(choices),
        initialValues: first.map((value) => choices.findIndex((choice) => choice.value === value)),
        required: true,
        input,
        output,
      });
      if (isCancel(picked)) throw cancelled();
      return picked.toSorted((a, b) => a - b).map((index) => choiceAt(choices, index));
    },

    async askSecret(question) {
      const { password, isCancel } = await import("@clack/prompts");
      const secret = await password({
        message: question,
        validate: (given) =>
          given === undefined || given === "" ? "Enter the password." : undefined,
        input,
        output,
      });
      if (isCancel(secret)) throw cancelled();
      return secret;
    },

    async readMessage(history, signal) {
      const { readMessage } = await import("./message-input.ts");
      return readMessage({ input, output, keys }, history, signal);
    },
  };
}

/** Cells the library reserves beside a choice: it counts the escape codes of its bar as ten cells. */
const besideChoice = "│  ◼  ()".length + 10;
/** A shorter hint is useless. */
const leastHint = 8;

/** Options are identified by index, since the library needs primitive values. A hint never wraps. */
function optionOf({ label, hint = "" }: Choice<unknown>, value: number, columns: number) {
  const left = columns - besideChoice - displayWidth(label);
  const isShown = displayWidth(hint) <= left || left >= leastHint;
  return { value, label, ...(hint === "" || !isShown ? {} : { hint: cutTo(hint, left) }) };
}

function choiceAt<T>(choices: readonly Choice<T>[], index: number): T {
  const choice = choices[index];
  if (choice === undefined) throw new Error(`no choice ${index}`);
  return choice.value;
}

function cancelled(): CommandError {
  return new CommandError("Cancelled", undefined, EXIT.interrupted);
}
