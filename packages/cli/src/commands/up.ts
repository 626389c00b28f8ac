import { inviteUrl } from "@roomhub/protocol";
import { type Interactivity, interactivityOf } from "../terminal/interactivity.ts";
import { chooseModels, type ModelChoice } from "../sharing/choose-models.ts";
import type { CliContext } from "../context.ts";
import { CommandError } from "../exit-code.ts";
import { addBudgetOptions, budgetOf, type BudgetOptionValues } from "../sharing/budget-options.ts";
import { findServers, type RequestedModels } from "../sharing/find-servers.ts";
import { type HubConfig, resolveHubConfig } from "../hosting/hub-config.ts";
import { failOnCutRequests, launchHub, prepareHandout } from "../hosting/hub-launch.ts";
import { addHubFlags, type HubFlagValues, type SettingName } from "../hosting/hub-settings.ts";
import { credentialsProblem, type FoundServer, serverText } from "../sharing/found-server.ts";
import { servedWords } from "../sharing/served-surfaces.ts";
import { endpointArgument, type RoomhubCommand } from "../options.ts";
import {
  addHeaderOptions,
  addPasswordOptions,
  type HeaderOptionValues,
  type PasswordOptionValues,
  readHeaders,
  readPassword,
} from "../secrets.ts";
import { replaceDemo, startDemo } from "../demo/replace-demo.ts";
import { aborted, untilStopped } from "../terminal/stop-signal.ts";
import { reasonOf, safe, writeJson } from "../terminal/text.ts";
import { upBanner, type UpFacts } from "../hosting/up-banner.ts";
import { warnAboutOpenRoom } from "./rooms/key.ts";
import { findOrCreateRoom, serveAnyModel } from "../rooms/host-token.ts";
import { reportProblems, shareModel, type Sharing } from "../hosting/up-sharing.ts";
import { watchUrlOf } from "../rooms/invite-text.ts";
import { watchRequests } from "../hosting/watch-requests.ts";
import type { MonitorOptions } from "../watch/monitor/page-server.ts";

interface UpOptionValues
  extends HubFlagValues, PasswordOptionValues, HeaderOptionValues, BudgetOptionValues {
  json?: boolean;
  quiet?: boolean;
  room?: string;
  endpoint?: string;
  model?: string;
  nickname?: string;
  ownFirst?: boolean;
  monitor: boolean;
  anyModel?: boolean;
}

/** What to close, in order. */
interface Cleanup {
  closers: (() => Promise<void>)[];
  /** requests the hub interrupted when it closed */
  cut: number;
}

const usualSettings: SettingName[] = ["port", "lan", "tls", "publicUrl", "ephemeral"];

export function addUpCommand(program: RoomhubCommand, context: CliContext): void {
  addHubFlags(program.command("up"), usualSettings)
    .jsonOption()
    .quietOption()
    .with(addPasswordOptions)
    .with(addHeaderOptions)
    .option("--room <name>", "name of the room (default: from your user name)")
    .option(
      "--endpoint <url>",
      "the model server (default: the first found, else a demo)",
      endpointArgument,
    )
    .option("--model <name>", "the model to share (default: the server's first)")
    .option("--nickname <name>", "name shown to others (default: your user name)")
    .option("--own-first", "serve your own requests before those of others that wait")
    .option("--any-model", "serve every model name that is requested, with any participant")
    .option("--no-monitor", "print no link to the page that watches the room")
    .with(addBudgetOptions)
    .examples("roomhub up --lan", "roomhub up --port 6060 --model llama3.2")
    .action((values: UpOptionValues) => up(context, values));
}

