import { lockFile, lockHolder, replaceFile } from "@roomhub/hub";
import type { Invite } from "@roomhub/client";
import { parseObject } from "@roomhub/protocol";
import { createHash } from "node:crypto";
import { mkdir, readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { hubIdOf } from "../rooms/hub-address.ts";

/** A door that runs in some process of this user. Its key is among the saved tokens. */
export interface OpenDoor extends Invite {
  port: number;
}

export class DoorOpenError extends Error {
  override readonly name = "DoorOpenError";
  /** undefined while it is starting */
  readonly door: OpenDoor | undefined;
  readonly pid: number;

  constructor(door: OpenDoor | undefined, pid: number) {
    super(`A door is open in process ${pid}`);
    this.door = door;
    this.pid = pid;
  }
}

/**
 * Records of doors, one file each, beside the lock that its process holds.
 *
 * @param folder - created with the first door
 */
export function openDoorsIn(folder: string) {
  const pathOf = ({ hubUrl, room }: Invite) => {
    const name = createHash("sha256")
      .update(`${hubIdOf(hubUrl)}\n${room}`)
      .digest("hex");
    return join(folder, `${name.slice(0, 32)}.json`);
  };
  return {
    /**
     * Gives this process the right to be the room's door: `publish` lets other commands find it.
     *
     * @throws DoorOpenError when another process has a door for the room
     */
    async claim(room: Invite) {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      const path = pathOf(room);
      let holder = 0;
      const inUse = (pid: number) => {
        holder = pid;
        return new DoorOpenError(undefined, pid);
      };
      const lock = await lockFile(path, inUse).catch(async (error: unknown) => {
        throw error instanceof DoorOpenError
          ? new DoorOpenError(await readDoor(path), holder)
          : error;
      });
      return {
        publish: (port: number) => replaceFile(path, JSON.stringify({ ...room, port })),
        async release() {
          await rm(path, { force: true });
          await lock.release();
        },
      };
    },
    /** Those that run now. Removes records of processes that were killed. */
    async list() {
      const names = await readdir(folder).catch(() => []);
      const paths = names
        .filter((name) => name.endsWith(".json"))
        .map((name) => join(folder, name));
      const doors = await Promise.all(paths.map(runningDoor));
      return doors.filter((door) => door !== undefined);
    },
  };
}

async function runningDoor(path: string): Promise<OpenDoor | undefined> {
  if ((await lockHolder(path)) !== undefined) return readDoor(path);
  await rm(path, { force: true });
  return undefined;
}

async function readDoor(path: string): Promise<OpenDoor | undefined> {
  const text = await readFile(path, "utf8").catch(() => "");
  const { hubUrl, room, port } = parseObject(text) ?? {};
  const isWhole = typeof hubUrl === "string" && typeof room === "string";
  return isWhole && typeof port === "number" ? { hubUrl, room, port } : undefined;
}
