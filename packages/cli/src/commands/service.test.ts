import { expect, test } from "vitest";
import type { CliContext } from "../context.ts";
import { emptyMachine, type TestMachine } from "../service/machine.fixture.ts";
import type { Ran } from "../service/service-unit.ts";
import { makeWorld, type TestWorld } from "../test-context.fixture.ts";

const unitFile = "/home/ana/.config/systemd/user/roomhub-join.service";
const secretsFile = "/state/services/join.env";
const roomKey = `rhk_${"k".repeat(43)}`;
const program = ["/usr/bin/node", "/usr/lib/node_modules/roomhub/bin/roomhub.js"];

function worldOn(machine: TestMachine, context: Partial<CliContext> = {}): TestWorld {
  return makeWorld({ serviceHost: async () => machine, ...context });
}

/** The command line of the unit, apart from what every service has. */
function commandLine(text: string): string[] {
  const line = /^ExecStart=(.*)$/m.exec(text)?.[1] ?? "";
  const words = [...line.matchAll(/"((?:[^"\\]|\\.)*)"/g)].map(([, word = ""]) => word);
  expect(words.slice(0, 2)).toEqual(program);
  return words.slice(3);
}

async function install(args: string[], context: Partial<CliContext> = {}) {
  const machine = emptyMachine();
  const world = worldOn(machine, context);
  const code = await world.run("service", "install", ...args);
  const texts = [...machine.files].map(([path, { text }]) => [path, text] as const);
  const unit = texts.find(([path]) => path.endsWith(".service"))?.[1] ?? "";
  const secrets = texts.find(([path]) => path.endsWith(".env"))?.[1] ?? "";
  return { code, world, machine, unit, secrets };
}

test("install writes the unit and a private file, starts the service, and prints where they are", async () => {
  const { code, world, machine } = await install(["join", "ABC234", "--model", "llama3"]);
  expect(code).toBe(0);
  const files = [...machine.files].map(([path, { isPrivate }]) => [path, isPrivate]);
  expect(files).toEqual([
    [secretsFile, true],
    [unitFile, false],
  ]);
  expect(machine.ran).toEqual([
    "systemctl --user daemon-reload",
    "systemctl --user enable roomhub-join.service",
    "systemctl --user restart roomhub-join.service",
  ]);
  expect(world.stderr.text).toBe(
    [
      "Service join is installed and started, as a systemd user unit",
      `Unit:     ${unitFile}`,
      `Secrets:  ${secretsFile} (0 variables)`,
      "Its log:  journalctl --user --unit roomhub-join.service --follow",
      "It starts when you log in. To start it with the machine: loginctl enable-linger",
      "Its state:  roomhub service status join",
      "",
    ].join("\n"),
  );
});

test.each<[string, string[], string[]]>([
  [
    "serve, with its flags",
    ["serve", "--lan", "--port=6060"],
    ["serve", "--lan", "--port", "6060"],
  ],
  [
    "join, with flags before and after the room",
    ["join", "--own-first", "ABC234", "--model", "--odd", "-q"],
    ["join", "ABC234", "--own-first", "--model", "--odd", "--quiet"],
  ],
  [
    "relative paths become absolute",
    ["serve", "--state-file", "rooms.json"],
    ["serve", "--state-file", "/home/ana/lab/rooms.json"],
  ],
  [
    "a password's file too",
    ["join", "ABC234", "--password-file=../pw"],
    ["join", "ABC234", "--password-file", "/home/ana/pw"],
  ],
  [
    "a default config is JSON, and no path",
    ["join", "ABC234", "--config", '{"a":1}'],
    ["join", "ABC234", "--config", String.raw`{\"a\":1}`],
  ],
  [
    "the service's own options are left out",
    ["serve", "--name", "lab", "--lan", "--verbose"],
    ["serve", "--lan"],
  ],
])("a service runs %s", async (_name, args, expected) => {
  const { code, unit } = await install(args);
  expect(code).toBe(0);
  expect(commandLine(unit)).toEqual(expected);
});

