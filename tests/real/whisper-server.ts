import { join } from "node:path";
import { temporaryFolder } from "../support/programs/temporary-folder.ts";
import { whisper } from "./binary.ts";
import { type ServerProcess, startServerProcess } from "./server-process.ts";
import { writeTinyWhisper } from "./tiny-whisper.ts";

/** A real whisper-server as a process of its own. */
export interface WhisperServer extends ServerProcess {
  /** a participant's endpoint: it has nothing below `/v1` */
  readonly url: string;
}

/** @param args - further options of its command line */
export async function startWhisperServer(args: readonly string[] = []): Promise<WhisperServer> {
  await using stack = new AsyncDisposableStack();
  const folder = stack.use(await temporaryFolder());
  const model = join(folder.path, "tiny.bin");
  await writeTinyWhisper(model);
  const child = stack.use(
    await startServerProcess({
      program: whisper.path,
      port: undefined,
      args: ["--model", model, "--threads", "1", ...args],
      status: 200,
    }),
  );
  const owned = stack.move();
  return {
    ...child,
    // It changes, so it is not copied with the others.
    get output() {
      return child.output;
    },
    url: `http://127.0.0.1:${child.port}`,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}
