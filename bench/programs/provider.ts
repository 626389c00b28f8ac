/** The model server behind everything that is measured, in a process of its own. */
import { serveHarness } from "../../tests/faults/programs/rpc.ts";
import { startFastProvider } from "../../tests/support/providers/fast-provider.ts";

const provider = await startFastProvider();

const handlers = { url: () => provider.url };
export type ProviderHandlers = typeof handlers;
serveHarness(handlers);
