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

/** A WAV file of noise, 32 KB a second. Each second of it takes the server about 20 ms, and 0.4 s where many come before. */
export function noise(seconds: number): File {
  const samples = Int16Array.from({ length: seconds * 16_000 }, (_, index) => (index * 7919) % 997);
  const head = Buffer.alloc(44);
  head.write("RIFF");
  head.writeUInt32LE(36 + samples.byteLength, 4);
  head.write("WAVEfmt ", 8);
  const format: [value: number, at: number][] = [
    [16, 16],
    // PCM, one channel
    [0x0001_0001, 20],
    [16_000, 24],
    [32_000, 28],
    // bytes and bits of a sample
    [0x0010_0002, 32],
    [samples.byteLength, 40],
  ];
  for (const [value, at] of format) head.writeUInt32LE(value, at);
  head.write("data", 36);
  return new File([head, samples], "noise.wav", { type: "audio/wav" });
}
