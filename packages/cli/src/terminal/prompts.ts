import type { Readable, Writable } from "node:stream";
import { cutTo, displayWidth } from "./display-width.ts";
import { CommandError, EXIT } from "../exit-code.ts";

export interface Choice<T> {
  value: T;
  label: string;
  hint?: string | undefined;
}

/** A stream that is a terminal, or may be one. */
type TerminalOutput = Writable & { readonly columns?: number };

/** Questions to the person at the terminal. All throw CommandError when they are turned away with Ctrl+C. */
export interface Prompts {
  pickOne<T>(question: string, choices: readonly Choice<T>[]): Promise<T>;
  /** @returns at least one, in the order of `choices` */
  pickSome<T>(question: string, choices: readonly Choice<T>[], first: readonly T[]): Promise<T[]>;
  /** What is typed is not shown. */
  askSecret(question: string): Promise<string>;
}

/** Asks at a terminal. @param output - stderr: stdout is for data */
export function promptsAt(input: Readable, output: TerminalOutput): Prompts {
  const optionsOf = (choices: readonly Choice<unknown>[]) =>
    choices.map((choice, index) => optionOf(choice, index, output.columns || 80));
  return {
    async pickOne(question, choices) {
      const { select, isCancel } = await import("@clack/prompts");
      const options = optionsOf(choices);
      const index = await select({ message: question, options, input, output });
      if (isCancel(index)) throw declined();
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
      if (isCancel(picked)) throw declined();
      return picked.toSorted((a, b) => a - b).map((index) => choiceAt(choices, index));
    },

    async askSecret(question) {
      const { password, isCancel } = await import("@clack/prompts");
      const secret = await password({
        message: question,
        validate: (given) => (given === undefined || given === "" ? "It is not empty." : undefined),
        input,
        output,
      });
      if (isCancel(secret)) throw declined();
      return secret;
    },
  };
}

/** Where the library breaks a choice: it takes the escape codes of the bar beside it for ten cells. */
const besideChoice = "│  ◼  ()".length + 10;
/** Less of a hint than this tells nothing. */
const leastHint = 8;

/** Values may be objects; the library wants to tell options apart by something plain. A hint never makes a second line. */
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

function declined(): CommandError {
  return new CommandError("Nothing was chosen", undefined, EXIT.interrupted);
}
