import {
  type CompletedCommand,
  type CompletedValue,
  flagsWithValue,
  stepsOf,
} from "./completion-table.ts";
import { quotes } from "../programs/shell-syntax.ts";

/** One `complete` line per command and option, each with the condition that its command is the one being written. */
export function fishScript(table: readonly CompletedCommand[]): string {
  return `# fish completion for roomhub. Keep it: roomhub completion fish > ~/.config/fish/completions/roomhub.fish
function __roomhub_at
    set -l at ''
    set -l skip 0
    for word in (commandline -opc)[2..-1]
        if test $skip = 1
            set skip 0
            continue
        end
        switch "$at/$word"
${stepsOf(table)
  .map(({ step, path }) => `            case '${step}'\n                set at '${path}'`)
  .join("\n")}
            case ${flagsWithValue(table, "choices", "file", "unknown")
              .map((text) => `'${text}'`)
              .join(" ")}
                set skip 1
        end
    end
    test "$at" = "$argv[1]"
end
complete -c roomhub -e
complete -c roomhub -f
${table.flatMap(linesOf).join("\n")}
`;
}

function linesOf({ path, children, options, operand }: CompletedCommand): string[] {
  const start = `complete -c roomhub -n "__roomhub_at '${path}'"`;
  return [
    ...children.map(
      ({ name, description }) => `${start} -a ${quotes.fish(name)} -d ${quotes.fish(description)}`,
    ),
    ...operandOf(operand).map((end) => `${start} ${end}`),
    ...options.map(({ flags, description, value }) => {
      const names = flags.map((flag) =>
        flag.startsWith("--") ? `-l ${flag.slice(2)}` : `-s ${flag.slice(1)}`,
      );
      return [start, ...names, ...valueOf(value), `-d ${quotes.fish(description)}`].join(" ");
    }),
  ];
}

function operandOf(operand: CompletedValue): string[] {
  if (operand.kind === "file") return ["-F"];
  return operand.kind === "choices" ? [`-a ${quotes.fish(operand.words.join(" "))}`] : [];
}

function valueOf(value: CompletedValue): string[] {
  switch (value.kind) {
    case "none":
      return [];
    case "choices":
      return [`-x -a ${quotes.fish(value.words.join(" "))}`];
    case "file":
      return ["-r -F"];
    case "unknown":
      return ["-x"];
  }
}
