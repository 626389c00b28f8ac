/** A model server in a process of its own. Each request sets in its body how the provider responds. */
import {
  type Behaviour,
  type RecordedRequest,
  startFakeProvider,
} from "../../support/providers/fake-provider.ts";
import { startFastProvider } from "../../support/providers/fast-provider.ts";
import { sharedNowMs } from "../shared-clock.ts";
import { serveHarness, tellHarness } from "./rpc.ts";

/** The part of a request's body that is meant for this program. */
export interface ProviderWish {
  /** names the request in what is reported */
  tag?: string;
  behaviour?: Behaviour;
}

/** Sent as `closed` when a generation's connection has ended. */
export interface ClosedReport {
  tag: string;
  /** whether the other side closed it before the end */
  isGone: boolean;
  atMs: number;
}

const live = new Map<RecordedRequest, string>();

const provider = await startFakeProvider({
  model: process.argv[2] ?? "fake-model",
  behave(request) {
    const { tag, behaviour } = request.json as ProviderWish;
    if (tag !== undefined) {
      live.set(request, tag);
      tellHarness("asked", { tag, atMs: sharedNowMs() });
    }
    return behaviour;
  },
});

// Never true: it is evaluated at every event, so it serves as a listener.
void provider.waitFor(reportClosed, 2 ** 31 - 1).catch(() => undefined);

function reportClosed(): boolean {
  for (const [request, tag] of live) {
    if (request.state === "answering") continue;
    live.delete(request);
    const report: ClosedReport = { tag, isGone: request.state === "gone", atMs: sharedNowMs() };
    tellHarness("closed", report);
  }
  // Completed requests are not needed any more.
  if (provider.requests.length > 1_000) provider.requests.splice(0, 500);
  return false;
}

/** Sends many bytes at little cost, since the process beside it is measured. */
const fastProvider = await startFastProvider();

const handlers = {
  about: () => ({ url: provider.url, plainUrl: fastProvider.url }),
  /** @returns generations being worked on, by what was seen here */
  open: () => provider.openGenerations,
  /** @returns bytes sent so far in the newest bulk response */
  poured: () => fastProvider.pouredBytes,
};
export type ProviderHandlers = typeof handlers;
serveHarness(handlers);
