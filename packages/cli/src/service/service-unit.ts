import { CommandError } from "../exit-code.ts";
import { safe } from "../terminal/text.ts";

/** What a service runs, and how it is named. */
export interface ServiceUnit {
  /** Lower case letters, digits and hyphens; unique among this user's services. */
  name: string;
  /** The executable with its full path, then its arguments. None of them is a secret. */
  commandLine: readonly [string, ...string[]];
  /** Where it runs. */
  folder: string;
}

/** What the machine reports about a service. */
export type ServiceState =
  | { kind: "running"; processId: number | undefined }
  /** It ended, and will be started again. */
  | { kind: "restarting" }
  | { kind: "stopped" }
  | { kind: "failed"; exitCode: number | undefined }
  | { kind: "unknown" };

/** What keeps programs running on one kind of machine, without an administrator's rights. */
export interface ServiceManager {
  /** completes "a …" */
  title: string;
  unitPath: (name: string) => string;
  unitText: (unit: ServiceUnit) => string;
  /** The services of this user whose units are here, in order of their names. */
  names: () => Promise<string[]>;
  /** After its unit was written. A service of that name that runs is replaced. */
  start: (unit: ServiceUnit) => Promise<void>;
  /** Called before its unit is removed. Does nothing if the service is not running. */
  stop: (name: string) => Promise<void>;
  /** After its unit was removed. */
  forget: (name: string) => Promise<void>;
  state: (name: string) => Promise<ServiceState>;
  /** One line each, for the person who installed it. */
  notes: (name: string) => string[];
}

/** The outcome of another program. */
export interface Ran {
  /** undefined when it is not installed */
  code: number | undefined;
  stdout: string;
  stderr: string;
}

/** What services need of this machine. */
export interface ServiceHost {
  platform: string;
  homeFolder: string;
  currentFolder: string;
  /** For launchd's domain. */
  userId: number;
  /** How this program is started: the executable, or Node and the launcher. */
  program: readonly [string, ...string[]];
  /** Replaces the file at once; creates its folder, which only this user can read when the file is private. */
  writeFile: (path: string, text: string, isPrivate: boolean) => Promise<void>;
  /** A missing file is no error. */
  removeFile: (path: string) => Promise<void>;
  /** The names in a folder; none when it is missing. */
  listFolder: (path: string) => Promise<string[]>;
  run: (command: string, args: readonly string[]) => Promise<Ran>;
  wait: (ms: number) => Promise<void>;
}

const nameForm = /^[a-z0-9](?:[a-z0-9-]{0,38}[a-z0-9])?$/;

/** The names are parts of paths, labels and shell lines, so their form is narrow. */
export function isServiceName(text: string): boolean {
  return nameForm.test(text);
}

/** The services in a folder, whose files are `<prefix><name><suffix>`. */
export async function namesIn(
  host: ServiceHost,
  folder: string,
  prefix: string,
  suffix: string,
): Promise<string[]> {
  const files = await host.listFolder(folder);
  return files
    .filter((file) => file.startsWith(prefix) && file.endsWith(suffix))
    .map((file) => file.slice(prefix.length, file.length - suffix.length))
    .filter(isServiceName)
    .toSorted((a, b) => a.localeCompare(b));
}

/** @returns what the program printed. @throws CommandError with its first line when it fails or is not installed */
export async function runOrThrow(
  host: ServiceHost,
  command: string,
  args: readonly string[],
): Promise<string> {
  const { code, stdout, stderr } = await host.run(command, args);
  if (code === 0) return stdout;
  const line = [command, ...args].join(" ");
  if (code === undefined) {
    throw new CommandError(
      `${command} is not on this machine, so services cannot be installed here`,
      "to see the unit and install it yourself, add --print to the service install line",
    );
  }
  const [reason = ""] = `${stderr}${stdout}`.trim().split("\n");
  const hint = /connect to (?:user scope )?bus/i.test(reason)
    ? "systemd has no session of this user: log in without sudo or su, or run loginctl enable-linger"
    : undefined;
  throw new CommandError(`${line} failed with exit code ${code}: ${safe(reason)}`, hint);
}
