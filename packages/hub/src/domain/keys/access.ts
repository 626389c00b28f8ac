import type { KeyRight } from "@roomhub/protocol";
import type { RoomKey } from "./key-table.ts";

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
  | { readonly kind: "key"; readonly key: RoomKey }
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
