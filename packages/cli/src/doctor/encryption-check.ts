import { certificateProblem, durationInWords, isLoopbackHost, withTls } from "@roomhub/protocol";
import { EXIT } from "../exit-code.ts";
import { safe } from "../terminal/text.ts";
import { type Check, type Examination, failed, type Finding, ok, skipped } from "./check.ts";
import type { TlsFacts } from "./machine.ts";

/** ACME clients renew when a third of the lifetime is left, so a renewal has failed by then. */
const renewedPart = 1 / 6;
const dayMs = 86_400_000;

/** Whether the connection to the hub is encrypted, and to that hub: pin, chain, expiry, the clock that judges it. */
export const encryptionCheck: Check = {
  name: "encryption",
  waitsFor: "a TLS handshake with the hub",
  timeoutMs: 5_000,
  async run(exam, signal) {
    const { context, hubUrl, machine } = exam;
    if (!exam.isPortOpen) return skipped("needs the port");
    const url = new URL(hubUrl);
    const pin = await context.pins.of(hubUrl);
    const isPlain = pin === undefined && url.protocol === "http:";
    if (isPlain && isLoopbackHost(url.hostname))
      return ok("not needed: the hub is on this machine");
    if ((context.env["NODE_USE_ENV_PROXY"] ?? "") !== "" && (await machine.proxyFor(url)))
      return skipped("connections go through a proxy");
    const facts = await machine.tls(url, signal);
    if (isPlain) return plain(exam, facts);
    const finding = pin === undefined ? byAuthority(exam, facts) : byPin(facts, pin);
    if (finding.verdict === "failed" && finding.exitCode === EXIT.unreachable)
      exam.isPortOpen = false;
    return finding;
  },
};

/** @param facts - undefined when there is no TLS at this port */
function plain({ context, hubUrl }: Examination, facts: TlsFacts | undefined): Finding {
  const found = "plain HTTP: prompts, responses and keys can be read on the network";
  if (facts === undefined) {
    const program = context.commandName;
    return skipped(
      found,
      `the host can encrypt it: ${program} up --lan, or ${program} serve --tls`,
    );
  }
  const fix =
    facts.problem === undefined
      ? `use ${withTls(hubUrl)}`
      : "use the invite with #pin=sha256-… that the host's terminal shows";
  return skipped(`${found}, although the hub has TLS`, fix);
}

function byPin(facts: TlsFacts | undefined, pin: string): Finding {
  if (facts === undefined) return rejected("ERR_PINNED_WITHOUT_TLS", "");
  if (facts.pin === pin) return ok(`${facts.protocol} with the pinned key`);
  const reason = `expected ${pin}, found ${facts.pin}`;
  // A hub signs its certificate itself.
  if (facts.isSelfSigned) return rejected("ERR_PINNED_KEY_MISMATCH", reason);
  return rejected("ERR_PINNED_KEY_MISMATCH", reason, [
    `the certificate is of ${safe(facts.issuer)}, not the hub's own: a proxy on the way may open TLS; ask for an exception, or reach the hub without it (NO_PROXY)`,
  ]);
}

function byAuthority({ context, hubUrl }: Examination, facts: TlsFacts | undefined): Finding {
  if (facts === undefined) {
    return failed(
      "the server uses plain HTTP, not TLS",
      `use ${hubUrl.replace(/^https:/, "http:")}`,
      {
        exitCode: EXIT.unreachable,
      },
    );
  }
  const { protocol, issuer, validFrom, validTo, problem } = facts;
  const nowMs = context.world.wallMs();
  const day = (ms: number) => new Date(ms).toISOString().slice(0, 10);
  const details = [`the certificate is of ${safe(issuer)}, valid until ${day(validTo.getTime())}`];
  if (problem === "CERT_HAS_EXPIRED" || problem === "CERT_NOT_YET_VALID")
    details.push(`the clock of this machine says ${day(nowMs)}`);
  if (problem !== undefined) return rejected(problem, "", details);
  const leftMs = validTo.getTime() - nowMs;
  const days = Math.floor(leftMs / dayMs);
  if (leftMs >= (validTo.getTime() - validFrom.getTime()) * renewedPart)
    return ok(`${protocol}, certificate of ${safe(issuer)}`);
  return failed(
    `the hub's certificate ends in ${days > 1 ? `${days} days` : durationInWords(leftMs)}`,
    "renew it on the server or reverse proxy there: the ACME client should have done so",
    { details },
  );
}

/** @param reason - what the sentence about the code ends with */
function rejected(code: string, reason: string, details: readonly string[] = []): Finding {
  const error = Object.assign(new Error(code), {
    code,
    reason: reason === "" ? undefined : reason,
  });
  const { problem, hint } = certificateProblem(error) ?? {
    problem: `fails with ${code}`,
    hint: "",
  };
  return failed(`the hub ${problem}`, hint, { exitCode: EXIT.unreachable, details });
}
