import { shellWord } from "../terminal/text.ts";

export const shells = ["sh", "fish", "powershell"] as const;
export type Shell = (typeof shells)[number];

/** Any text as one word of a shell. */
export const quotes: Record<Shell, (value: string) => string> = {
  sh: shellWord,
  // Inside single quotes fish reads only \\ and \'.
  fish: (value) => `'${value.replaceAll(/[\\']/g, String.raw`\$&`)}'`,
  // PowerShell takes four typographic quotes for ' as well; each stands for itself when doubled.
  powershell: (value) => `'${value.replaceAll(/['‘’‚‛]/g, "$&$&")}'`,
};

/** The line that sets a variable for programs started from this shell. */
export const assignments: Record<Shell, (name: string, value: string) => string> = {
  sh: (name, value) => `export ${name}=${quotes.sh(value)}`,
  fish: (name, value) => `set -gx ${name} ${quotes.fish(value)}`,
  powershell: (name, value) => `$env:${name} = ${quotes.powershell(value)}`,
};

/** The line that removes a variable, if it is set. */
export const removals: Record<Shell, (name: string) => string> = {
  sh: (name) => `unset ${name}`,
  fish: (name) => `set -e ${name}`,
  powershell: (name) => `$env:${name} = $null`,
};

/** The line that fails with a message, for a shell that evaluates it in place of settings. */
export const failures: Record<Shell, (message: string) => string> = {
  sh: (message) => `echo ${quotes.sh(message)} >&2; false`,
  fish: (message) => `echo ${quotes.fish(message)} >&2; false`,
  powershell: (message) => `throw ${quotes.powershell(message)}`,
};

const plainWord = /^[\w@%+=:,./-]+$/;

/** A command and its arguments; in every shell a word without special characters stands for itself. */
export function commandLine(shell: Shell, words: readonly string[]): string {
  return words.map((word) => (plainWord.test(word) ? word : quotes[shell](word))).join(" ");
}

/** The line that runs the output of a command in the same shell. */
export const evaluations: Record<Shell, (command: string) => string> = {
  sh: (command) => `eval "$(${command})"`,
  fish: (command) => `${command} --shell fish | source`,
  powershell: (command) => `${command} --shell powershell | Invoke-Expression`,
};