async function up(context: CliContext, values: UpOptionValues): Promise<void> {
  const config = sealedOnLan(await resolveHubConfig(context, values));
  const interactivity = { ...interactivityOf(context, values), canAsk: false };
  await untilStopped(context, async (signal) => {
    const cleanup: Cleanup = { closers: [], cut: 0 };
    try {
      const running = await startAll(context, config, values, { interactivity, signal, cleanup });
      announce(context, values, running);
      const { launched, room } = running;
      // It was there before the hub was to close new ones.
      if (launched.isClosed && room.closed !== true)
        warnAboutOpenRoom(context, { hubUrl: launched.localUrl, room: room.code });
      void prepareHandout(context, launched, values.json === true || interactivity.isQuiet);
      const standIn = running.isDemo ? running.participantId : undefined;
      const shown = { ...values, standIn, isLogged: isLogged(context, values) };
      const stopWatching = watchRequests(context, launched.hub, room.code, shown);
      cleanup.closers.push(async () => stopWatching());
      await aborted(signal);
      if (!interactivity.isQuiet) {
        context.stderr.write(
          "Stopping: waiting for running requests; press Ctrl+C again to stop now\n",
        );
      }
    } finally {
      for (const close of cleanup.closers) await close();
    }
    failOnCutRequests(cleanup.cut);
  });
}

/** With --lan, `up` also serves HTTPS, unless the settings for TLS, a proxy or a cluster say otherwise. */
function sealedOnLan(config: HubConfig): HubConfig {
  const { lan, tls, tlsCert, publicUrl, nats } = config.settings;
  const hasOther = [tlsCert, publicUrl, nats].some(({ value }) => value !== undefined);
  if (lan.value !== true || tls.from !== "default" || hasOther) return config;
  return { ...config, settings: { ...config.settings, tls: { value: true, from: "default" } } };
}

/** Whether the hub's log is printed: to a journal, a file or a pipe. A terminal shows the table of requests instead. */
function isLogged({ stdout }: CliContext, { json, quiet }: UpOptionValues): boolean {
  return !stdout.isTTY && json !== true && quiet !== true;
}

interface StartDeps {
  interactivity: Interactivity;
  signal: AbortSignal;
  /**
   * Filled as each part starts, so that a later failure closes them too. The hub closes first: running requests can finish
   * only while the participant and its provider are up.
   */
  cleanup: Cleanup;
}

/**
 * Starts from the inside out, so that nothing is announced before it works: find the provider, start the hub, open the
 * room, join the participant.
 */
async function startAll(
  context: CliContext,
  config: HubConfig,
  values: UpOptionValues,
  { interactivity, signal, cleanup }: StartDeps,
) {
  const { closers } = cleanup;
  const password = await readPassword(context, values);
  const { endpoint, model } = values;
  const requested: RequestedModels = {
    endpoint,
    models: model === undefined ? [] : [model],
    isAll: false,
    headers: readHeaders(context, values),
  };
  const found = await chooseModel(context, requested, interactivity);

  const launched = await launchHub(context, config, isLogged(context, values) ? "text" : "silent");
  closers.push(async () => {
    ({ cut: cleanup.cut } = await launched.close());
  });
  const name = values.room ?? `${context.userName}'s room`;
  const { localUrl, operatorSecret } = launched;
  const room = await findOrCreateRoom(context, localUrl, { name, password, operatorSecret });
  if (values.anyModel === true) {
    await serveAnyModel(context, { hubUrl: localUrl, room: room.code });
  }
  const watchUrl = values.monitor
    ? (watchUrlOf(launched.pasted, room.code) ??
      (await startMonitor(context, { hubUrl: localUrl, code: room.code }, closers)))
    : undefined;

  const nickname = values.nickname ?? context.userName;
  const sharing: Sharing = {
    ...{ hubUrl: localUrl, room: room.code, nickname, password },
    key: await context.roomKeys.of({ hubUrl: localUrl, room: room.code }),
    headers: requested.headers,
    followModel: model === undefined,
    budget: budgetOf(context, values),
    ownFirst: values.ownFirst,
    onNotice: reportProblems(context, signal),
  };
  const say = (text: string) => {
    if (!interactivity.isQuiet) context.stderr.write(`${text}\n`);
  };
  const share = (choice: ModelChoice, standIn = false) =>
    shareModel(context, { ...sharing, standIn }, choice, { closers, signal, say });
  if (found !== undefined) {
    const { participantId } = await share(found);
    return { launched, room, choice: found, participantId, isDemo: false, watchUrl };
  }
  const demo = await startDemo(context.world);
  closers.push(() => demo.close());
  const { participant, participantId } = await share(demo.choice, true);
  const closeDemo = async () => {
    await participant.close();
    await demo.close();
  };
  const replacing = replaceDemo(context, { requested, share, closeDemo, values }, signal);
  closers.push(() => replacing.stop());
  return { launched, room, choice: demo.choice, participantId, isDemo: true, watchUrl };
}

