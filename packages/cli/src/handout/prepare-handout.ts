import type { CliContext } from "../context.ts";
import type { LaunchedHub } from "../hosting/hub-launch.ts";
import { reasonOf, safe } from "../terminal/text.ts";

/**
 * Makes the program before it is requested, where others can reach the hub, and prints what its digest is: those who run it
 * can compare. The hub does not wait for it.
 *
 * @param isQuiet - only a failure is printed
 */
export async function prepareHandout(
  context: CliContext,
  { handout, sharedUrls }: LaunchedHub,
  isQuiet: boolean,
): Promise<void> {
  if (handout === undefined || sharedUrls.length === 0) return;
  try {
    const sha512 = (await handout.sha512()) ?? "";
    if (!isQuiet) {
      context.stderr.write(`SHA-512 of roomhub-${context.version}.tgz, as handed out: ${sha512}\n`);
    }
  } catch (error) {
    context.stderr.write(
      `! The program is not handed out: ${safe(reasonOf(error))} Others need an installed roomhub\n`,
    );
  }
}
