import { withTls } from "./pin.ts";

/**
 * Whether npm's registry has `roomhub` and `@roomhub/client`. Until it does, lines for other machines
 * download them from a hub: the names in the registry would lead to nothing, or to a stranger's program.
 */
const isPublished: boolean = false;

/** A hub as a line to paste needs to know it. */
export interface PastedHub {
  /** as other machines reach it, without a trailing slash */
  hubUrl: string;
  /** whether it hands out the program and the SDK. Contract §7 */
  isHandedOut: boolean;
  /** the key that its invites pin, `sha256-…`; undefined without a certificate of its own */
  pin?: string | undefined;
}

/**
 * The hub in lines for others, to whom a loopback address means their own machine.
 *
 * @param hubUrl - as it is known here
 * @param said - what the hub says of itself: its URL for others, whether it hands out its program
 */
export function pastedHub(
  hubUrl: string,
  {
    url,
    handout = false,
    pin,
  }: { url?: string | undefined; handout?: boolean | undefined; pin?: string | undefined },
): PastedHub {
  const isShared = !isForOthers(hubUrl) && url !== undefined && /^https?:/.test(url);
  const shared = isShared && URL.canParse(url) ? url.replace(/\/+$/, "") : hubUrl;
  return { hubUrl: shared, isHandedOut: handout, pin };
}

/** Whether other machines can use a URL: a loopback address leads each of them to itself. */
export function isForOthers(url: string): boolean {
  return !isLoopbackHost(new URL(url).hostname);
}

/** Whether a host of a URL, or an address, means the computer itself, whichever that is. */
export function isLoopbackHost(host: string): boolean {
  return /^(?:127\..*|0\.0\.0\.0|\[?::1?\]?|(?:.*\.)?localhost)$/.test(host);
}

/**
 * How a machine that has Node, and nothing of ours, runs the program.
 *
 * @param version - a certain one; left out: that of the hub
 */
export function programLine(
  hub: PastedHub,
  version?: string,
  isInRegistry: boolean = isPublished,
): string {
  if (hub.isHandedOut)
    return npmLine(hub, "npx -y", version === undefined ? "roomhub.tgz" : `roomhub-${version}.tgz`);
  if (!isInRegistry) return "roomhub";
  return version === undefined ? "npx -y roomhub" : `npx -y roomhub@${version}`;
}

/** A room as its invites name it: with the pin, where the hub has one. */
export function inviteUrl({ hubUrl, pin }: PastedHub, roomCode: string): string {
  return `${hubUrl}/rooms/${roomCode}${pin === undefined ? "" : `#pin=${pin}`}`;
}

/**
 * curl for a hub, before its options and URL. With a pin, `-k` leaves out the authorities, which know nothing of the hub's
 * own certificate; curl compares the key with the pin all the same, and sends nothing to another.
 */
export function curlLine({ pin }: Pick<PastedHub, "pin">): string {
  if (pin === undefined) return "curl";
  const base64 = pin.slice("sha256-".length).replaceAll("-", "+").replaceAll("_", "/");
  return `curl -k --pinnedpubkey sha256//${base64}=`;
}

/** The hub with TLS, where a pin says that it has it. */
export function sealedUrl({ hubUrl, pin }: PastedHub): string {
  return pin === undefined ? hubUrl : withTls(hubUrl);
}

/** npm knows no pins: of a hub with one, curl gets the file. */
function npmLine(hub: PastedHub, command: string, file: string): string {
  const url = shellWord(`${sealedUrl(hub)}/${file}`);
  if (hub.pin === undefined) return `${command} ${url}`;
  return `${curlLine(hub)} -fsSO ${url} && ${command} ./${file}`;
}

/** The line that shares a model in a room, from another machine. */
export function joinLine(hub: PastedHub, roomCode: string, version?: string): string {
  return `${programLine(hub, version)} join ${shellWord(inviteUrl(hub, roomCode))}`;
}

/** The line that installs the SDK; undefined when neither hub nor registry has it. */
export function sdkLine(hub: PastedHub, isInRegistry: boolean = isPublished): string | undefined {
  if (hub.isHandedOut) return npmLine(hub, "npm install", "roomhub-client.tgz");
  return isInRegistry ? "npm install @roomhub/client" : undefined;
}

/** A word for a POSIX shell, quoted only where necessary: `[::1]` is a pattern. */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
