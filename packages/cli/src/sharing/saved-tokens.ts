import { createHash, randomUUID } from "node:crypto";
import { mkdir, readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { replaceFile } from "@roomhub/hub";

/** A token, and what it belongs to. */
export interface SavedToken {
  hubUrl: string;
  room: string;
  id: string;
  token: string;
}

/** Tokens of participants, rooms and owners. */
export interface SavedTokens {
  /** Replaces the previous token of the same id. Resolves when it is on disk. */
  save(saved: SavedToken): Promise<void>;
  /** All tokens for an id, in any room of any hub. */
  find(id: string): Promise<SavedToken[]>;
  forget(saved: SavedToken): Promise<void>;
}

/**
 * Tokens in a folder that only this user can read, one file each, so that concurrent commands lose none.
 *
 * @param folder - created when the first token is saved
 */
export function tokensIn(folder: string): SavedTokens {
  const pathOf = ({ hubUrl, room, id }: SavedToken) => {
    const name = createHash("sha256").update(`${hubUrl}\n${room}\n${id}`).digest("hex");
    return join(folder, `${name.slice(0, 32)}.json`);
  };
  return {
    async save(saved) {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      const path = pathOf(saved);
      const temporaryPath = `${path}.${randomUUID()}.tmp`;
      await replaceFile(path, JSON.stringify(saved), { temporaryPath });
    },
    async find(id) {
      const names = await readdir(folder).catch(noFolder);
      const files = names.filter((name) => name.endsWith(".json"));
      const saved = await Promise.all(files.map((name) => readToken(join(folder, name))));
      return saved.filter((one) => one !== undefined).filter((one) => one.id === id);
    },
    forget: (saved) => rm(pathOf(saved), { force: true }),
  };
}

function noFolder(error: NodeJS.ErrnoException): string[] {
  if (error.code === "ENOENT") return [];
  throw error;
}

/** @returns undefined for an unknown file, or one removed in the meantime */
async function readToken(path: string): Promise<SavedToken | undefined> {
  try {
    const value = JSON.parse(await readFile(path, "utf8")) as Partial<SavedToken> | null;
    const { hubUrl, room, id, token } = value ?? {};
    const isWhole = [hubUrl, room, id, token].every((field) => typeof field === "string");
    return isWhole ? (value as SavedToken) : undefined;
  } catch {
    return undefined; // reported by the command as a missing token
  }
}
