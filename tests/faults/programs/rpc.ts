import { flushCompileCache } from "node:module";

/** What a program does for the harness: called over IPC, one JSON value in and one out. */
export type Handlers = Record<string, (argument: never) => unknown>;

interface Call {
  number: number;
  name: string;
  argument: unknown;
}

/** Serves the harness until it ends; a program never outlives it. */
export function serveHarness(handlers: Handlers): void {
  process.on("disconnect", () => process.exit(0));
  process.on("message", (message) => void answer(handlers, message as Call));
  tellHarness("ready", undefined);
  // Where there is a cache: most programs are killed, and would leave nothing in it.
  flushCompileCache();
}

export function tellHarness(event: string, value: unknown): void {
  if (process.connected) process.send?.({ event, value });
}

async function answer(handlers: Handlers, { number, name, argument }: Call): Promise<void> {
  try {
    const handler = handlers[name] as ((argument: unknown) => unknown) | undefined;
    if (handler === undefined) throw new Error(`no handler ${name}`);
    process.send?.({ number, result: await handler(argument) });
  } catch (error) {
    process.send?.({ number, problem: error instanceof Error ? error.message : String(error) });
  }
}