/** Everything `up` started. */
type Running = Awaited<ReturnType<typeof startAll>>;

/** @returns undefined when this machine has no model server to share, so that the demo is used */
async function chooseModel(
  context: CliContext,
  requested: RequestedModels,
  interactivity: Interactivity,
): Promise<ModelChoice | undefined> {
  const servers = await findServers(context, requested, interactivity);
  if (requested.endpoint === undefined) {
    const [model] = requested.models;
    if (servers.length === 0 && model !== undefined) throw noSuchModel(model);
    if (model === undefined && servers.every(({ models }) => models === undefined)) {
      for (const server of servers) {
        const why = whyNotShared(server, requested);
        if (why !== undefined) context.stderr.write(`! ${why}\n`);
      }
      return undefined;
    }
  }
  const [choice] = await chooseModels(context, requested, servers, interactivity);
  return choice;
}

/** Of a server that is here and not shared without more of the user. */
function whyNotShared(server: FoundServer, { headers }: RequestedModels): string | undefined {
  if (server.readiness === "needs-credentials") {
    const { problem, fix } = credentialsProblem(server, headers);
    return `${problem}; ${fix}`;
  }
  if (server.capabilities == null) return undefined;
  const words = servedWords(server.capabilities).join(", ");
  return `${serverText(server)} is for ${words}, and lists no models; to share it, name its model: --model whisper`;
}

function announce(context: CliContext, values: UpOptionValues, running: Running): void {
  const { launched, room, choice, participantId, isDemo, watchUrl } = running;
  const { localUrl, sharedUrls, pasted: hub, isAnnounced } = launched;
  const { model, endpoint, serverName } = choice;
  const server = serverName ?? endpoint;
  const facts: UpFacts = {
    ...{ localUrl, sharedUrls, hub, isAnnounced, room },
    ...{ participantId, model, server, isDemo, watchUrl },
  };
  if (values.json === true) {
    writeJson(context.stdout, {
      hubUrl: localUrl,
      sharedUrl: sharedUrls[0]?.url ?? null,
      room: room.code,
      baseUrl: `${localUrl}/rooms/${room.code}/v1`,
      ...{ participantId, model, endpoint, isDemo },
      monitorUrl: watchUrl ?? null,
    });
  } else if (values.quiet === true) context.stdout.write(`${inviteUrl(hub, room.code)}\n`);
  else context.stdout.write(upBanner(context, facts));
}

function noSuchModel(model: string): CommandError {
  return new CommandError(
    `No model server on this machine has ${model}`,
    "start one, or leave out --model to try the demo model",
  );
}

/**
 * Serves the page next to a hub, on the loopback address. A failure is only reported, since the hub works without it.
 *
 * @param closers - gets what closes it
 * @returns its URL
 */
async function startMonitor(
  context: CliContext,
  room: MonitorOptions["room"],
  closers: (() => Promise<void>)[],
): Promise<string | undefined> {
  try {
    const page = await context.serveMonitor({ port: undefined, room });
    closers.push(() => page.close());
    return `http://127.0.0.1:${page.port}`;
  } catch (error) {
    context.stderr.write(
      `! The page that watches the room is not served: ${safe(reasonOf(error))}\n`,
    );
    return undefined;
  }
}
