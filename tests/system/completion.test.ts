import { describe, expect, test } from "vitest";
import { createProgram } from "../../packages/cli/src/program.ts";
import { makeWorld } from "../../packages/cli/src/test-context.fixture.ts";
import { missingShell, runInShell } from "../support/programs/shells.ts";

type Command = Awaited<ReturnType<typeof createProgram>>;

/** What the help of one command lists. */
interface Listed {
  path: string;
  commands: string[];
  options: string[];
}

const commandHeadings = ["Commands", "Share", "Use", "Watch", "Operate", "Settings"];
const listed = await helpOf(await createProgram(makeWorld().context));

/** Read from the printed help, not from the table that the scripts are made of. */
async function helpOf(command: Command, path: readonly string[] = []): Promise<Listed[]> {
  const flag = command.helpInformation().includes("--help-all") ? "--help-all" : "--help";
  const world = makeWorld();
  await world.run(...path, flag);
  const { text } = world.stdout;
  const [, choices = ""] = /\(choices: ([^)]*)\)/.exec(sections(text, "Arguments")) ?? [];
  const children = command.commands.map((child) => helpOf(child, [...path, child.name()]));
  return [
    {
      path: path.join(" "),
      commands: [
        ...names(sections(text, ...commandHeadings), /^ {2}([a-z]\w*)/gm),
        ...names(choices, /"(\w+)"/g),
      ].toSorted(),
      options: names(
        sections(text, "Options", "Rare options"),
        /^ {2}(?:-\w, )?(--[a-z-]+)/gm,
      ).toSorted(),
    },
    ...(await Promise.all(children)).flat(),
  ];
}

function sections(text: string, ...headings: string[]): string {
  return text
    .split("\n\n")
    .filter((part) => headings.some((heading) => part.startsWith(`${heading}:\n`)))
    .join("\n");
}

function names(text: string, name: RegExp): string[] {
  return [...text.matchAll(name)].map(([, found = ""]) => found);
}

async function scriptFor(shell: string): Promise<string> {
  const world = makeWorld();
  expect(await world.run("completion", shell)).toBe(0);
  return world.stdout.text;
}

/** What completes a file in the folder of the test. */
const filesIn = { bash: ["script"], zsh: ["FILES"], fish: ["script"] };

/** `ask NUMBER LINE` prints the words that complete the line, each after the number. */
const drivers = {
  bash: `
ask() {
  local number=$1 line=$2 word
  read -r -a COMP_WORDS <<< "$line"
  [[ $line == *" " ]] && COMP_WORDS+=("")
  COMP_CWORD=$((\${#COMP_WORDS[@]} - 1)) COMPREPLY=()
  _roomhub
  for word in "\${COMPREPLY[@]}"; do echo "$number $word"; done
}`,
  zsh: `
compdef() { : }
_describe() {
  local array=\${@[-1]} entry
  for entry in "\${(@P)array}"; do print -r -- "$number \${entry%%:*}"; done
}
compadd() { shift; local word; for word in "$@"; do print -r -- "$number $word"; done }
_files() { print -r -- "$number FILES" }
ask() {
  local number=$1
  words=(\${(z)2})
  [[ $2 == *" " ]] && words+=('')
  CURRENT=$#words
  _roomhub
  return 0
}`,
  fish: `
function ask
  for line in (complete -C $argv[2])
    echo "$argv[1] "(string split -m 1 \\t -- $line)[1]
  end
end`,
};

async function complete(shell: keyof typeof drivers, lines: readonly string[]) {
  const asks = lines.map((line, number) => `ask ${number} '${line}'`).join("\n");
  // The definition of compdef must precede the script, which calls it.
  const parts = [drivers[shell], await scriptFor(shell), asks, ""];
  const printed = await runInShell(shell, parts.join("\n"));
  const answers = printed.trimEnd().split("\n");
  return lines.map((line, number) => {
    const own = answers.filter((answer) => answer.startsWith(`${number} `));
    const words = own.map((answer) => answer.slice(`${number} `.length));
    return { line, words: words.toSorted() };
  });
}

describe.each(["bash", "zsh", "fish"] as const)("%s", (shell) => {
  const missing = missingShell(shell);
  const title = missing === undefined ? "" : ` (skipped: ${missing})`;

  test.skipIf(missing !== undefined)(
    `completes what the help of each command lists${title}`,
    async () => {
      const lines = listed.flatMap(({ path }) => {
        const start = ["roomhub", path].join(" ").trimEnd();
        return [`${start} `, `${start} --`];
      });
      const completed = await complete(shell, lines);
      for (const [index, { path, commands, options }] of listed.entries()) {
        const takesFile = ["batch", "report", "room import"].includes(path);
        const expected = takesFile ? [...filesIn[shell], ...commands].toSorted() : commands;
        expect(completed[2 * index]?.words, path).toEqual(expected);
        const words = completed[2 * index + 1]?.words.filter((word) => word.startsWith("--"));
        expect(words, path).toEqual(options);
      }
    },
  );

  test.skipIf(missing !== undefined)(
    `completes choices, beginnings and nothing after a free value${title}`,
    async () => {
      const completed = await complete(shell, [
        "roomhub env ABC234 --shell ",
        "roomhub env --hub room --shell ",
        "roomhub serve --port ",
        "roomhub serve --lan --ownership ",
        "roomhub --verbose room list --hub create --",
        "roomhub rooms list --hub create --",
      ]);
      const words = completed.map((each) => each.words.filter((word) => word !== "-h"));
      const shells = ["fish", "json", "powershell", "sh"];
      const modes = ["compat", "open", "strict"];
      const ofList = ["--help", "--hub", "--json", "--key-file"];
      expect(words).toEqual([shells, shells, [], modes, ofList, ofList]);
    },
  );
});

test("the PowerShell script has each command with its options, and closes what it opens", async () => {
  const script = await scriptFor("powershell");
  const [, options = ""] = script.split("$options = @{\n");
  for (const { path, options: flags } of listed) {
    const line = options.split("\n").find((one) => one.startsWith(`    '${path}' = `)) ?? "";
    const found = [...line.matchAll(/@\('(--[a-z-]+)', /g)].map(([, flag = ""]) => flag);
    expect(found.toSorted(), path).toEqual(flags);
  }
  const bare = script.replaceAll(/'(?:[^']|'')*'/g, "");
  for (const [open, close] of ["{}", "()", "[]"]) {
    expect(bare.split(open ?? "").length, open).toBe(bare.split(close ?? "").length);
  }
});
