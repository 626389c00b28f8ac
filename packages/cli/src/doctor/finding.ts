import { EXIT, type ExitCode } from "../exit-code.ts";

/** The result of a check. `skipped` is neither good nor bad: it could not run, or there was nothing to check. */
export interface Finding {
  verdict: "ok" | "failed" | "skipped";
  /** one sentence, without a full stop */
  found: string;
  /** the next step, as a command where there is one */
  fix: string | undefined;
  /** one line each, as for the participants of a room */
  details: readonly string[];
  /** the command's exit code when this is the first failure */
  exitCode: ExitCode;
}

export function ok(found: string, details: readonly string[] = []): Finding {
  return { verdict: "ok", found, fix: undefined, details, exitCode: EXIT.ok };
}

export function failed(
  found: string,
  fix: string | undefined,
  more: { exitCode?: ExitCode; details?: readonly string[] } = {},
): Finding {
  const { exitCode = EXIT.failure, details = [] } = more;
  return { verdict: "failed", found, fix, details, exitCode };
}

/** @param fix - how to make the check possible */
export function skipped(found: string, fix?: string, details: readonly string[] = []): Finding {
  return { verdict: "skipped", found, fix, details, exitCode: EXIT.ok };
}
