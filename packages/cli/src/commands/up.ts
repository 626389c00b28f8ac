import type { Room } from "@roomhub/protocol";
import type { Command } from "commander";
import type { CliContext } from "../context.ts";
import { CommandError } from "../exit-code.ts";
import { type HubConfig, resolveHubConfig } from "../hub-config.ts";
import { type LaunchedHub, launchHub, refuseCuts } from "../hub-launch.ts";
import { addHubFlags, type HubFlagValues } from "../hub-settings.ts";
import { chooseProvider, type ProviderChoice } from "../model-server.ts";
import { addJsonOption } from "../options.ts";
import { suggestId } from "../participant-name.ts";
import { addPasswordOptions, type PasswordOptionValues, readPassword } from "../secrets.ts";
import type { RunningParticipant } from "../services.ts";
import { exitCodeFor, makeParticipant } from "../run-participant.ts";
import { aborted, untilStopped } from "../stop-signal.ts";
import { colorsFor, safe, writeJson } from "../text.ts";
import { noticeLine } from "../notice-line.ts";
import { demoModel, startDemoProvider } from "../demo-provider.ts";
import { openRoom } from "../up-room.ts";
import { readyLines } from "../ready-lines.ts";
import { requestLine } from "../event-line.ts";

interface UpOptionValues extends HubFlagValues, PasswordOptionValues {
  json?: boolean;
  room?: string;
  endpoint?: string;
  model?: string;
  nickname?: string;
}

/** Everything `up` started, and what it is called. */
interface Running {
  launched: LaunchedHub;
  room: Room;
  provider: ProviderChoice;
  participantId: string;
  isDemo: boolean;
}

/** What must be undone, in order, and what that cost. */
interface Undoing {
  closers: (() => Promise<void>)[];
  /** requests that the hub cut when it closed */
  cut: number;
}

export function addUpCommand(program: Command, context: CliContext): void {
  addPasswordOptions(
    addJsonOption(
      addHubFlags(
        program
          .command("up")
          .description("a hub, a room and this machine's model in it, in one command"),
      ),
    ),
  )
    .option("--room <name>", "name of the room (default: yours)")
    .option("--endpoint <url>", "the model server (default: the first that answers, else a demo)")
    .option("--model <name>", "the model to offer (default: the server's first)")
    .option("--nickname <name>", "who offers it (default: your user name)")
    .addHelpText(
      "after",
      "\nExample:\n  $ roomhub up --lan\n  $ roomhub up --port 6060 --model llama3.2",
    )
    .action((values: UpOptionValues) => up(context, values));
}

async function up(context: CliContext, values: UpOptionValues): Promise<void> {
  const config = await resolveHubConfig(context, values);
  await untilStopped(context, async (signal) => {
    const undoing: Undoing = { closers: [], cut: 0 };
    try {
      const running = await startAll(context, config, values, signal, undoing);
      announce(context, values, running);
      await showRequests(context, running, signal, values.json === true);
      if (values.json !== true) context.stderr.write("Stopping …\n");
    } finally {
      for (const close of undoing.closers) await close();
    }
    refuseCuts(undoing.cut);
  });
}

/**
 * From the inside out, so that nothing is announced before it works: the provider is known, then the hub listens, then
 * the room stands, then the participant is in it.
 *
 * @param undoing - gets what must be undone, also when a later step throws; the hub first, because it lets running
 *   requests finish, which they can only while the participant and its provider are there
 */
async function startAll(
  context: CliContext,
  config: HubConfig,
  values: UpOptionValues,
  signal: AbortSignal,
  undoing: Undoing,
): Promise<Running> {
  const { closers } = undoing;
  const password = await readPassword(context, values);
  const { endpoint, model } = values;
  const found = await chooseProvider(context, { endpoint, model, headers: {} });
  if (found === undefined && model !== undefined) throw noSuchModel(model);

  const launched = await launchHub(context, config, "silent");
  closers.push(async () => {
    ({ cut: undoing.cut } = await launched.hub.close());
  });
  const roomName = values.room ?? `${context.userName}'s room`;
  const room = await openRoom(context.createClient(launched.localUrl), roomName, password);

  const provider = found ?? (await startDemo(context, closers));
  const nickname = values.nickname ?? context.userName;
  const participantId = suggestId(nickname, provider.model);
  const colors = colorsFor(context, context.stderr);
  const participant = await makeParticipant(context, {
    hubUrl: launched.localUrl,
    room: room.code,
    id: participantId,
    nickname,
    model: provider.model,
    endpoint: provider.endpoint,
    password,
    onNotice: (notice) => {
      if (signal.aborted || !isWorthSaying(notice.kind)) return;
      const line = noticeLine(notice, context.nowMs(), colors);
      if (line !== undefined) context.stderr.write(`${line}\n`);
    },
  });
  closers.push(() => participant.close());
  await startOrExplain(participant, signal);
  return { launched, room, provider, participantId, isDemo: found === undefined };
}

