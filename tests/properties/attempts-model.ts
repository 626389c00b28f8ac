import type { Asked } from "./requested.ts";
import type { How } from "./hub-actions.ts";
import type { Person } from "./room-model.ts";

/** The next step of a request after a response that came before anything was generated. Contract §3, "Retry". */
export function stepAfter(one: Asked, holder: Person, how: How): "fail" | "elsewhere" | "again" {
  if (one.holders.length >= 3) return "fail";
  if (how === 503 && holder.tunnel === "loading" && !one.waitedFor.has(holder)) return "again";
  if (one.selector === holder.id) return "fail";
  switch (how) {
    case "unreachable":
    case "overloaded":
    case "garbage on the tunnel":
    case 401:
    case 407:
    case 503:
      return "elsewhere";
    case 403:
      return one.credentials?.haveWorked === true ? "fail" : "elsewhere";
    default:
      return "fail";
  }
}

/** Those that do not get the request again: each that had it, except one that it waits for after a first attempt. */
export function excludedFrom({ holders, waitedFor }: Asked): Person[] {
  return holders.filter((person) => {
    const times = holders.filter((each) => each === person).length;
    return times > (waitedFor.has(person) ? 1 : 0);
  });
}
