import { expect, test } from "vitest";
import { launchdManager } from "./launchd.ts";
import { emptyMachine } from "./machine.fixture.ts";
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