test("no secret is in the unit or in the output: all are in the private file", async () => {
  const { code, unit, secrets, world } = await install(
    [
      ...["join", "ABC234", "--password", "tuna-1", "--header", "Authorization: Bearer tuna-2"],
      ...["--header=x-a: tuna-3", "--auth-header", "x-b:tuna-4", "--header-env", "x-c=MINE"],
    ],
    { env: { MINE: "tuna-5", ROOMHUB_URL: "http://hub:1", HTTPS_PROXY: "http://u:tuna-6@p:1" } },
  );
  expect(code).toBe(0);
  expect(commandLine(unit)).toEqual([
    ...["join", "ABC234", "--header-env", "Authorization=SERVICE_HEADER_1"],
    ...["--header-env", "x-a=SERVICE_HEADER_2", "--auth-header-env", "x-b=SERVICE_AUTH_HEADER_1"],
    ...["--header-env", "x-c=MINE"],
  ]);
  expect(unit).toContain(`"--secrets-file=${secretsFile}"`);
  expect(secrets.split("\n").slice(1)).toEqual([
    "ROOMHUB_URL='http://hub:1'",
    "HTTPS_PROXY='http://u:tuna-6@p:1'",
    "ROOMHUB_PASSWORD='tuna-1'",
    "SERVICE_HEADER_1='Bearer tuna-2'",
    "SERVICE_HEADER_2='tuna-3'",
    "SERVICE_AUTH_HEADER_1='tuna-4'",
    "MINE='tuna-5'",
    "",
  ]);
  expect(unit + world.stdout.text + world.stderr.text).not.toContain("tuna");
});

test("a hub's setting with a password in it becomes its variable; paths in variables become absolute", async () => {
  const nats = "nats://a:4222,nats://hub:tuna@b:4222";
  const { unit, secrets } = await install(["serve", "--lan", "--nats", nats], {
    env: { ROOMHUB_CLUSTER_SECRET_FILE: "secret.txt" },
  });
  expect(commandLine(unit)).toEqual(["serve", "--lan"]);
  expect(unit).not.toContain("tuna");
  expect(secrets.split("\n").slice(1, -1)).toEqual([
    "ROOMHUB_CLUSTER_SECRET_FILE='/home/ana/lab/secret.txt'",
    `ROOMHUB_NATS='${nats}'`,
  ]);
});

test("a password from stdin is kept, since a service has no stdin", async () => {
  const readStdin = async () => "tuna\nmore";
  const { unit, secrets } = await install(["join", "ABC234", "--password-file", "-"], {
    readStdin,
  });
  expect(commandLine(unit)).toEqual(["join", "ABC234"]);
  expect(secrets).toContain("ROOMHUB_PASSWORD='tuna'\n");
});

test.each([
  ["in its link", [`http://h:5050/rooms/ABC234#key=${roomKey}`], "http://h:5050/rooms/ABC234"],
  ["at stdin", ["ABC234", "--key-file", "-"], "ABC234"],
])("the key of a closed room %s is kept in the private file only", async (_where, args, room) => {
  const readStdin = async () => `${roomKey}\n`;
  const { code, unit, secrets } = await install(["join", ...args], { readStdin });
  expect(code).toBe(0);
  expect(commandLine(unit)).toEqual(["join", room]);
  expect(unit).not.toContain("rhk_");
  expect(secrets.split("\n").slice(1, -1)).toEqual([`ROOMHUB_KEY='${roomKey}'`]);
});

test("the key of a closed room in a file stays there", async () => {
  const args = ["join", "ABC234", "--key-file", "key.txt"];
  const { unit, secrets } = await install(args, { readFile: async () => roomKey });
  expect(commandLine(unit)).toEqual(["join", "ABC234", "--key-file", "/home/ana/lab/key.txt"]);
  expect(secrets).not.toContain("rhk_");
});

test("the config file of the folder is named, since a service starts in another", async () => {
  const readFile = async (path: string) => {
    if (path === "roomhub.config.json") return '{ "lan": true }';
    throw Object.assign(new Error("no such file"), { code: "ENOENT" });
  };
  const { unit } = await install(["serve"], { readFile });
  expect(commandLine(unit)).toEqual(["serve", "--config", "/home/ana/lab/roomhub.config.json"]);
  expect(unit).toContain("\nWorkingDirectory=/home/ana/lab\n");
});

