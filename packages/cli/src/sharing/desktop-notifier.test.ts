import { passing } from "../test-context.fixture.ts";
import { expect, test } from "vitest";
import type { ParticipantNotice } from "@roomhub/participant";
import { notifierOf, notifyOfUse } from "./desktop-notifier.ts";

const request = { path: "/chat/completions", model: "llama3.2:3b" };
const alice = { kind: "name", id: "alice" } as const;
const started: ParticipantNotice = { kind: "request-started", ...request, client: alice };
const ended: ParticipantNotice = {
  ...{ kind: "request-ended", ...request, client: alice, status: 200, durationMs: 5 },
  ...{ outcome: "complete", code: undefined, reason: undefined },
};

function aDesktop(isThere = true) {
  let nowMs = 0;
  const shown: string[] = [];
  const lines: string[] = [];
  const notifyDesktop = async (text: string) => {
    shown.push(text);
    return isThere;
  };
  const tell = notifyOfUse({ notifyDesktop, world: passing({ nowMs: () => nowMs }) }, (line) =>
    lines.push(line),
  );
  return { shown, lines, tell, pass: (ms: number) => (nowMs += ms) };
}

test("a request that starts after a minute without any is shown, others are not", () => {
  const { shown, tell, pass } = aDesktop();
  tell({ kind: "connected" });
  tell(started);
  pass(59_999);
  tell({ ...started, client: undefined });
  pass(120_000);
  tell(ended);
  pass(59_999);
  tell(started);
  expect(shown).toEqual(["alice uses llama3.2:3b"]);
  pass(60_000);
  tell({ kind: "request-started", ...request, client: undefined });
  expect(shown).toEqual(["alice uses llama3.2:3b", "Someone uses llama3.2:3b"]);
});

test("a machine without a notification program gets one warning", async () => {
  const { shown, lines, tell, pass } = aDesktop(false);
  for (let count = 0; count < 3; count++) {
    tell(started);
    await Promise.resolve();
    pass(60_000);
  }
  expect([shown.length, lines]).toEqual([
    1,
    ["! this machine has no program that shows notifications"],
  ]);
});

test.each(["linux", "darwin", "win32"] as const)(
  "on %s no name can become an option, markup or a command",
  (platform) => {
    const text = `-e "$(touch /x)" <b>&'; \u201d`;
    const { args, env = {} } = notifierOf(platform, text);
    const escaped = `-e "$(touch /x)" &lt;b&gt;&amp;'; \u201d`;
    const [shown] = platform === "linux" ? [escaped] : [text];
    if (platform === "win32") {
      expect(env["ROOMHUB_TOAST_TEXT"]).toBe(text);
      expect(args.join(" ")).not.toContain("touch");
    } else {
      expect(args.indexOf(shown)).toBeGreaterThan(args.indexOf("--"));
      expect(args.filter((arg) => arg.includes("touch"))).toHaveLength(1);
    }
  },
);
