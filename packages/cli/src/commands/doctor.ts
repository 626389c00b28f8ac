import type { CliContext } from "../context.ts";
import { type CheckResult, type Examination, runChecks } from "../doctor/check.ts";
import { type Machine, thisMachine } from "../doctor/machine.ts";
import { CommandError, UsageError } from "../exit-code.ts";
import { locate, type Target } from "../rooms/locate.ts";
import { endpointArgument, type HubOptionValues, type RoomhubCommand } from "../options.ts";
import { addHeaderOptions, type HeaderOptionValues, readHeaders } from "../secrets.ts";
import { untilStopped } from "../terminal/stop-signal.ts";
import { colorsFor, duration, safe, writeJson } from "../terminal/text.ts";
import { padTo } from "../terminal/display-width.ts";

interface DoctorOptionValues extends HubOptionValues, HeaderOptionValues {
  model: string;
  endpoint?: string;
  request: boolean;
}

type ExamineOptions = Omit<DoctorOptionValues, "header" | "headerEnv"> &
  Pick<Examination, "headers">;

export function addDoctorCommand(
  program: RoomhubCommand,
  context: CliContext,
  machine: Machine = thisMachine(context.env),
): void {
  program
    .command("doctor")
    .argument("[target]", "room code, invite URL or hub URL (default: the hub on this machine)")
    .hubOptions()
    .option("--model <selector>", "participant id, model name, or * for any", "*")
    .option(
      "--endpoint <url>",
      "also check that this machine reaches this model server",
      endpointArgument,
    )
    .with(addHeaderOptions)
    .option("--no-request", "skip the test request, which generates a few tokens")
    .examples(
      "roomhub doctor",
      "roomhub doctor http://192.168.1.5:5050/rooms/ABC234 --model llama3.2",
      'roomhub doctor --endpoint https://api.example.com/v1 \\\n      --header-env "Authorization=API_AUTH"',
    )
    .action((target: string | undefined, options: DoctorOptionValues) =>
      untilStopped(context, async (signal) => {
        const headers = endpointHeaders(context, options);
        const where = await locate(context, target, options);
        await examine(context, machine, where, { ...options, headers }, signal);
      }),
    );
}

/** Credentials are sent only to the server that `--endpoint` names. @throws UsageError */
function endpointHeaders(context: CliContext, options: DoctorOptionValues): Record<string, string> {
  const headers = readHeaders(context, options);
  if (options.endpoint === undefined && Object.keys(headers).length > 0) {
    throw new UsageError(
      "--header and --header-env require --endpoint, the model server they are sent to",
    );
  }
  return headers;
}

/** Prints each finding as soon as it is known. @throws CommandError when a check failed */
async function examine(
  context: CliContext,
  machine: Machine,
  { hubUrl, room: roomCode }: Target,
  options: ExamineOptions,
  signal: AbortSignal,
): Promise<void> {
  const { json: isJson = false, model, endpoint, headers, request: mayRequest } = options;
  const exam: Examination = {
    ...{ context, machine, hubUrl, roomCode, model, endpoint, headers, mayRequest, signal },
    isPortOpen: true,
  };
  const onResult = (result: CheckResult) => {
    if (!isJson) context.stdout.write(checkLines(context, result));
  };
  let results: CheckResult[];
  try {
    // Loaded here because no other command needs the checks, and loaded code stays in memory.
    const { CHECKS } = await import("../doctor/checks.ts");
    results = await runChecks(exam, CHECKS, { isQuiet: isJson, onResult });
  } finally {
    exam.events?.close();
  }
  const failures = results.filter(({ verdict }) => verdict === "failed");
  if (isJson) {
    const room = exam.room?.code ?? roomCode ?? null;
    const isOk = failures.length === 0;
    writeJson(context.stdout, { ok: isOk, hubUrl, room, checks: results.map(checkJson) });
  }
  const [first] = failures;
  if (first === undefined) return;
  const names = failures.map(({ name }) => name).join(", ");
  throw new CommandError(
    `${failures.length} of ${results.length} checks failed: ${names}`,
    undefined,
    first.exitCode,
  );
}

const marks = { ok: "✓", failed: "✗", skipped: "–" } as const;
const paints = { ok: "green", failed: "red", skipped: "dim" } as const;
const nameWidth = "participants".length;
const timeWidth = "1 min 01 s".length;

/** One check as lines of text: mark, name, time and finding; below them the details and the next step. */
function checkLines(context: CliContext, result: CheckResult): string {
  const { name, verdict, ms, found, fix, details } = result;
  const colors = colorsFor(context, context.stdout);
  const paint = colors[paints[verdict]];
  const time = verdict === "skipped" ? "" : duration(ms);
  return [
    `${paint(marks[verdict])} ${padTo(name, nameWidth)}  ${colors.dim(padTo(time, timeWidth, "left"))}  ${safe(found)}`,
    ...details.map((line) => `    ${colors.dim(safe(line))}`),
    ...(fix === undefined ? [] : [`  → ${safe(fix)}`]),
    "",
  ].join("\n");
}

/** One check as JSON. */
function checkJson({ name, verdict, ms, found, fix, details }: CheckResult): object {
  return {
    name,
    verdict,
    ms,
    found,
    ...(fix === undefined ? {} : { fix }),
    ...(details.length === 0 ? {} : { details }),
  };
}
