import { CommandError, EXIT } from "./exit-code.ts";

export interface Choice<T> {
  value: T;
  label: string;
  hint?: string | undefined;
}

/** Questions to the person at the terminal. All throw CommandError when they are turned away with Ctrl+C. */
export interface Prompts {
  pickOne<T>(question: string, choices: readonly Choice<T>[]): Promise<T>;
  /** @returns at least one, in the order of `choices` */
  pickSome<T>(question: string, choices: readonly Choice<T>[], first: readonly T[]): Promise<T[]>;
  /** What is typed is not shown. */
  askSecret(question: string): Promise<string>;
}

/** stdout is for data, so questions are asked on stderr. */
const output = process.stderr;

export const prompts: Prompts = {
  async pickOne(question, choices) {
    const { select, isCancel } = await import("@clack/prompts");
    const options = choices.map(optionOf);
    const index = await select({ message: question, options, output });
    if (isCancel(index)) throw declined();
    return choiceAt(choices, index);
  },

  async pickSome(question, choices, first) {
    const { multiselect, isCancel } = await import("@clack/prompts");
    const picked = await multiselect({
      message: question,
      options: choices.map(optionOf),
      initialValues: first.map((value) => choices.findIndex((choice) => choice.value === value)),
      required: true,
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
      output,
    });
    if (isCancel(secret)) throw declined();
    return secret;
  },
};

/** Values may be objects; the library wants to tell options apart by something plain. */
function optionOf(choice: Choice<unknown>, index: number) {
  const { label, hint } = choice;
  return { value: index, label, ...(hint === undefined ? {} : { hint }) };
}

function choiceAt<T>(choices: readonly Choice<T>[], index: number): T {
  const choice = choices[index];
  if (choice === undefined) throw new Error(`no choice ${index}`);
  return choice.value;
}

function declined(): CommandError {
  return new CommandError("Nothing was chosen", undefined, EXIT.interrupted);
}
