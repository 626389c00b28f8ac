import * as fc from "fast-check";
import { expect, test } from "vitest";
import { launchdManager } from "./launchd.ts";
import { emptyMachine } from "./machine.fixture.ts";
import { scheduledTaskManager, windowsArgument } from "./scheduled-task.ts";
import { systemdManager } from "./systemd.ts";

const awkward = String.raw`{"gpu":"50% of $HOME & <\"x\">"}`;

test("a systemd user unit is exactly this text", () => {
  const manager = systemdManager(emptyMachine(), undefined);
  const text = manager.unitText({
    name: "lab",
    commandLine: ["/opt/my node$/node", "/opt/roomhub.js", "join", "ABC234", "--specs", awkward],
    folder: "/home/ana/100%",
  });
  expect(manager.unitPath("lab")).toBe("/home/ana/.config/systemd/user/roomhub-lab.service");
  expect(text).toBe(
    [
      "# Written by `roomhub service install`. To remove it: roomhub service remove lab",
      "[Unit]",
      "Description=roomhub: lab",
      "# A hub or a model server that is away for long is no reason to stop trying.",
      "StartLimitIntervalSec=0",
      "",
      "[Service]",
      "Type=exec",
      String.raw`ExecStart="/opt/my node$/node" "/opt/roomhub.js" "join" "ABC234" "--specs" "{\"gpu\":\"50%% of $$HOME & <\\\"x\\\">\"}"`,
      "WorkingDirectory=/home/ana/100%%",
      "Restart=on-failure",
      "RestartSec=5",
      "# A wrong command line or configuration stays wrong.",
      "RestartPreventExitStatus=2",
      "TimeoutStopSec=90",
      "",
      "[Install]",
      "WantedBy=default.target",
      "",
    ].join("\n"),
  );
  expect(new TextDecoder().decode(manager.encode(text))).toBe(text);
});

test.each([
  ["/home/ana/.cfg", "/home/ana/.cfg/systemd/user/roomhub-lab.service"],
  ["relative", "/home/ana/.config/systemd/user/roomhub-lab.service"],
])("with the configuration in %s the unit is %s", (folder, path) => {
  expect(systemdManager(emptyMachine(), folder).unitPath("lab")).toBe(path);
});

test("a launchd agent is exactly this text", () => {
  const manager = launchdManager({ ...emptyMachine("darwin"), homeFolder: "/Users/a&b" });
  const text = manager.unitText({
    name: "lab",
    commandLine: ["/opt/node", "join", "ABC234", "--specs", awkward],
    folder: "/Users/a&b",
  });
  expect(manager.unitPath("lab")).toBe("/Users/a&b/Library/LaunchAgents/roomhub.lab.plist");
  expect(text).toBe(
    [
      '<?xml version="1.0" encoding="UTF-8"?>',
      '<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">',
      "<!-- Written by `roomhub service install`. To remove it: roomhub service remove lab -->",
      '<plist version="1.0">',
      "<dict>",
      "  <key>Label</key>",
      "  <string>roomhub.lab</string>",
      "  <key>ProgramArguments</key>",
      "  <array>",
      "    <string>/opt/node</string>",
      "    <string>join</string>",
      "    <string>ABC234</string>",
      "    <string>--specs</string>",
      String.raw`    <string>{&quot;gpu&quot;:&quot;50% of $HOME &amp; &lt;\&quot;x\&quot;&gt;&quot;}</string>`,
      "  </array>",
      "  <key>WorkingDirectory</key>",
      "  <string>/Users/a&amp;b</string>",
      "  <key>RunAtLoad</key>",
      "  <true/>",
      "  <key>KeepAlive</key>",
      "  <dict>",
      "    <key>SuccessfulExit</key>",
      "    <false/>",
      "  </dict>",
      "  <key>ThrottleInterval</key>",
      "  <integer>10</integer>",
      "  <key>ExitTimeOut</key>",
      "  <integer>90</integer>",
      "  <key>ProcessType</key>",
      "  <string>Interactive</string>",
      "  <key>StandardOutPath</key>",
      "  <string>/Users/a&amp;b/Library/Logs/roomhub.lab.log</string>",
      "  <key>StandardErrorPath</key>",
      "  <string>/Users/a&amp;b/Library/Logs/roomhub.lab.log</string>",
      "</dict>",
      "</plist>",
      "",
    ].join("\n"),
  );
});

