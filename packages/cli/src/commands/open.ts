import { HubUnreachableError, type Invite } from "@roomhub/client";
import { withTls } from "@roomhub/protocol";
import { InvalidArgumentError } from "commander";
import type { CliContext } from "../context.ts";
import type { Door } from "../door/door.ts";
import { doorKey, doorUrl, roomOfDoor } from "../door/door-access.ts";
import { requestRow } from "../door/request-line.ts";
import { CommandError, explained } from "../exit-code.ts";
import {
  clientName,
  collect,
  type HubOptionValues,
  portArgument,
  type RoomhubCommand,
} from "../options.ts";
import { accessKey } from "../programs/program-table.ts";
import { chooseRoom } from "../rooms/choose-room.ts";
import { roomArgumentOf } from "../rooms/hub-address.ts";
import { unreachableHubHint } from "../rooms/hub-hint.ts";
import { interactivityOf } from "../terminal/interactivity.ts";
import { createRowFeed } from "../terminal/row-feed.ts";
import { aborted, untilStopped } from "../terminal/stop-signal.ts";
import { colorsFor, countOf, safe, shellWord, writeJson } from "../terminal/text.ts";
import { examples } from "../command-list.ts";

interface OpenOptionValues extends HubOptionValues {
  port?: number;
  allowOrigin?: string[];
  as?: string;
  newKey?: boolean;
}

export function addOpenCommand(program: RoomhubCommand, context: CliContext): void {
  program
    .command("open")
    .hubOptions()
    .argument("[room]", "invite, room code or hub URL (default: the only room there is)")
    .option("--port <number>", "port to listen on (default: 5055, or a free one)", portArgument)
    .option(
      "--allow-origin <origin>",
      "let pages of this origin use the door (repeatable)",
      collectOrigin,
    )
    .option("--as <name>", "name the person who sends the requests", clientName)
    .option("--new-key", "replace the door's API key")
    .addHelpText(
      "after",
      `
A base URL on this machine for one room, for any OpenAI or Anthropic client: the
door adds the room's key, and uses TLS with the pin of the invite. Only programs
of this machine that know the door's API key can use it.
${examples(
  'roomhub open "http://192.168.1.5:5050/rooms/ABC234#pin=sha256-…"',
  "roomhub open ABC234 --allow-origin http://localhost:3000",
)}`,
    )
    .action((room: string | undefined, options: OpenOptionValues) => open(context, room, options));
}

/** Runs until stopped. */
async function open(
  context: CliContext,
  given: string | undefined,
  options: OpenOptionValues,
): Promise<void> {
  const { namedHub: hubUrl } = options;
  const known = given === undefined ? undefined : await roomOfDoor(context, given, hubUrl);
  const named =
    known ??
    (await chooseRoom(context, { given, hubUrl }, interactivityOf(context, options), "open"));
  const pin = await context.pins.of(named.hubUrl);
  const room = pin === undefined ? named : { ...named, hubUrl: withTls(named.hubUrl) };
  const isClosed = await isClosedRoom(context, room);
  const doors = await context.openDoors();
  const claimed = await doors.claim(room).catch((error: unknown) => {
    throw alreadyOpen(context, room, error);
  });
  try {
    const roomKey = isClosed ? await context.roomKeys.of(room) : undefined;
    const { key: senderKey, isNamed, isSecret } = accessKey(roomKey, options.as);
    const key = await doorKey(context, room, options.newKey === true);
    const envCommand = `${context.commandName} env ${shellWord(roomArgumentOf(room))}`;
    const rows = createRowFeed(context, context.stderr);
    const colors = colorsFor(context, context.stderr);
    await untilStopped(context, async (signal) => {
      const opening = context.openDoor({
        ...{ room, pin, key, port: options.port, openedBy: "roomhub open" },
        keyHint: `set the key and the base URL with: eval "$(${envCommand})"`,
        origins: options.allowOrigin ?? [],
        hubKey: isNamed || isSecret ? senderKey : undefined,
        world: context.world,
        onRequest: (request) => {
          if (options.json === true) return writeJson(context.stdout, { request });
          rows.row(requestRow(request, context.world.wallMs(), colors));
        },
      });
      const next = "choose another port: --port 0 takes a free one";
      const door = await explained("The door cannot be opened", next, opening);
      try {
        await claimed.publish(door.port);
        print(context, { room, pin, key, envCommand, isJson: options.json === true }, door);
        await aborted(signal);
        rows.flush();
        await end(context, door);
      } finally {
        rows.close();
        await door.close();
      }
    });
  } finally {
    await claimed.release();
  }
}

/** Checks that the room exists, and asks for the key of a closed one. An unreachable hub is only a warning: the door reconnects. */
async function isClosedRoom(context: CliContext, { hubUrl, room }: Invite): Promise<boolean> {
  try {
    return (await context.createClient(hubUrl).getRoom(room)).closed === true;
  } catch (error) {
    if (!(error instanceof HubUnreachableError) || error.isTlsProblem) throw error;
    context.stderr.write(`! ${safe(error.message)}\n→ ${unreachableHubHint(context, error)}\n`);
    return (await context.roomKeys.of({ hubUrl, room })) !== undefined;
  }
}

function alreadyOpen(context: CliContext, room: Invite, error: unknown): unknown {
  // Compared by name: importing the class would load its module too early.
  if (!(error instanceof Error) || error.name !== "DoorOpenError") return error;
  const { door, pid } = error as Error & { door?: { port: number }; pid: number };
  const where = door === undefined ? "" : ` at ${doorUrl(door.port)}`;
  return new CommandError(
    `The door to room ${room.room} is open already${where}, in process ${pid}`,
    `use it: eval "$(${context.commandName} env ${roomArgumentOf(room)})"`,
  );
}

interface Opened {
  room: Invite;
  pin: string | undefined;
  key: string;
  envCommand: string;
  isJson: boolean;
}

function print(context: CliContext, opening: Opened, { port }: Door): void {
  const { room, pin, key, envCommand, isJson } = opening;
  const { stdout, stderr, commandName } = context;
  const baseUrl = doorUrl(port);
  if (isJson) return writeJson(stdout, { baseUrl, apiKey: key, ...room, port });
  const isTls = room.hubUrl.startsWith("https:");
  const how = isTls ? `TLS${pin === undefined ? "" : " with the pinned key"}` : "plain HTTP";
  stderr.write(`Room ${room.room} of ${room.hubUrl}, over ${how}; Ctrl+C closes the door\n\n`);
  stdout.write(`OPENAI_BASE_URL=${baseUrl}\nOPENAI_API_KEY=${key}\n`);
  stderr.write(
    `\n→ eval "$(${envCommand})"\n→ ${commandName} launch claude ${shellWord(roomArgumentOf(room))}\n\n`,
  );
}

/** A response may take minutes; a second Ctrl+C ends at once. */
async function end({ stderr }: CliContext, door: Door): Promise<void> {
  const running = door.running();
  if (running > 0)
    stderr.write(`Waiting for ${countOf(running, "request")}; Ctrl+C again cuts them\n`);
  await door.drain();
}

/** @throws InvalidArgumentError for what is no origin */
function collectOrigin(text: string, previous: string[] | undefined): string[] {
  const url = URL.parse(text);
  if (url === null || url.origin === "null" || url.href.replace(/\/$/, "") !== url.origin)
    throw new InvalidArgumentError("Must be an origin, like http://localhost:3000.");
  return collect(url.origin, previous);
}
