import { posix } from "node:path";
import { EXIT } from "../exit-code.ts";
import {
  namesIn,
  runOrThrow,
  type ServiceHost,
  type ServiceManager,
  type ServiceState,
  type ServiceUnit,
} from "./service-unit.ts";

/**
 * A user unit of systemd: no root, and its log in the journal. systemd.service(5), systemd.unit(5)
 *
 * @param configFolder - `$XDG_CONFIG_HOME`, or undefined for `~/.config`
 */
export function systemdManager(
  host: ServiceHost,
  configFolder: string | undefined,
): ServiceManager {
  const isUsed = configFolder !== undefined && posix.isAbsolute(configFolder);
  const base = isUsed ? configFolder : posix.join(host.homeFolder, ".config");
  const folder = posix.join(base, "systemd", "user");
  const systemctl = (...args: string[]) => runOrThrow(host, "systemctl", ["--user", ...args]);
  return {
    title: "systemd user unit",
    unitPath: (name) => posix.join(folder, unitName(name)),
    unitText: systemdUnit,
    names: () => namesIn(host, folder, "roomhub-", ".service"),
    start: async ({ name }) => {
      await systemctl("daemon-reload");
      await systemctl("enable", unitName(name));
      await systemctl("restart", unitName(name));
    },
    stop: async (name) => {
      await systemctl("disable", "--now", unitName(name));
    },
    forget: async () => {
      await systemctl("daemon-reload");
    },
    state: async (name) => {
      const properties = ["ActiveState", "SubState", "MainPID", "ExecMainStatus"];
      const flags = properties.map((property) => `--property=${property}`);
      const { code, stdout } = await host.run("systemctl", [
        "--user",
        "show",
        unitName(name),
        ...flags,
      ]);
      return code === 0 ? stateOf(stdout) : { kind: "unknown" };
    },
    notes: (name) => [
      `Its log:  journalctl --user --unit ${unitName(name)} --follow`,
      "It starts when you log in. To start it with the machine: loginctl enable-linger",
    ],
  };
}

function unitName(name: string): string {
  return `roomhub-${name}.service`;
}

function systemdUnit({ name, commandLine, folder }: ServiceUnit): string {
  const [executable, ...args] = commandLine;
  return `# Written by \`roomhub service install\`. To remove it: roomhub service remove ${name}
[Unit]
Description=roomhub: ${name}
# A hub or a model server that is away for long is no reason to stop trying.
StartLimitIntervalSec=0

[Service]
Type=exec
ExecStart=${[quoted(executable), ...args.map(argument)].join(" ")}
WorkingDirectory=${folder.replaceAll("%", "%%")}
Restart=on-failure
RestartSec=5
# A wrong command line or configuration stays wrong.
RestartPreventExitStatus=${EXIT.usage}
TimeoutStopSec=90

[Install]
WantedBy=default.target
`;
}

/** Unlike in the path of the executable, `$` begins a variable. */
function argument(text: string): string {
  return quoted(text.replaceAll("$", "$$$$"));
}

/** systemd.syntax(7), "Quoting"; `%` begins a specifier. */
function quoted(text: string): string {
  const escaped = text
    .replaceAll("\\", "\\\\")
    .replaceAll('"', String.raw`\"`)
    .replaceAll("%", "%%");
  return `"${escaped}"`;
}

function stateOf(properties: string): ServiceState {
  const values = new Map(
    properties.split("\n").map((line) => {
      const equals = line.indexOf("=");
      return [line.slice(0, equals), line.slice(equals + 1)] as const;
    }),
  );
  const number = (name: string) => Number(values.get(name)) || undefined;
  switch (values.get("ActiveState")) {
    case "active":
      return { kind: "running", processId: number("MainPID") };
    case "activating":
      return { kind: "restarting" };
    case "failed":
      return { kind: "failed", exitCode: number("ExecMainStatus") };
    case "inactive":
    case "deactivating":
      return { kind: "stopped" };
    default:
      return { kind: "unknown" };
  }
}