test.each<[string, string[], string]>([
  ["an unknown option", ["serve", "--prot", "1"], "unknown option '--prot'"],
  ["a bad limit", ["serve", "--limit", "rooms=many"], "rooms"],
  ["no room", ["join"], "missing required argument 'room'"],
  ["a room that is none", ["join", "../x"], "is not a room URL"],
  ["a variable that is not set", ["join", "ABC234", "--password-env", "NO"], "NO is not set"],
  ["conflicting options", ["join", "ABC234", "--all-models", "--model", "m"], "cannot be combined"],
  ["a URL with a password", ["join", "ABC234", "--endpoint", "http://u:tuna@x"], "cannot be kept"],
  ["a second line", ["join", "ABC234", "--nickname", "a\nb"], "control characters"],
  ["a name that is none", ["serve", "--name", "My Hub"], "lower case letters"],
])("%s is an error before anything is written", async (_name, args, message) => {
  const { code, machine, world } = await install(args);
  expect(code).toBe(2);
  expect(world.stderr.text).toContain(message);
  expect(world.stderr.text).not.toContain("tuna");
  expect([machine.files.size, machine.ran]).toEqual([0, []]);
});

test("--print prints the unit, and writes and starts nothing", async () => {
  const { code, machine, world } = await install(["serve", "--lan", "--print"]);
  expect(code).toBe(0);
  expect(commandLine(world.stdout.text)).toEqual(["serve", "--lan"]);
  expect([machine.files.size, machine.ran]).toEqual([0, []]);
});

test("a machine without systemd is an error with what can be done", async () => {
  const machine = emptyMachine("linux", () => ({ code: undefined }));
  const world = worldOn(machine);
  expect(await world.run("service", "install", "serve")).toBe(1);
  expect(world.stderr.text).toBe(
    "error: systemctl is not on this machine, so services cannot be installed here\n→ to see the unit and install it yourself, add --print to the service install line\n",
  );
});

test("a failure of systemd is shown with its first line, and leaves no files", async () => {
  const reply = (line: string): Partial<Ran> =>
    line.includes("enable") ? { code: 1, stderr: "Failed to connect to bus\nmore\n" } : {};
  const machine = emptyMachine("linux", reply);
  const world = worldOn(machine);
  expect(await world.run("service", "install", "serve")).toBe(1);
  expect(world.stderr.text).toBe(
    "error: systemctl --user enable roomhub-serve.service failed with exit code 1: Failed to connect to bus\n→ systemd has no session of this user: log in without sudo or su, or run loginctl enable-linger\n",
  );
  expect(machine.files.size).toBe(0);
});

test("remove stops the service and leaves none of its files", async () => {
  const { machine } = await install(["join", "ABC234"]);
  machine.ran.length = 0;
  const world = worldOn(machine);
  expect(await world.run("service", "remove", "join")).toBe(0);
  expect(machine.files.size).toBe(0);
  expect(machine.ran).toEqual([
    "systemctl --user disable --now roomhub-join.service",
    "systemctl --user daemon-reload",
  ]);
  expect(await world.run("service", "remove", "join")).toBe(3);
  expect(world.stderr.text).toContain(
    "error: There is no service join\n→ list them: roomhub service status\n",
  );
});

const systemdStates = {
  a: "ActiveState=active\nSubState=running\nMainPID=42\nExecMainStatus=0\n",
  b: "ActiveState=activating\nSubState=auto-restart\nMainPID=0\nExecMainStatus=5\n",
  c: "ActiveState=failed\nSubState=failed\nMainPID=0\nExecMainStatus=2\n",
  d: "ActiveState=inactive\nSubState=dead\nMainPID=0\nExecMainStatus=0\n",
};

test("status lists the services with their states, and no other unit", async () => {
  const machine = emptyMachine("linux", (line) => {
    const name = /show roomhub-(\w)\./.exec(line)?.[1] as keyof typeof systemdStates;
    return { stdout: systemdStates[name] };
  });
  const folder = "/home/ana/.config/systemd/user";
  for (const file of ["roomhub-d", "roomhub-a", "roomhub-c", "roomhub-b", "other", "roomhub-A B"]) {
    machine.files.set(`${folder}/${file}.service`, { text: "", isPrivate: false });
  }
  const world = worldOn(machine);
  expect(await world.run("service", "status")).toBe(0);
  expect(world.stdout.text).toBe(
    [
      "SERVICE  STATE                 UNIT",
      `a        running (process 42)  ${folder}/roomhub-a.service`,
      `b        restarting            ${folder}/roomhub-b.service`,
      `c        failed (exit code 2)  ${folder}/roomhub-c.service`,
      `d        stopped               ${folder}/roomhub-d.service`,
      "",
    ].join("\n"),
  );
  expect(await world.run("service", "status", "a", "--json")).toBe(0);
  expect(JSON.parse(world.stdout.text.split("\n").at(-2) ?? "")).toEqual({
    services: [
      {
        name: "a",
        state: { kind: "running", processId: 42 },
        unitPath: `${folder}/roomhub-a.service`,
      },
    ],
  });
  expect(await world.run("service", "status", "c")).toBe(1);
  expect(world.stderr.text).toBe(
    "error: Service c is failed (exit code 2)\n→ see why: journalctl --user --unit roomhub-c.service --follow\n",
  );
});

