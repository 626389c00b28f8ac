import type { Room } from "@roomhub/protocol";
import type { Command } from "commander";
import { type Asking, askingOf } from "../asking.ts";
import { chooseModels, type ModelChoice } from "../choose-models.ts";
import type { CliContext } from "../context.ts";
import { CommandError } from "../exit-code.ts";
import { type HubConfig, resolveHubConfig } from "../hub-config.ts";
import { type LaunchedHub, launchHub, refuseCuts } from "../hub-launch.ts";
import { addHubFlags, type HubFlagValues } from "../hub-settings.ts";
import { makeParticipant, stoppedError } from "../make-participant.ts";
import { noticeLine } from "../notice-line.ts";
import { addJsonOption, addQuietOption, endpointArgument } from "../options.ts";
import { trackOutage } from "../outage.ts";
import { suggestId } from "../participant-name.ts";
import { addPasswordOptions, type PasswordOptionValues, readPassword } from "../secrets.ts";
import type { ParticipantNotice, RunningParticipant } from "../services.ts";
import { aborted, untilStopped } from "../stop-signal.ts";
import { clockTime, colorsFor, duration, writeJson } from "../text.ts";
import { inviteUrl, upBanner, type UpFacts } from "../up-banner.ts";
import { openRoom } from "../up-room.ts";
import { watchRequests } from "../watch-requests.ts";

interface UpOptionValues extends HubFlagValues, PasswordOptionValues {
  json?: boolean;
  quiet?: boolean;
  room?: string;
  endpoint?: string;
  model?: string;
  nickname?: string;
}

/** Everything `up` started, and what it is called. */
interface Running {
  launched: LaunchedHub;
  room: Room;
  choice: ModelChoice;
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
    addQuietOption(
      addJsonOption(
        addHubFlags(
          program
            .command("up")
            .description("a hub, a room and this machine's model in it, in one command"),
        ),
      ),
    ),
  )
    .option("--room <name>", "name of the room (default: yours)")
    .option(
      "--endpoint <url>",
      "the model server (default: the first that answers, else a demo)",
      endpointArgument,
    )
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
  const asking = { ...askingOf(context, values), canAsk: false };
  await untilStopped(context, async (signal) => {
    const undoing: Undoing = { closers: [], cut: 0 };
    try {
      const running = await startAll(context, config, values, { asking, signal, undoing });
      announce(context, values, running);
      const { launched, room } = running;
      const where = { hubUrl: launched.localUrl, room: room.code };
      const requests = watchRequests(context, where, values);
      undoing.closers.push(requests.hubClosed);
      await Promise.race([aborted(signal), requests.over]);
      if (!asking.isQuiet) {
        context.stderr.write("Stopping: running requests may finish; Ctrl+C again stops at once\n");
      }
    } finally {
      for (const close of undoing.closers) await close();
    }
    refuseCuts(undoing.cut);
  });
}

interface StartDeps {
  asking: Asking;
  signal: AbortSignal;
  /**
   * Gets what must be undone, also when a later step throws; the hub first, because it lets running requests finish, which
   * they can only while the participant and its provider are there.
   */
  undoing: Undoing;
}

/**
 * From the inside out, so that nothing is announced before it works: the provider is known, then the hub listens, then
 * the room stands, then the participant is in it.
 */
async function startAll(
  context: CliContext,
  config: HubConfig,
  values: UpOptionValues,
  { asking, signal, undoing }: StartDeps,
): Promise<Running> {
  const { closers } = undoing;
  const password = await readPassword(context, values);
  const { endpoint, model } = values;
  const models = model === undefined ? [] : [model];
  const [found] = await chooseModels(
    context,
    { endpoint, models, isAll: false, headers: {} },
    asking,
  );
  if (found === undefined && model !== undefined) throw noSuchModel(model);

  const launched = await launchHub(context, config, "silent");
  closers.push(async () => {
    ({ cut: undoing.cut } = await launched.close());
  });
  const roomName = values.room ?? `${context.userName}'s room`;
  const room = await openRoom(context.createClient(launched.localUrl), roomName, password);

  const choice = found ?? (await startDemo(context, closers));
  const nickname = values.nickname ?? context.userName;
  const participantId = suggestId(nickname, choice.model);
  const tellTrouble = troubleTeller(context);
  const participant = await makeParticipant(context, {
    hubUrl: launched.localUrl,
    room: room.code,
    id: participantId,
    nickname,
    model: choice.model,
    endpoint: choice.endpoint,
    password,
    onNotice: (notice) => {
      if (!signal.aborted) tellTrouble(notice);
    },
  });
  closers.push(() => participant.close());
  await startOrExplain(participant, signal);
  return { launched, room, choice, participantId, isDemo: found === undefined };
}

/** A stop that comes before the participant is in the room is no failure. */
async function startOrExplain(participant: RunningParticipant, signal: AbortSignal): Promise<void> {
  const stopped = await Promise.race([participant.start(), aborted(signal)]).then(
    () => undefined,
    () => participant.stopped,
  );
  if (stopped !== undefined) throw stoppedError(stopped);
}

async function startDemo(context: CliContext, closers: Undoing["closers"]): Promise<ModelChoice> {
  const { demoModel, startDemoProvider } = await import("../demo-provider.ts");
  const demo = await startDemoProvider({ joinHint: `${context.commandName} up` });
  closers.push(() => demo.close());
  return { endpoint: demo.endpoint, model: demoModel, serverName: undefined };
}

function announce(context: CliContext, values: UpOptionValues, running: Running): void {
  const { launched, room, choice, participantId, isDemo } = running;
  const { localUrl, sharedUrls, isAnnounced } = launched;
  const { model, endpoint, serverName } = choice;
  const server = serverName ?? endpoint;
  const facts: UpFacts = {
    ...{ localUrl, sharedUrls, isAnnounced, room },
    ...{ participantId, model, server, isDemo },
  };
  if (values.json === true) {
    writeJson(context.stdout, {
      hubUrl: localUrl,
      sharedUrl: sharedUrls[0]?.url ?? null,
      room: room.code,
      baseUrl: `${localUrl}/rooms/${room.code}/v1`,
      ...{ participantId, model, endpoint, isDemo },
    });
  } else if (values.quiet === true) context.stdout.write(`${inviteUrl(facts)}\n`);
  else context.stdout.write(upBanner(context, facts));
}

/**
 * Here requests are shown from the hub's events, and joining is what the announcement says; what is left is trouble, and
 * its end.
 */
function troubleTeller(context: CliContext): (notice: ParticipantNotice) => void {
  const colors = colorsFor(context, context.stderr);
  const say = (line: string) => context.stderr.write(`${line}\n`);
  const outage = trackOutage();
  return (notice) => {
    const nowMs = context.nowMs();
    switch (notice.kind) {
      case "disconnected":
        if (outage.began("own", nowMs)) say(noticeLine(notice, nowMs, colors));
        return;
      case "connected": {
        const lastedMs = outage.ended("own", nowMs);
        if (lastedMs === undefined) return;
        const text = colors.green(`connected again after ${duration(lastedMs)}`);
        say(`${colors.dim(clockTime(nowMs))}  ${text}`);
        return;
      }
      case "provider-down":
      case "provider-up":
      case "fault":
        say(noticeLine(notice, nowMs, colors));
        return;
      default:
    }
  };
}

function noSuchModel(model: string): CommandError {
  return new CommandError(
    `No model server on this machine has ${model}`,
    "start one, or leave --model out to try the demo model",
  );
}