test("a scheduled task is exactly this text, in UTF-16 with its mark", () => {
  const host = emptyMachine("win32");
  const manager = scheduledTaskManager(host, String.raw`C:\state`, String.raw`BOX\A&a`);
  const text = manager.unitText({
    name: "lab",
    commandLine: [String.raw`C:\Program Files\node.exe`, "join", "ABC234", "--nickname", 'A "B"'],
    folder: String.raw`C:\Users\Ana`,
  });
  expect(manager.unitPath("lab")).toBe(String.raw`C:\state\roomhub-lab.xml`);
  expect(text).toBe(
    [
      '<?xml version="1.0" encoding="UTF-16"?>',
      "<!-- Written by `roomhub service install`. To remove it: roomhub service remove lab -->",
      '<Task version="1.2" xmlns="http://schemas.microsoft.com/windows/2004/02/mit/task">',
      "  <RegistrationInfo>",
      "    <Description>roomhub: lab</Description>",
      String.raw`    <URI>\roomhub\lab</URI>`,
      "  </RegistrationInfo>",
      "  <Triggers>",
      "    <LogonTrigger>",
      "      <Enabled>true</Enabled>",
      String.raw`      <UserId>BOX\A&amp;a</UserId>`,
      "    </LogonTrigger>",
      "  </Triggers>",
      "  <Principals>",
      '    <Principal id="Author">',
      String.raw`      <UserId>BOX\A&amp;a</UserId>`,
      "      <LogonType>InteractiveToken</LogonType>",
      "      <RunLevel>LeastPrivilege</RunLevel>",
      "    </Principal>",
      "  </Principals>",
      "  <Settings>",
      "    <MultipleInstancesPolicy>IgnoreNew</MultipleInstancesPolicy>",
      "    <DisallowStartIfOnBatteries>false</DisallowStartIfOnBatteries>",
      "    <StopIfGoingOnBatteries>false</StopIfGoingOnBatteries>",
      "    <ExecutionTimeLimit>PT0S</ExecutionTimeLimit>",
      "    <RestartOnFailure>",
      "      <Interval>PT1M</Interval>",
      "      <Count>999</Count>",
      "    </RestartOnFailure>",
      "    <Enabled>true</Enabled>",
      "  </Settings>",
      '  <Actions Context="Author">',
      "    <Exec>",
      String.raw`      <Command>C:\Program Files\node.exe</Command>`,
      String.raw`      <Arguments>join ABC234 --nickname &quot;A \&quot;B\&quot;&quot;</Arguments>`,
      String.raw`      <WorkingDirectory>C:\Users\Ana</WorkingDirectory>`,
      "    </Exec>",
      "  </Actions>",
      "</Task>",
      "",
    ].join("\n"),
  );
  expect([...manager.encode(text).subarray(0, 4)]).toEqual([0xff, 0xfe, 0x3c, 0]);
});

test("a program on Windows gets every argument as it was", () => {
  fc.assert(
    fc.property(
      fc.array(fc.string({ unit: fc.constantFrom("a", " ", '"', "\\", "\t", "é") })),
      (args) => {
        expect(splitAsWindows(args.map(windowsArgument).join(" "))).toEqual(args);
      },
    ),
  );
});

/** https://learn.microsoft.com/cpp/c-language/parsing-c-command-line-arguments */
function splitAsWindows(line: string): string[] {
  const args: string[] = [];
  let current: string | undefined;
  let isQuoted = false;
  for (let index = 0; index < line.length; index++) {
    const slashes = /^\\*/.exec(line.slice(index))?.[0].length ?? 0;
    const isBeforeQuote = line[index + slashes] === '"';
    if (slashes > 0) {
      current = (current ?? "") + "\\".repeat(isBeforeQuote ? Math.floor(slashes / 2) : slashes);
      index += slashes - 1;
      if (isBeforeQuote && slashes % 2 === 1) {
        current += '"';
        index++;
      }
    } else if (isBeforeQuote) {
      isQuoted = !isQuoted;
      current ??= "";
    } else if (!isQuoted && /[ \t]/.test(line[index] ?? "")) {
      if (current !== undefined) args.push(current);
      current = undefined;
    } else {
      current = (current ?? "") + (line[index] ?? "");
    }
  }
  return current === undefined ? args : [...args, current];
}
