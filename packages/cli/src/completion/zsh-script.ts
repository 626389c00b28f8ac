import {
  choicesOf,
  type CompletedCommand,
  flagsWithValue,
  stepsOf,
  wordsOf,
} from "./completion-table.ts";

/** Works both as `_roomhub` in a folder of `fpath` and through `eval`. */
export function zshScript(table: readonly CompletedCommand[]): string {
  const fileFlags = flagsWithValue(table, "file");
  const fileOperands = table.filter(({ operand }) => operand.kind === "file");
  return `#compdef roomhub
# zsh completion for roomhub. Load it in ~/.zshrc, after compinit: eval "$(roomhub completion zsh)"
_roomhub() {
  local at='' last='' word
  local -i skip=0
  local -a names options
  for word in "\${(@)words[2,CURRENT-1]}"; do
    last=''
    if (( skip )); then skip=0; continue; fi
    case "$at/$word" in
${stepsOf(table)
  .map(({ step, path }) => `      ('${step}') at='${path}' ;;`)
  .join("\n")}
      (${alternatives(flagsWithValue(table, "choices", "file", "unknown"))}) skip=1; last="$word" ;;
    esac
  done
  if [[ "$words[CURRENT]" == --*=* ]]; then
    last="\${words[CURRENT]%%=*}"
    compset -P '*='
  fi
  case "$at/$last" in
${choicesOf(table)
  .map(
    ({ flags, words }) => `    (${alternatives(flags)}) compadd -- ${words.join(" ")}; return ;;`,
  )
  .join("\n")}
    (${alternatives(fileFlags)}) _files; return ;;
    (*/-*) return 1 ;;
  esac
  case "$at" in
${table.map(caseOf).join("\n")}
  esac
  if [[ "$words[CURRENT]" == -* ]]; then _describe -o option options; return; fi
  case "$at" in
    (${alternatives(fileOperands.map(({ path }) => path))}) (( $#names )) && _describe command names; _files ;;
    (*) (( $#names )) && _describe command names ;;
  esac
}
if [[ "$funcstack[1]" == _roomhub ]]; then _roomhub "$@"; else compdef _roomhub roomhub; fi
`;
}

function caseOf(command: CompletedCommand): string {
  const described = new Map(command.children.map(({ name, description }) => [name, description]));
  const names = wordsOf(command).map((word) => item(word, described.get(word) ?? ""));
  const options = command.options.flatMap(({ flags, description }) =>
    flags.map((flag) => item(flag, description)),
  );
  return `    ('${command.path}')
      names=(${names.join(" ")})
      options=(${options.join(" ")}) ;;`;
}

/** One entry of an array for `_describe`: the word, a colon, its description. */
function item(word: string, description: string): string {
  const text = description === "" ? word : `${word}:${description.replaceAll("\\", "\\\\")}`;
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

/** A pattern of \`case\` that matches exactly these texts, or nothing. */
function alternatives(texts: readonly string[]): string {
  return texts.length === 0 ? "'//'" : texts.map((text) => `'${text}'`).join("|");
}
