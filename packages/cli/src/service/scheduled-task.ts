import { win32 } from "node:path";
import { runOrThrow } from "./run-or-throw.ts";
import {
  namesIn,
  type ServiceHost,
  type ServiceManager,
  type ServiceState,
  type ServiceUnit,
} from "./service-unit.ts";
import { xmlText } from "./xml-text.ts";

/**
 * A task that starts when its user logs in, in that user's session: what Windows lets a user install without an
 * administrator. https://learn.microsoft.com/windows/win32/taskschd/task-scheduler-schema
 *
 * @param folder - where the tasks' definitions are kept
 * @param userName - `DOMAIN\user`
 */
export function scheduledTaskManager(
  host: ServiceHost,
  folder: string,
  userName: string,
): ServiceManager {
  const unitPath = (name: string) => win32.join(folder, `roomhub-${name}.xml`);
  const isThere = async (name: string) => {
    const { code } = await host.run("schtasks", ["/Query", "/TN", taskName(name)]);
    return code === 0;
  };
  return {
    title: "scheduled task",
    unitPath,
    unitText: (unit) => taskDefinition(unit, userName),
    // schtasks reads the encoding that its own exports have.
    encode: (text) => Buffer.from(`\uFEFF${text}`, "utf16le"),
    names: () => namesIn(host, folder, "roomhub-", ".xml"),
    start: async ({ name }) => {
      if (await isThere(name)) await host.run("schtasks", ["/End", "/TN", taskName(name)]);
      const create = ["/Create", "/TN", taskName(name), "/XML", unitPath(name), "/F"];
      await runOrThrow(host, "schtasks", create);
      await runOrThrow(host, "schtasks", ["/Run", "/TN", taskName(name)]);
    },
    stop: async (name) => {
      if (!(await isThere(name))) return;
      await host.run("schtasks", ["/End", "/TN", taskName(name)]);
      await runOrThrow(host, "schtasks", ["/Delete", "/TN", taskName(name), "/F"]);
    },
    forget: async () => {},
    state: async (name) => {
      const script = `$task = Get-ScheduledTask -TaskPath '\\roomhub\\' -TaskName '${name}' -ErrorAction Stop; $info = $task | Get-ScheduledTaskInfo; "$([int]$task.State) $($info.LastTaskResult)"`;
      // The columns of \`schtasks /Query\` are in the language of the machine.
      const { code, stdout } = await host.run("powershell", ["-NoProfile", "-Command", script]);
      return code === 0 ? stateOf(stdout) : { kind: "unknown" };
    },
    notes: () => ["It starts when you log in, in a window that shows its log."],
  };
}

function taskName(name: string): string {
  return `\\roomhub\\${name}`;
}

function taskDefinition({ name, commandLine, folder }: ServiceUnit, userName: string): string {
  const [executable, ...args] = commandLine;
  const user = xmlText(userName);
  return `<?xml version="1.0" encoding="UTF-16"?>
<!-- Written by \`roomhub service install\`. To remove it: roomhub service remove ${name} -->
<Task version="1.2" xmlns="http://schemas.microsoft.com/windows/2004/02/mit/task">
  <RegistrationInfo>
    <Description>roomhub: ${name}</Description>
    <URI>${taskName(name)}</URI>
  </RegistrationInfo>
  <Triggers>
    <LogonTrigger>
      <Enabled>true</Enabled>
      <UserId>${user}</UserId>
    </LogonTrigger>
  </Triggers>
  <Principals>
    <Principal id="Author">
      <UserId>${user}</UserId>
      <LogonType>InteractiveToken</LogonType>
      <RunLevel>LeastPrivilege</RunLevel>
    </Principal>
  </Principals>
  <Settings>
    <MultipleInstancesPolicy>IgnoreNew</MultipleInstancesPolicy>
    <DisallowStartIfOnBatteries>false</DisallowStartIfOnBatteries>
    <StopIfGoingOnBatteries>false</StopIfGoingOnBatteries>
    <ExecutionTimeLimit>PT0S</ExecutionTimeLimit>
    <RestartOnFailure>
      <Interval>PT1M</Interval>
      <Count>999</Count>
    </RestartOnFailure>
    <Enabled>true</Enabled>
  </Settings>
  <Actions Context="Author">
    <Exec>
      <Command>${xmlText(executable)}</Command>
      <Arguments>${xmlText(args.map(windowsArgument).join(" "))}</Arguments>
      <WorkingDirectory>${xmlText(folder)}</WorkingDirectory>
    </Exec>
  </Actions>
</Task>
`;
}

/**
 * One argument as C programs on Windows split their command line: backslashes count only before a quotation mark.
 * https://learn.microsoft.com/cpp/c-language/parsing-c-command-line-arguments
 */
export function windowsArgument(text: string): string {
  if (/^[^\s"]+$/.test(text)) return text;
  return `"${text.replaceAll(/(\\*)"/g, String.raw`$1$1\"`).replace(/\\+$/, "$&$&")}"`;
}

/** The state's number and the last exit code. https://learn.microsoft.com/windows/win32/api/taskschd/ne-taskschd-task_state */
function stateOf(printed: string): ServiceState {
  const [state, lastResult] = printed.trim().split(" ").map(Number);
  if (state === 4) return { kind: "running", processId: undefined };
  if (state === 2) return { kind: "restarting" };
  if (state !== 3 && state !== 1) return { kind: "unknown" };
  // 0x41300 to 0x4130F are states of the scheduler, such as "has not run yet".
  const isExitCode = lastResult !== undefined && lastResult > 0 && lastResult >> 4 !== 0x41_30;
  return isExitCode ? { kind: "failed", exitCode: lastResult } : { kind: "stopped" };
}
