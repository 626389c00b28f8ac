import { TurnOrder } from "./turn-order.ts";

/** What decides whose turn it is. */
export interface TurnTaker {
  /** one address, one turn, under whatever names it sends */
  readonly address: string;
  /** the client within its address, and its user */
  readonly person: string;
}

/**
 * Entries that wait, in the order of their turns: turns between addresses, within an address between persons, and within
 * a person first come, first served. Contract §3, "Turns".
 */
export class Turns<Entry extends TurnTaker> {
  /** ahead of all turns, the one that came last first */
  readonly #first: Entry[] = [];
  readonly #addresses = new TurnOrder<TurnOrder<Entry[]>>();

  /** @param running - those that have what it waits for: the others of their address and person are behind those that have nothing */
  add(entry: Entry, running: readonly TurnTaker[]): void {
    const { address, person } = entry;
    const near = running.filter((one) => one.address === address);
    let persons = this.#addresses.get(address);
    if (persons === undefined) {
      persons = new TurnOrder();
      this.#addresses.add(address, persons, near.length > 0);
    }
    const entries = persons.get(person);
    if (entries !== undefined) entries.push(entry);
    else {
      const hadTurn = near.some((one) => one.person === person);
      persons.add(person, [entry], hadTurn);
    }
  }

  /** For an entry that had its turn before. */
  addFirst(entry: Entry): void {
    this.#first.unshift(entry);
  }

  /** @returns whether it waited */
  remove(entry: Entry): boolean {
    if (take(this.#first, entry)) return true;
    const { address, person } = entry;
    const persons = this.#addresses.get(address);
    const entries = persons?.get(person);
    if (persons === undefined || entries === undefined || !take(entries, entry)) return false;
    if (entries.length === 0) persons.remove(person);
    if (persons.size === 0) this.#addresses.remove(address);
    return true;
  }

  /** All that wait, in the order in which they would go if each could: newcomers and busy models change it. */
  inOrder(): Entry[] {
    const addresses = this.#addresses
      .turns()
      .map(({ turn, member }) => ({ turn, member: interleaved(member.turns()) }));
    return [...this.#first, ...interleaved(addresses)];
  }

  /**
   * Lets the entries go that had their turn before, and one of each address, as far as they can.
   *
   * @param goes - whether it goes now; may remove it, and others
   * @returns whether any went
   */
  letOneRoundGo(goes: (entry: Entry) => boolean): boolean {
    let hasMoved = false;
    for (const entry of [...this.#first]) {
      if (!goes(entry)) continue;
      this.remove(entry);
      hasMoved = true;
    }
    for (const persons of this.#addresses.inOrder()) {
      const entry = persons.inOrder().flat().find(goes);
      if (entry === undefined) continue;
      this.remove(entry);
      persons.served(entry.person);
      this.#addresses.served(entry.address);
      hasMoved = true;
    }
    return hasMoved;
  }
}

/**
 * Lists whose entries go one by one, each list having one turn after the other from its own on. At the same turn, a list
 * that has had fewer of them meanwhile has waited for it longer.
 */
function interleaved<Entry>(lists: readonly { turn: number; member: readonly Entry[] }[]): Entry[] {
  const places = lists.flatMap(({ turn, member }) =>
    member.map((entry, index) => ({ entry, turn: turn + index, index })),
  );
  places.sort((one, other) => one.turn - other.turn || one.index - other.index);
  return places.map(({ entry }) => entry);
}

function take<Entry>(entries: Entry[], entry: Entry): boolean {
  const index = entries.indexOf(entry);
  if (index >= 0) entries.splice(index, 1);
  return index >= 0;
}
