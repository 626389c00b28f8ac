import { expect, test } from "vitest";
import { type RoomhubProcess, startRoomhub } from "../support/programs/roomhub-process.ts";
import { until } from "../support/waiting.ts";
import { describeReal } from "./binary.ts";
import { type Lab, startLab } from "./lab.ts";
import { startLlamaServer } from "./llama-server.ts";

interface Report {
  ok: boolean;
  checks: { name: string; verdict: string; found: string; details: string[] }[];
}

describeReal("doctor beside a real server", () => {
  test("finds nothing wrong where nothing is", async () => {
    await using llama = await startLlamaServer({ alias: "tiny" });
    await using lab = await startLab();
    await using _ada = await lab.bring("tunnel", llama.url);
    await using doctor = examine(lab, ["--endpoint", llama.url]);

    const report = await reportOf(doctor);
    expect(failedOf(report)).toEqual([]);
    expect(report.ok).toBe(true);
  });

  test("does not report a server that works without output as a network problem", async () => {
    await using llama = await startLlamaServer({ alias: "tiny", slots: 1 });
    await using lab = await startLab();
    await using _ada = await lab.bring("tunnel", llama.url);
    llama.signal("SIGSTOP");
    await using doctor = examine(lab);

    const report = await reportOf(doctor);
    expect(failedOf(report)).toEqual([]);
    expect(report.checks.find(({ name }) => name === "request")).toMatchObject({
      verdict: "skipped",
      found: expect.stringMatching(/^ada accepted the request .* has sent no token yet$/),
    });
  });

  test("reports a server that loads its model", async () => {
    await using llama = await startLlamaServer({ alias: "tiny", isHeld: true });
    await using lab = await startLab();
    await using _ada = await lab.bring("tunnel", llama.url);
    await using doctor = examine(lab);

    const report = await reportOf(doctor);
    const { checks } = report;
    expect(failedOf(report)).toEqual([]);
    expect(checks.find(({ name }) => name === "participants")?.details.join()).toContain(
      "loading its model",
    );
    expect(checks.find(({ name }) => name === "request")).toMatchObject({
      verdict: "skipped",
      found: expect.stringContaining("loading"),
    });
  });

  test("reports a server that requires a key", async () => {
    await using llama = await startLlamaServer({ alias: "tiny", apiKey: "sk-123456789" });
    await using lab = await startLab();
    await using _ada = await lab.register(llama.url);
    await using doctor = examine(lab);

    const { ok, checks } = await reportOf(doctor);
    expect(ok).toBe(false);
    expect(JSON.stringify(checks)).toContain("requires credentials");
    expect(JSON.stringify(checks)).toContain("--header-env");
  });
});

function examine(lab: Lab, args: readonly string[] = []): RoomhubProcess {
  return startRoomhub(["doctor", `${lab.url}/rooms/${lab.code}`, ...args]);
}

async function reportOf(doctor: RoomhubProcess): Promise<Report> {
  const find = () => /^\{.*\}$/m.exec(doctor.output)?.[0];
  // The request alone has a minute.
  const text = await until("the report", find, (found) => found !== undefined, 100_000);
  return JSON.parse(text ?? "") as Report;
}

function failedOf({ checks }: Report): Report["checks"] {
  return checks.filter(({ verdict }) => verdict === "failed");
}
