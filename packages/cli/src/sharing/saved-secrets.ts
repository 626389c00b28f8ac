import { systemWorld } from "@roomhub/protocol";
import { createHash, createHmac } from "node:crypto";
import { mkdir, readdir, readFile, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { createFile, readIfThere, replaceFile } from "@roomhub/hub";

/** What a token belongs to. */
export interface TokenPlace {
  hubUrl: string;
  room: string;
  id: string;
}

export interface SavedToken extends TokenPlace {
  token: string;
}

/** Tokens of participants, rooms and owners. */
export interface SavedTokens {
  /** Replaces the previous token of the same id. Resolves when it is on disk. */
  save(saved: SavedToken): Promise<void>;
  /** All tokens for an id, in any room of any hub. */
  find(id: string): Promise<SavedToken[]>;
  tokenOf(place: TokenPlace): Promise<string | undefined>;
  forget(place: TokenPlace): Promise<void>;
}

export function isSamePlace(one: TokenPlace, other: TokenPlace): boolean {
  return one.hubUrl === other.hubUrl && one.room === other.room && one.id === other.id;
}

/**
 * Tokens in a folder that only this user can read, one file each, so that concurrent commands lose none.
 *
 * @param folder - created when the first token is saved
 */
export function tokensIn(folder: string): SavedTokens {
  const pathOf = ({ hubUrl, room, id }: TokenPlace) => {
    const name = createHash("sha256").update(`${hubUrl}\n${room}\n${id}`).digest("hex");
    return join(folder, `${name.slice(0, 32)}.json`);
  };
  const find = async (id: string) => {
    const names = await readdir(folder).catch(noFolder);
    const files = names.filter((name) => name.endsWith(".json"));
    const saved = await Promise.all(files.map((name) => readToken(join(folder, name))));
    return saved.filter((one) => one?.id === id).filter((one) => one !== undefined);
  };
  return {
    find,
    async save(saved) {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      const path = pathOf(saved);
      const temporaryPath = `${path}.${systemWorld.randomUUID()}.tmp`;
      await replaceFile(path, JSON.stringify(saved), { temporaryPath });
    },
    tokenOf: async (place) => (await find(place.id)).find((one) => isSamePlace(one, place))?.token,
    forget: (place) => rm(pathOf(place), { force: true }),
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

const secretForm = /^[\w-]{43}$/;

/**
 * The secret of one of this user's model servers, the same in every process: it is derived from one random secret in a file
 * that only this user can read. Shows a hub that participants stand in front of the same model server. Contract §1,
 * "Machines".
 *
 * @param path - of that file; created with its folder at the first use
 * @returns 43 characters of base64url; rejects when the file can neither be read nor created
 */
export async function machineSecret(path: string, baseUrl: string): Promise<string> {
  const key = await madeOnce(path, secrets);
  return createHmac("sha256", key).update(baseUrl).digest("base64url");
}

/**
 * The secret by which this user's hubs know their operator, in a file that only this user can read. Contract §9.
 *
 * @param path - of that file; created with its folder at the first use
 */
export function operatorSecret(path: string): Promise<string> {
  return madeOnce(path, secrets);
}

/** The content of a file that is created only once, whichever process comes first. */
export interface FileMadeOnce<Value> {
  /** such as `a secret of 43 characters` */
  what: string;
  make: () => string;
  /** @returns undefined for any other text */
  read: (text: string) => Value | undefined;
}

const secrets: FileMadeOnce<string> = {
  what: "a secret of 43 characters",
  make: () => Buffer.from(systemWorld.randomBytes(32)).toString("base64url"),
  read: (text) => (secretForm.test(text) ? text : undefined),
};

/**
 * Reads a file that only this user can read, and makes it where there is none.
 *
 * @throws Error when it can neither be read nor created, or has something else in it
 */
export async function madeOnce<Value>(path: string, file: FileMadeOnce<Value>): Promise<Value> {
  const kept = await readKept(path, file);
  if (kept !== undefined) return kept;
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  await createFile(path, file.make(), `${path}.`, { flush: true });
  // Another process may have been faster.
  const made = await readKept(path, file);
  if (made === undefined) throw new Error(`${path} cannot be created`);
  return made;
}

/** @returns undefined for a missing file */
async function readKept<Value>(
  path: string,
  { what, read }: FileMadeOnce<Value>,
): Promise<Value | undefined> {
  const text = await readIfThere(path);
  if (text === undefined) return undefined;
  const value = read(text);
  if (value === undefined) throw new Error(`${path} does not contain ${what}. Remove it.`);
  return value;
}
