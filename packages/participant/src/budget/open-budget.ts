import { createHash } from "node:crypto";
import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";
import { Budget } from "./budget.ts";
import type { ProxyEnvironment } from "../connection/proxy.ts";
import type { Settings } from "../options.ts";
import { Ledger } from "./ledger.ts";
import { systemLocalTime } from "./local-time.ts";
import { ParticipantError } from "../notice.ts";

/**
 * The budget of a participant, with its ledger on this machine.
 *
 * @param headers - the credentials: all that is spent at one endpoint with the same ones counts together
 * @returns undefined when nothing is limited
 * @throws ParticipantError `invalid_budget` when the ledger cannot be written
 */
export function openBudget(
  settings: Pick<
    Settings,
    "budget" | "budgetFolder" | "joinRequest" | "baseUrl" | "serve" | "env" | "world"
  >,
  headers: Readonly<Record<string, string>>,
  onFault: (error: unknown) => void,
): Budget | undefined {
  const { budget: rules, budgetFolder, joinRequest, baseUrl, serve, env, world } = settings;
  if (rules === undefined) return undefined;
  const { model } = joinRequest;
  const folder = budgetFolder ?? defaultBudgetFolder(env);
  const ledger = new Ledger({
    folder,
    // Functions have no endpoint in common.
    key: ledgerKey(serve === undefined ? baseUrl : `${baseUrl}#${model}`, headers),
    dayOf: (epochMs) => systemLocalTime(epochMs).day,
    writerId: Buffer.from(world.randomBytes(8)).toString("hex"),
  });
  try {
    ledger.sums(world.wallMs());
  } catch (error) {
    const message = `The budget cannot be kept in ${folder}: ${(error as Error).message}.`;
    throw new ParticipantError("invalid_budget", message);
  }
  const deps = {
    // It may change at the first join.
    get participantId() {
      return joinRequest.id;
    },
    ...{ ledger, world, readLocalTime: systemLocalTime, onFault },
  };
  return new Budget(rules, deps);
}

/** `$XDG_STATE_HOME/roomhub/budgets`, or below `~/.local/state`: beside what the hub and the command line keep. */
function defaultBudgetFolder(env: ProxyEnvironment): string {
  // The XDG specification: a relative path is to be ignored.
  const xdg = env["XDG_STATE_HOME"];
  const base =
    xdg !== undefined && isAbsolute(xdg) ? xdg : join(env["HOME"] || homedir(), ".local", "state");
  return join(base, "roomhub", "budgets");
}

/** A digest: the name of the file discloses neither endpoint nor credentials. */
function ledgerKey(baseUrl: string, headers: Readonly<Record<string, string>>): string {
  const sorted = Object.entries(headers)
    .map(([name, value]) => [name.toLowerCase(), value] as const)
    .sort(([a], [b]) => (a < b ? -1 : 1));
  const text = JSON.stringify([baseUrl, sorted]);
  return createHash("sha256").update(text).digest("hex").slice(0, 32);
}