/** A stop that comes before the participant is in the room is no failure. */
async function startOrExplain(participant: RunningParticipant, signal: AbortSignal): Promise<void> {
  const stopped = await Promise.race([participant.start(), aborted(signal)]).then(
    () => undefined,
    () => participant.stopped,
  );
  if (stopped !== undefined) {
    throw new CommandError(stopped.reason, undefined, exitCodeFor(stopped.code));
  }
}

async function startDemo(
  context: CliContext,
  closers: Undoing["closers"],
): Promise<ProviderChoice> {
  const demo = await startDemoProvider({ joinHint: `${context.commandName} up` });
  closers.push(() => demo.close());
  return { endpoint: demo.endpoint, model: demoModel };
}

function announce(context: CliContext, values: UpOptionValues, running: Running): void {
  const { launched, room, provider, participantId, isDemo } = running;
  const sharedUrl = launched.sharedUrls[0]?.url;
  if (values.json === true) {
    writeJson(context.stdout, {
      hubUrl: launched.localUrl,
      sharedUrl: sharedUrl ?? null,
      room: room.code,
      baseUrl: `${launched.localUrl}/rooms/${room.code}/v1`,
      participantId,
      model: provider.model,
      endpoint: provider.endpoint,
      isDemo,
    });
    return;
  }
  const colors = colorsFor(context, context.stdout);
  const what = isDemo
    ? `${colors.yellow("a demo model")} (no model server answered on this machine)`
    : `${safe(provider.model)} from ${provider.name ?? provider.endpoint}`;
  context.stdout.write(
    `${colors.bold(`Room ${room.code}`)} is open at ${launched.localUrl}, with ${what} as ${participantId}\n\n`,
  );
  if (launched.sharedUrls.length > 0) {
    const urls = launched.sharedUrls.map(({ url, label }) => `${url} (${label})`).join(", ");
    context.stdout.write(`Everyone who can reach these addresses can use it: ${urls}\n\n`);
  }
  const lines = readyLines({
    commandName: context.commandName,
    localUrl: launched.localUrl,
    sharedUrl,
    roomCode: room.code,
    hasPassword: room.passwordProtected,
  });
  for (const { title, text } of lines) context.stdout.write(`${colors.dim(title)}\n  ${text}\n`);
  context.stdout.write(`\n${colors.dim("Requests appear here; Ctrl+C stops.")}\n`);
}

/** One line per finished request until stopped. */
async function showRequests(
  context: CliContext,
  { launched, room }: Running,
  signal: AbortSignal,
  isJson: boolean,
): Promise<void> {
  const colors = colorsFor(context, context.stdout);
  const client = context.createClient(launched.localUrl);
  for await (const event of client.events(room.code, { signal })) {
    if (isJson) writeJson(context.stdout, event);
    else if (event.type === "llm.complete" || event.type === "llm.error") {
      context.stdout.write(`${requestLine(event, colors)}\n`);
    } else if (event.type === "participant.joined") {
      const { id, model } = event.participant;
      context.stdout.write(`${colors.dim(`${safe(id)} joined with ${safe(model)}`)}\n`);
    }
  }
}

/** Here requests are shown from the hub's events, and joining is what the announcement says. */
function isWorthSaying(kind: string): boolean {
  return !["joined", "connected", "request-started", "request-ended", "stopped"].includes(kind);
}

function noSuchModel(model: string): CommandError {
  return new CommandError(
    `No model server on this machine has ${model}`,
    "start one, or leave --model out to try the demo model",
  );
}
