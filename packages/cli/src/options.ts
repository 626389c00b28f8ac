import { servesArgument } from "./sharing/served-surfaces.ts";
import { InvalidHubUrlError, type Invite, normaliseHubUrl, parseInvite } from "@roomhub/client";
import {
  isClientName,
  type ParticipantConfig,
  participantIdProblem,
  SurfaceMode,
  isObject,
  parseJson,
} from "@roomhub/protocol";
import { Command, Help, InvalidArgumentError, Option } from "commander";
import { examples } from "./command-list.ts";
import type { CliContext } from "./context.ts";
import { parseDuration } from "./hosting/limit-value.ts";
import { defaultHubUrl } from "./rooms/hub-address.ts";

const hubVariable = "ROOMHUB_URL";

/** Options of every command that connects to a hub. */
export interface HubOptionValues {
  hub: string;
  /** the hub that the user named; undefined for the default one */
  namedHub?: string | undefined;
  json?: boolean;
}

/** A command, and what several have in common. */
export class RoomhubCommand extends Command {
  override createCommand(name?: string): RoomhubCommand {
    return new RoomhubCommand(name);
  }

  /** @param add - adds options or arguments, such as `addPasswordOptions` */
  with(add: (command: this) => unknown): this {
    add(this);
    return this;
  }

  /** Options of every command that connects to a hub. */
  hubOptions(): this {
    return this.hubOption().jsonOption();
  }

  hubOption(): this {
    return this.addOption(
      new Option("--hub <url>", "hub URL")
        .default(defaultHubUrl, `"${defaultHubUrl}", env: ${hubVariable}`)
        .argParser(hubUrlArgument),
    )
      .option("--key-file <path>", "key of a closed room, from a file (- for stdin)")
      .hook("preAction", noteNamedHub);
  }

  jsonOption(): this {
    return this.option("--json", "print JSON");
  }

  quietOption(): this {
    return this.option("-q, --quiet", "print problems only");
  }

  roomArgument(): this {
    return this.argument("<room>", "room code or invite URL");
  }

  /** @param lines - of a shell, at the end of the help */
  examples(...lines: string[]): this {
    return this.addHelpText("after", examples(...lines));
  }
}

/**
 * Reads the hub from its variable when `--hub` is absent. Commander would read `process.env`, not the context.
 *
 * @throws CommanderError as for an invalid `--hub`
 */
export function readHubVariable(command: Command, env: CliContext["env"]): void {
  const given = env[hubVariable] ?? "";
  if (given === "" || command.getOptionValueSource("hub") !== "default") return;
  try {
    command.setOptionValueWithSource("hub", normaliseHubUrl(given), "env");
  } catch (error) {
    if (!(error instanceof InvalidHubUrlError)) throw error;
    command.error(`error: ${hubVariable}: ${error.message}`);
  }
}

/** After the variable was read. */
function noteNamedHub(command: Command): void {
  if (command.getOptionValueSource("hub") === "default") return;
  command.setOptionValue("namedHub", command.getOptionValue("hub"));
}

/** Parses a room code, or an invite URL, which names its hub too. */
export function inviteOf(room: string, options: Pick<HubOptionValues, "hub">): Invite {
  return parseInvite(room, options.hub);
}

/** @throws InvalidArgumentError, which commander prints with the option's name */
export function positiveArgument(text: string): number {
  const value = Number(text);
  if (!/^\d+$/.test(text) || value < 1) {
    throw new InvalidArgumentError("Must be a whole number of at least 1.");
  }
  return value;
}

/** @param example - for the message of the InvalidArgumentError @returns reads a time as ms */
export function timeArgument(example: string): (text: string) => number {
  return (text) => {
    const ms = parseDuration(text);
    if (ms !== undefined) return ms;
    throw new InvalidArgumentError(`Must be a number with a unit (s, min, h, d), like ${example}.`);
  };
}

