import { CommandError } from "../exit-code.ts";
import { safe } from "../terminal/text.ts";
import type { ServiceHost } from "./service-unit.ts";

/** @returns what the program printed. @throws CommandError with its first line when it fails or is not installed */
export async function runOrThrow(
  host: ServiceHost,
  command: string,
  args: readonly string[],
): Promise<string> {
  const { code, stdout, stderr } = await host.run(command, args);
  if (code === 0) return stdout;
  const line = [command, ...args].join(" ");
  if (code === undefined) {
    throw new CommandError(
      `${command} is not on this machine, so services cannot be installed here`,
      "to see the unit and install it yourself, add --print to the service install line",
    );
  }
  const [reason = ""] = `${stderr}${stdout}`.trim().split("\n");
  const hint = /connect to (?:user scope )?bus/i.test(reason)
    ? "systemd has no session of this user: log in without sudo or su, or run loginctl enable-linger"
    : undefined;
  throw new CommandError(`${line} failed with exit code ${code}: ${safe(reason)}`, hint);
}
