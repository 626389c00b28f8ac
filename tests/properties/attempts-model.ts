import type { Asked } from "./requested.ts";
import type { How } from "./hub-actions.ts";
import type { Person } from "./room-model.ts";

/**
 * The next step of a request after a response that came before anything was generated. Contract §3, "Retry".
 *
 * @param isAnotherFree - whether another participant could take the request now
 */
export function stepAfter(
  one: Asked,
  holder: Person,
  how: How,
  isAnotherFree: boolean,
): "fail" | "elsewhere" | "again" {
  if (how === 503 && holder.tunnel === "loading") return "again";
  if (countedAttempts(one) >= 3) return "fail";
  if (one.selector === holder.id) return "fail";
  switch (how) {
    case "unreachable":
    case "overloaded":
    case "garbage on the tunnel":
    case 401:
    case 407:
      return "elsewhere";
    case 503:
      return isAnotherFree ? "elsewhere" : "fail";
    case 403:
      return one.credentials?.haveWorked === true ? "fail" : "elsewhere";
    default:
      return "fail";
  }
}

/** Without those that met a server that loads. */
export function countedAttempts({ holders, waitedFor }: Asked): number {
  return holders.length - waitedFor.length;
}

/** Those that do not get the request again: each that had it, except one that only was loading then. */
export function excludedFrom({ holders, waitedFor }: Asked): Person[] {
  const times = (people: readonly Person[], person: Person) =>
    people.filter((each) => each === person).length;
  return holders.filter((person) => times(holders, person) > times(waitedFor, person));
}
