import { Argument, type Command } from "commander";
import { bashScript } from "./bash-script.ts";
import { type CompletedCommand, completionTable } from "./completion-table.ts";
import { fishScript } from "./fish-script.ts";
import { powershellScript } from "./powershell-script.ts";
import { zshScript } from "./zsh-script.ts";
import type { CliContext } from "../context.ts";
import { type RoomhubCommand } from "../options.ts";

const scripts = {
  bash: bashScript,
  zsh: zshScript,
  fish: fishScript,
  powershell: powershellScript,
} satisfies Record<string, (table: readonly CompletedCommand[]) => string>;

/** @param wholeProgram - creates all commands; this one is usually created alone */
export function addCompletionCommand(
  program: RoomhubCommand,
  context: CliContext,
  wholeProgram: () => Promise<Command>,
): void {
  const shells = Object.keys(scripts);
  program
    .command("completion")
    .addArgument(new Argument("<shell>", "the shell to complete commands in").choices(shells))
    .examples(
      'eval "$(roomhub completion bash)"',
      "roomhub completion zsh > ~/.zfunc/_roomhub",
      "roomhub completion fish > ~/.config/fish/completions/roomhub.fish",
      "roomhub completion powershell >> $PROFILE",
    )
    .action(async (shell: keyof typeof scripts) => {
      context.stdout.write(scripts[shell](completionTable(await wholeProgram())));
    });
}
