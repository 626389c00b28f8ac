import { RoomhubError } from "@roomhub/client";
import { type HubEntry, isLoopbackHost, programLine } from "@roomhub/protocol";
import { EXIT } from "../exit-code.ts";
import { countOf, duration, safe } from "../terminal/text.ts";
import { type Check, type Examination, failed, type Finding, ok, skipped } from "./check.ts";
import { isOfAnotherServer, modelServerProblem } from "../sharing/found-server.ts";
import { portOf } from "../rooms/hub-address.ts";

/** Whether the server is a hub, is healthy, and has a compatible version. */
export const hubCheck: Check = {
  name: "hub",
  waitsFor: "the hub to respond",
  timeoutMs: 5_000,
  async run(exam, signal) {
    const { context, hubUrl } = exam;
    if (!exam.isPortOpen) return skipped("needs the port");
    try {
      const startMs = context.world.wallMs();
      const health = await context.createClient(hubUrl).health({ signal });
      const midMs = (startMs + context.world.wallMs()) / 2;
      exam.health = health;
      const hubMs = Date.parse(health.timestamp);
      exam.clockSkewMs = Number.isNaN(hubMs) ? undefined : hubMs - midMs;
      const finding = judge(exam, health);
      return finding.verdict === "ok" ? await judgeCluster(exam, finding, signal) : finding;
    } catch (error) {
      if (isOfAnotherServer(error)) return await noHub(exam, error);
      throw error;
    }
  },
};

type Health = NonNullable<Examination["health"]>;

function judge({ context, hubUrl }: Examination, health: Health): Finding {
  const { status, version, uptimeSeconds } = health;
  const text = `roomhub ${safe(version)} at ${hubUrl}, up ${duration(uptimeSeconds * 1000)}`;
  if (status === "degraded") {
    return failed(
      `${text}, cannot reach its cluster: rooms in use go on, new ones are refused`,
      "check the NATS servers that its --nats names",
    );
  }
  if (status !== "ok") {
    return failed(
      `${text}, is ${safe(status)} and accepts no requests`,
      "wait until it has restarted",
    );
  }
  if (!isCompatible(version, context.version)) {
    return failed(
      `${text}; this is roomhub ${context.version}, and the two may be incompatible`,
      programOf(hubUrl, health),
    );
  }
  return ok(text);
}

/** How to run that version: the hub's own program, where it hands it out. */
function programOf(hubUrl: string, { version, handout, pin }: Health): string {
  const isPlain = /^[\w.+-]+$/.test(version);
  if (handout !== true) return `use roomhub ${isPlain ? version : "of the hub's version"} here too`;
  return programLine({ hubUrl, isHandedOut: true, pin }, isPlain ? version : undefined);
}

/** Adds the state of the other hubs, if this one is in a cluster. */
async function judgeCluster(
  { context, hubUrl }: Examination,
  alone: Finding,
  signal: AbortSignal,
): Promise<Finding> {
  let hubs: HubEntry[];
  try {
    hubs = await context.createClient(hubUrl).listHubs({ signal });
  } catch (error) {
    if (error instanceof RoomhubError && error.status === 404) return alone;
    throw error;
  }
  const text = `${alone.found}, one of ${countOf(hubs.length, "hub")}`;
  const warnings = hubs.flatMap(({ warning }) => (warning === undefined ? [] : [safe(warning)]));
  const down = hubs.filter(({ link }) => link === "down");
  if (down.length === 0) return ok(text, warnings);
  const reasons = down.map(
    ({ url, problem = "no link yet" }) => `${safe(url)} is not linked: ${safe(problem)}`,
  );
  const fix = `${context.commandName} hubs --hub ${hubUrl}`;
  return failed(`${text}; it cannot reach the rooms of ${countOf(down.length, "hub")}`, fix, {
    details: [...reasons, ...warnings],
  });
}

/** Before 1.0 a minor version may change anything. https://semver.org/#spec-item-4 */
function isCompatible(one: string, other: string): boolean {
  const [major, minor] = one.split(".");
  const [otherMajor, otherMinor] = other.split(".");
  return major === otherMajor && (major !== "0" || minor === otherMinor);
}

async function noHub({ context, hubUrl }: Examination, error: RoomhubError): Promise<Finding> {
  const modelServer = await modelServerProblem(context, hubUrl);
  if (modelServer !== undefined) throw modelServer;
  const url = new URL(hubUrl);
  const isHere = isLoopbackHost(url.hostname);
  const fix =
    error.hint?.startsWith("use ") === true
      ? error.hint
      : isHere
        ? `${context.commandName} up --port ${portOf(url) + 1}`
        : "ask the host for the invite URL";
  return failed(`the server at ${hubUrl} is not a hub (it responds with ${error.status})`, fix, {
    exitCode: EXIT.unreachable,
  });
}

/** Larger than network delay alone explains. */
const largestSkewMs = 60_000;

/** Certificates and event timestamps depend on the clocks of both machines. */
export const clockCheck: Check = {
  name: "clock",
  waitsFor: "nothing",
  timeoutMs: 1_000,
  run({ clockSkewMs }) {
    if (clockSkewMs === undefined) return skipped("needs the hub");
    const apart = duration(Math.abs(clockSkewMs));
    if (Math.abs(clockSkewMs) <= largestSkewMs) return ok(`within ${apart} of the hub's`);
    const direction = clockSkewMs > 0 ? "behind" : "ahead of";
    return failed(
      `this machine's clock is ${apart} ${direction} the hub's`,
      "synchronize both clocks: sudo timedatectl set-ntp true",
    );
  },
};
