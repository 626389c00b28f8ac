import {
  choicesOf,
  type CompletedCommand,
  flagsWithValue,
  stepsOf,
  wordsOf,
} from "./completion-table.ts";
import { quotes } from "../programs/shell-syntax.ts";

const quoted = quotes.powershell;

/** For Windows PowerShell 5.1 and PowerShell 7; an empty result lets the shell complete a file. */
export function powershellScript(table: readonly CompletedCommand[]): string {
  const choices = choicesOf(table).flatMap(({ flags, words }) =>
    flags.map((flag) => `    ${quoted(flag)} = ${list(words)}`),
  );
  const quiet = flagsWithValue(table, "unknown").map((flag) => `    ${quoted(flag)} = @()`);
  const files = flagsWithValue(table, "file").map((flag) => `    ${quoted(flag)} = $null`);
  return `# PowerShell completion for roomhub. Load it in $PROFILE: roomhub completion powershell | Out-String | Invoke-Expression
Register-ArgumentCompleter -Native -CommandName roomhub -ScriptBlock {
  param($wordToComplete, $commandAst, $cursorPosition)
  $steps = @{
${stepsOf(table)
  .map(({ step, path }) => `    ${quoted(step)} = ${quoted(path)}`)
  .join("\n")}
  }
  $values = @{
${[...choices, ...quiet, ...files].join("\n")}
  }
  $words = @{
${table.map((command) => `    ${quoted(command.path)} = ${described(command)}`).join("\n")}
  }
  $options = @{
${table.map((command) => `    ${quoted(command.path)} = ${optionsOf(command)}`).join("\n")}
  }
  $at = ''
  $last = ''
  $before = $commandAst.CommandElements | Select-Object -Skip 1 | Where-Object { $_.Extent.EndOffset -lt $cursorPosition }
  foreach ($element in $before) {
    $word = $element.Extent.Text
    if ($last) { $last = ''; continue }
    if ($steps.ContainsKey("$at/$word")) { $at = $steps["$at/$word"] }
    elseif ($values.ContainsKey("$at/$word")) { $last = "$at/$word" }
  }
  if ($last) {
    $values[$last] | Where-Object { $_ -like "$wordToComplete*" } |
      ForEach-Object { [System.Management.Automation.CompletionResult]::new($_, $_, 'ParameterValue', $_) }
    return
  }
  $found = if ($wordToComplete -like '-*') { $options[$at] } else { $words[$at] }
  $kind = if ($wordToComplete -like '-*') { 'ParameterName' } else { 'Command' }
  $found | Where-Object { $_ -and $_[0] -like "$wordToComplete*" } |
    ForEach-Object { [System.Management.Automation.CompletionResult]::new($_[0], $_[0], $kind, $_[1]) }
}
`;
}

function described(command: CompletedCommand): string {
  const descriptions = new Map(command.children.map((child) => [child.name, child.description]));
  return pairs(wordsOf(command).map((word) => [word, descriptions.get(word) ?? word]));
}

function optionsOf({ options }: CompletedCommand): string {
  return pairs(
    options.flatMap(({ flags, description }) => flags.map((flag) => [flag, description] as const)),
  );
}

/** The comma before each pair keeps a list of one pair from becoming the pair itself. */
function pairs(entries: readonly (readonly [string, string])[]): string {
  const texts = entries.map(([word, text]) => `,@(${quoted(word)}, ${quoted(text || word)})`);
  return `@(${texts.join("; ")})`;
}

function list(words: readonly string[]): string {
  return `@(${words.map(quoted).join(", ")})`;
}
