import { posix } from "node:path";
import {
  namesIn,
  runOrThrow,
  type ServiceHost,
  type ServiceManager,
  type ServiceState,
  type ServiceUnit,
} from "./service-unit.ts";

/** launchd kills a service that takes longer. */
const exitTimeoutMs = 90_000;
const stepMs = 500;
/** `launchctl` for a service that is not loaded. */
const notFoundCodes = [3, 113];

/** An agent of launchd, which runs while its user is logged in. launchd.plist(5) */
export function launchdManager(host: ServiceHost): ServiceManager {
  const folder = posix.join(host.homeFolder, "Library", "LaunchAgents");
  const logPath = (name: string) =>
    posix.join(host.homeFolder, "Library", "Logs", `${labelOf(name)}.log`);
  const domain = `gui/${host.userId}`;
  const unitPath = (name: string) => posix.join(folder, `${labelOf(name)}.plist`);
  const isLoaded = async (name: string) => {
    const { code } = await host.run("launchctl", ["print", `${domain}/${labelOf(name)}`]);
    return code === 0;
  };
  // bootout does not wait for requests that finish, and bootstrap fails until the service is unloaded.
  const unload = async (name: string) => {
    if (!(await isLoaded(name))) return;
    await host.run("launchctl", ["bootout", `${domain}/${labelOf(name)}`]);
    for (let waitedMs = 0; waitedMs < exitTimeoutMs && (await isLoaded(name)); waitedMs += stepMs) {
      await host.wait(stepMs);
    }
  };
  return {
    title: "launchd agent",
    unitPath,
    unitText: (unit) => launchAgent(unit, logPath(unit.name)),
    names: () => namesIn(host, folder, "roomhub.", ".plist"),
    start: async ({ name }) => {
      await unload(name);
      await runOrThrow(host, "launchctl", ["enable", `${domain}/${labelOf(name)}`]);
      await runOrThrow(host, "launchctl", ["bootstrap", domain, unitPath(name)]);
    },
    stop: unload,
    forget: async () => {},
    state: async (name) => {
      const args = ["print", `${domain}/${labelOf(name)}`];
      const { code, stdout } = await host.run("launchctl", args);
      if (code === 0) return stateOf(stdout);
      return { kind: notFoundCodes.includes(code ?? 0) ? "stopped" : "unknown" };
    },
    notes: (name) => [`Its log:  tail -f ${logPath(name)}`, "It starts when you log in."],
  };
}

function labelOf(name: string): string {
  return `roomhub.${name}`;
}

/** `Interactive` because launchd otherwise slows an agent's processor and disk. */
function launchAgent({ name, commandLine, folder }: ServiceUnit, logPath: string): string {
  return `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<!-- Written by \`roomhub service install\`. To remove it: roomhub service remove ${name} -->
<plist version="1.0">
<dict>
  <key>Label</key>
  <string>${labelOf(name)}</string>
  <key>ProgramArguments</key>
  <array>
${commandLine.map((argument) => `    <string>${xmlText(argument)}</string>`).join("\n")}
  </array>
  <key>WorkingDirectory</key>
  <string>${xmlText(folder)}</string>
  <key>RunAtLoad</key>
  <true/>
  <key>KeepAlive</key>
  <dict>
    <key>SuccessfulExit</key>
    <false/>
  </dict>
  <key>ThrottleInterval</key>
  <integer>10</integer>
  <key>ExitTimeOut</key>
  <integer>${exitTimeoutMs / 1000}</integer>
  <key>ProcessType</key>
  <string>Interactive</string>
  <key>StandardOutPath</key>
  <string>${xmlText(logPath)}</string>
  <key>StandardErrorPath</key>
  <string>${xmlText(logPath)}</string>
</dict>
</plist>
`;
}

/** Reads the lines that are indented by one tab, which are about the service itself. */
function stateOf(printed: string): ServiceState {
  const value = (name: string) =>
    new RegExp(String.raw`^\t${name} = (.*)$`, "m").exec(printed)?.[1] ?? "";
  if (value("state") === "running") {
    return { kind: "running", processId: Number(value("pid")) || undefined };
  }
  if (value("state") === "spawn scheduled") return { kind: "restarting" };
  const exitCode = Number.parseInt(value("last exit code"), 10);
  return exitCode > 0 ? { kind: "failed", exitCode } : { kind: "stopped" };
}

const entities: Record<string, string> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
};

/** Text inside an XML element. */
function xmlText(text: string): string {
  return text.replaceAll(/[&<>"]/g, (found) => entities[found] ?? found);
}