test("without services status says how to install one", async () => {
  const world = worldOn(emptyMachine());
  expect(await world.run("service", "status")).toBe(0);
  expect(world.stderr.text).toBe(
    "No services.\n→ keep a hub running: roomhub service install serve\n",
  );
});

test("on macOS the agent is loaded again, and its state is that of launchctl", async () => {
  const label = "gui/501/roomhub.serve";
  const printed = `${label} = {\n\tactive count = 1\n\tstate = running\n\tpid = 42\n\tspawn type = interactive (4)\n}\n`;
  let isLoaded = false;
  let looksUntilUnloaded: number | undefined;
  const machine = emptyMachine("darwin", (line) => {
    if (line.includes("bootstrap")) isLoaded = true;
    // It finishes its requests first.
    if (line.includes("bootout")) looksUntilUnloaded = 2;
    if (!line.includes("print")) return {};
    if (looksUntilUnloaded !== undefined && looksUntilUnloaded-- === 0) isLoaded = false;
    return isLoaded ? { stdout: printed } : { code: 113 };
  });
  const world = worldOn(machine);
  const unitPath = "/home/ana/Library/LaunchAgents/roomhub.serve.plist";
  expect(await world.run("service", "install", "serve")).toBe(0);
  expect(machine.ran).toEqual([
    `launchctl print ${label}`,
    `launchctl enable ${label}`,
    `launchctl bootstrap gui/501 ${unitPath}`,
  ]);
  expect(await world.run("service", "status", "serve")).toBe(0);
  expect(world.stdout.text).toContain(`serve    running (process 42)  ${unitPath}\n`);
  machine.ran.length = 0;
  expect(await world.run("service", "install", "serve")).toBe(0);
  expect(machine.ran).toEqual([
    `launchctl print ${label}`,
    `launchctl bootout ${label}`,
    ...Array.from({ length: 3 }, () => `launchctl print ${label}`),
    `launchctl enable ${label}`,
    `launchctl bootstrap gui/501 ${unitPath}`,
  ]);
  expect(await world.run("service", "remove", "serve")).toBe(0);
  expect(machine.files.size).toBe(0);
});

test("on Windows the lines for the task scheduler are printed, and nothing is written", async () => {
  const machine = emptyMachine("win32");
  const world = worldOn(machine);
  for (const args of [["install", "serve"], ["remove", "serve"], ["status"]]) {
    expect(await world.run("service", ...args)).toBe(1);
  }
  const line = String.raw`schtasks /Create /TN roomhub\serve /SC ONLOGON /TR "roomhub serve"`;
  expect(world.stderr.text.split(line)).toHaveLength(4);
  expect([machine.files.size, machine.ran]).toEqual([0, []]);
});

test("another system is an error", async () => {
  const world = worldOn(emptyMachine("freebsd"));
  expect(await world.run("service", "status")).toBe(1);
  expect(world.stderr.text).toContain("Services are for Linux and macOS, not for freebsd");
});

test("a program in the cache of npx is reported", async () => {
  const machine = {
    ...emptyMachine(),
    program: ["/bin/node", "/home/ana/.npm/_npx/1/roomhub.js"] as const,
  };
  const world = worldOn(machine);
  await world.run("service", "install", "serve");
  expect(world.stderr.text).toContain("! It runs from the cache of npx");
});

test("a command reads its variables from a file before anything else", async () => {
  const paths: string[] = [];
  const env: Record<string, string> = {};
  const addVariablesFrom = async (path: string) => {
    paths.push(path);
    env["ROOMHUB_URL"] = "http://other:1";
  };
  const world = makeWorld({ env, addVariablesFrom }, { listRooms: async () => [] });
  expect(await world.run("--secrets-file=/s/lab.env", "room", "list")).toBe(0);
  expect(paths).toEqual(["/s/lab.env"]);
  expect(world.clientUrls).toEqual(["http://other:1"]);
});
