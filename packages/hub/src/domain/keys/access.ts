import type { KeyRight } from "@roomhub/protocol";
import { HubError } from "../../errors.ts";
import type { Permits } from "../needs/demand.ts";
import { roomDeleted } from "../registry.ts";
import type { Room } from "../room.ts";
import type { KeyVerdict, RoomKey } from "./key-table.ts";

/**
 * What a route needs in a closed room. In an open room only `host` is needed.
 *
 * - `none`: it belongs to no room, or shows nothing of one
 * - `infer`: the right `use`, and never the host alone
 * - `use`, `watch`, `any`: that right, or any right of the room; the host may read, too
 * - `share`: the right `share`, which the token of a participant has, too
 * - `join`: the same; in a protected room the handler decides by the password
 * - `change`: the host; in an open room the handler decides
 * - `host`: the host, or the operator, in every room
 */
export type Need =
  | "none"
  | "infer"
  | "use"
  | "watch"
  | "share"
  | "join"
  | "any"
  | "change"
  | "host";

/** Who sends a request to a room, as far as that is proven. */
export type Holder =
  /** `digest`: of the value that was sent */
  | { readonly kind: "key"; readonly key: RoomKey; readonly digest: string }
  /** the token of a participant that is in the room */
  | { readonly kind: "participant" }
  /** the room's host token, or the operator's secret */
  | { readonly kind: "host" };

type Rule = { readonly rights: readonly KeyRight[]; readonly host: boolean };

const rules: Record<Exclude<Need, "none">, Rule> = {
  infer: { rights: ["use"], host: false },
  use: { rights: ["use"], host: true },
  watch: { rights: ["watch"], host: true },
  share: { rights: ["share"], host: false },
  join: { rights: ["share"], host: false },
  any: { rights: ["use", "share", "watch"], host: true },
  change: { rights: [], host: true },
  host: { rights: [], host: true },
};

/** Whether that is enough. */
export function mayDo(need: Need, holder: Holder): boolean {
  if (need === "none") return true;
  const { rights, host } = rules[need];
  switch (holder.kind) {
    case "host":
      return host;
    case "participant":
      return rights.includes("share");
    case "key":
      return holder.key.may.some((right) => rights.includes(right));
  }
}

/** A request's access to a room, which may end before the request does. Contract §9. */
export class Access {
  readonly #room: Room;
  /** undefined when it proved nothing, as in an open room */
  readonly holder: Holder | undefined;

  constructor(room: Room, holder: Holder | undefined) {
    this.#room = room;
    this.holder = holder;
  }

  /** The key that the request was sent with. */
  get key(): RoomKey | undefined {
    return this.holder?.kind === "key" ? this.holder.key : undefined;
  }

  /** Why the request must end. @param nowMs - epoch ms @returns undefined as long as it may go on */
  refusal(nowMs: number): HubError | undefined {
    const room = this.#room;
    if (room.isDeleted) return roomDeleted(room.code);
    if (!room.isClosed) return undefined;
    if (this.holder === undefined) return keyRefusal(room, "unknown");
    if (this.holder.kind !== "key") return undefined;
    const { kind } = room.keys.judge(this.holder.digest, nowMs);
    return kind === "valid" ? undefined : keyRefusal(room, kind);
  }

  /** A name of something in the room that only this holder has, and of everything that was made without a key. */
  own(name: string): string {
    return this.key === undefined ? name : `${this.key.id}/${name}`;
  }
}

/** @param key - undefined for what was sent without one */
export function permitsOfKey(key: RoomKey | undefined): Permits {
  return { models: key?.models, holder: key?.name.toLowerCase() };
}

/** The error of a request whose key is not valid. */
export function keyRefusal({ code }: Room, why: Exclude<KeyVerdict["kind"], "valid">): HubError {
  const details = { hint: "Ask the room's host for a key, and send it as the API key." };
  switch (why) {
    case "unknown":
      return new HubError("invalid_api_key", `Room ${code} is closed: it needs a key.`, details);
    case "revoked":
      return new HubError("key_revoked", `The key was revoked in room ${code}.`, details);
    case "expired":
      return new HubError("key_expired", `The key has expired in room ${code}.`, details);
  }
}
