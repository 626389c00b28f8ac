import {
  choicesOf,
  type CompletedCommand,
  flagsWithValue,
  stepsOf,
  wordsOf,
} from "./completion-table.ts";

/**
 * For bash 3.2 and newer, which is what macOS has. bash breaks `--name=value` and URLs into several words: the walk over the
 * words that are complete skips what follows a `=`.
 */
export function bashScript(table: readonly CompletedCommand[]): string {
  const fileFlags = flagsWithValue(table, "file");
  const fileOperands = table.filter(({ operand }) => operand.kind === "file");
  return `# bash completion for roomhub. Load it in ~/.bashrc: eval "$(roomhub completion bash)"
_roomhub() {
  local cur="\${COMP_WORDS[COMP_CWORD]}" at="" last="" words="" options="" word i skip=""
  for ((i = 1; i < COMP_CWORD; i++)); do
    word="\${COMP_WORDS[i]}"
    if [[ $word == "=" ]]; then skip=1; continue; fi
    last=""
    if [[ -n $skip ]]; then skip=""; continue; fi
    case "$at/$word" in
${stepsOf(table)
  .map(({ step, path }) => `      "${step}") at="${path}" ;;`)
  .join("\n")}
      ${alternatives(flagsWithValue(table, "choices", "file", "unknown"))}) skip=1; last="$word" ;;
    esac
  done
  [[ $cur == "=" ]] && cur=""
  case "$at/$last" in
${choicesOf(table)
  .map(
    ({ flags, words }) =>
      `    ${alternatives(flags)}) COMPREPLY=($(compgen -W "${words.join(" ")}" -- "$cur")); return ;;`,
  )
  .join("\n")}
    ${alternatives(fileFlags)}) _roomhub_files "$cur"; return ;;
    */-*) return ;;
  esac
  case "$at" in
${table
  .map(
    (command) =>
      `    "${command.path}") words="${wordsOf(command).join(" ")}"; options="${command.options.flatMap(({ flags }) => flags).join(" ")}" ;;`,
  )
  .join("\n")}
  esac
  if [[ $cur == -* ]]; then COMPREPLY=($(compgen -W "$options" -- "$cur")); return; fi
  case "$at" in
    ${alternatives(fileOperands.map(({ path }) => path))}) _roomhub_files "$cur"; COMPREPLY+=($(compgen -W "$words" -- "$cur")) ;;
    *) COMPREPLY=($(compgen -W "$words" -- "$cur")) ;;
  esac
}
_roomhub_files() {
  local IFS=$'\\n'
  compopt -o filenames 2>/dev/null
  COMPREPLY=($(compgen -f -- "$1"))
}
complete -F _roomhub roomhub
`;
}

/** A pattern of \`case\` that matches exactly these texts, or nothing. */
function alternatives(texts: readonly string[]): string {
  return texts.length === 0 ? '"//"' : texts.map((text) => `"${text}"`).join(" | ");
}