/** @throws InvalidArgumentError */
export function portArgument(text: string): number {
  if (/^\d{1,5}$/.test(text) && Number(text) <= 65_535) return Number(text);
  throw new InvalidArgumentError("Must be a number from 0 to 65535.");
}

/** The name of a person, as a key shows it. @throws InvalidArgumentError */
export function clientName(name: string): string {
  if (isClientName(name)) return name;
  throw new InvalidArgumentError(
    "Use 1 to 32 letters, digits, dots, hyphens and underscores; begin with a letter or digit.",
  );
}

export function participantIdArgument(text: string): string {
  const problem = participantIdProblem(text);
  if (problem !== undefined) throw new InvalidArgumentError(asSentence(problem));
  return text;
}

export function jsonObjectArgument(text: string): Record<string, unknown> {
  const value = parseJson(text);
  if (isObject(value)) return { ...value };
  throw new InvalidArgumentError(
    value === undefined ? `Must be JSON, like '{"gpu":"RTX 4090"}'.` : "Must be a JSON object.",
  );
}

/** A model server's URL; a missing scheme means `http://`, as in a hub's URL. */
export function endpointArgument(text: string): string {
  return /^[\w.-]+(?::\d+)?(?:\/|$)/.test(text) ? `http://${text}` : text;
}

const rareHeading = "Rare options:";

/** Leaves options out of `--help`, and adds `--help-all`, which lists them too. Shells still complete them. */
export function moveToHelpAll(command: RoomhubCommand, flags: readonly string[]): RoomhubCommand {
  for (const option of command.options) {
    if (flags.includes(option.flags)) option.helpGroup(rareHeading);
  }
  const inherited = command.configureHelp();
  const isUsual = (option: Option) => option.helpGroupHeading !== rareHeading;
  return command
    .configureHelp({
      ...inherited,
      visibleOptions: (of) => new Help().visibleOptions(of).filter(isUsual),
    })
    .option("--help-all", "display help with rare options")
    .on("option:help-all", () => command.configureHelp(inherited).help());
}

/** Collects a repeatable option. */
export function collect(text: string, previous: string[] | undefined): string[] {
  return [...(previous ?? []), text];
}

function asSentence(text: string): string {
  return `${text.slice(0, 1).toUpperCase()}${text.slice(1)}.`;
}

function hubUrlArgument(text: string): string {
  try {
    return normaliseHubUrl(text);
  } catch (error) {
    if (error instanceof InvalidHubUrlError) throw new InvalidArgumentError(error.message);
    throw error;
  }
}

/** How a participant serves requests, whether an agent or the hub calls its endpoint. */
export interface ServingOptionValues {
  context?: number;
  serves?: ReturnType<typeof servesArgument>;
  maxConcurrency?: number;
  responses?: SurfaceMode;
  messages?: SurfaceMode;
}

export function addServingOptions(command: Command): void {
  command
    .option(
      "--context <tokens>",
      "tokens that the model takes, if fewer than reported",
      positiveArgument,
    )
    .option(
      "--serves <surfaces>",
      "what the model server has, as chat,speech (default: what it shows)",
      servesArgument,
    )
    .option("--max-concurrency <number>", "maximum concurrent requests", positiveArgument)
    .addOption(
      new Option(
        "--responses <mode>",
        "serve /responses natively or translated to chat (default: per server)",
      ).choices(SurfaceMode.options),
    )
    .addOption(
      new Option(
        "--messages <mode>",
        "serve /messages natively or translated to chat (default: per server)",
      ).choices(SurfaceMode.options),
    );
}

/** The given options, as fields of a participant's `config`. */
export function servingConfig(values: ServingOptionValues): ParticipantConfig {
  const { maxConcurrency, responses, messages } = values;
  return {
    ...(maxConcurrency === undefined ? {} : { maxConcurrency }),
    ...(responses === undefined ? {} : { responses }),
    ...(messages === undefined ? {} : { messages }),
  };
}
