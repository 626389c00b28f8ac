import { readFile } from "node:fs/promises";
import { parseObject } from "@roomhub/protocol";
import { replaceFile } from "@roomhub/hub";
import { z } from "zod";

/** What a batch must know after a restart beside its results. */
const Journal = z.object({
  version: z.literal(1),
  input: z.object({ bytes: z.int(), sha256: z.string() }),
  /** path of the file of errors, relative to the folder of this one */
  errors: z.string(),
  /** values of `model` that were in the room once */
  seenModels: z.array(z.string()),
});
export type Journal = z.infer<typeof Journal>;

/** @returns undefined when there is none @throws Error when the file is something else */
export async function readJournal(path: string): Promise<Journal | undefined> {
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
  const { data } = Journal.safeParse(parseObject(text));
  if (data === undefined) throw new Error(`${path} is not the journal of a batch`);
  return data;
}

/** A reader finds the old one or the new one, also after a power cut. */
export function writeJournal(path: string, journal: Journal): Promise<void> {
  return replaceFile(path, `${JSON.stringify(journal, undefined, 2)}\n`);
}
