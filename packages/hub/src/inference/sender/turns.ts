/** What decides whose turn it is. */
export interface TurnTaker {
  /** one address has one turn, whatever names it uses */
  readonly address: string;
  /** the client within its address, and its user */
  readonly person: string;
}

/**
 * Entries that wait, in the order of their turns: turns between addresses, within an address between persons, and within
 * a person first come, first served. Contract §3, "Turns".
 */
export class Turns<Entry extends TurnTaker> {
  /** ahead of all turns, in the order in which they came back */
  readonly #first: Entry[] = [];
  readonly #addresses = new TurnOrder<TurnOrder<Entry[]>>();

  /** @param running - the holders of the slots it waits for: senders that hold none come before them */
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

  /** Adds an entry that had its turn before. */
  addFirst(entry: Entry): void {
    this.#first.push(entry);
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

  /** All waiting entries, in the order in which they would go if each could: newcomers and busy models change it. */
  inOrder(): Entry[] {
    const addresses = this.#addresses
      .turns()
      .map(({ turn, member }) => ({ turn, member: interleaved(member.turns()) }));
    return [...this.#first, ...interleaved(addresses)];
  }

  /**
   * Lets the entries go that had their turn before, and one entry of each address, as far as they can.
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
 * Merges lists: the first entry of a list has the list's turn, each next entry the turn after it. At the same turn, a
 * list that has had fewer turns meanwhile has waited longer.
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

const maxRemembered = 1_024;
/** A member with a later turn waits for at most so many newcomers. */
const maxServedPerTurn = 16;

/**
 * Waiting members, in the order of their turns. Turns are numbered: a member that had its turn gets the next number, a
 * new member the number being served, so that it waits for at most one turn of each other member. After start-time fair
 * queueing (Goyal, Vin, Cheng 1996), with every request of the same size.
 */
class TurnOrder<Member> {
  readonly #waiting = new Map<string, { turn: number; readonly member: Member }>();
  /** the next turns of members that are not waiting */
  readonly #later = new Map<string, number>();
  /** the turn that is being served */
  #current = 0;
  #servedInTurn = 0;

  get size(): number {
    return this.#waiting.size;
  }

  get(key: string): Member | undefined {
    return this.#waiting.get(key)?.member;
  }

  /**
   * @param key - not waiting yet
   * @param hadTurn - a member that is not remembered had its turn already
   */
  add(key: string, member: Member, hadTurn: boolean): void {
    const turn = this.#later.get(key) ?? (hadTurn ? this.#current + 1 : 0);
    this.#later.delete(key);
    this.#waiting.set(key, { turn: Math.max(turn, this.#current), member });
  }

  remove(key: string): void {
    const place = this.#waiting.get(key);
    if (place === undefined) return;
    this.#waiting.delete(key);
    this.#remember(key, place.turn);
  }

  /** A member had its turn, waiting still or not. */
  served(key: string): void {
    const place = this.#waiting.get(key);
    const turn = place?.turn ?? this.#later.get(key) ?? this.#current;
    if (turn > this.#current) this.#begin(turn);
    else if (++this.#servedInTurn >= maxServedPerTurn) this.#begin(this.#current + 1);
    if (place === undefined) return this.#remember(key, turn + 1);
    place.turn = turn + 1;
    // Behind the members that wait for the same turn.
    this.#waiting.delete(key);
    this.#waiting.set(key, place);
  }

  /** A copy, by turn, then by time of waiting. */
  inOrder(): Member[] {
    return this.turns().map(({ member }) => member);
  }

  /** The same with the number of each member's turn. */
  turns(): { readonly turn: number; readonly member: Member }[] {
    const places = [...this.#waiting.values()];
    if (places.length > 1) places.sort((one, other) => one.turn - other.turn);
    return places;
  }

  #begin(turn: number): void {
    this.#current = turn;
    this.#servedInTurn = 0;
  }

  #remember(key: string, turn: number): void {
    if (turn < this.#current) return;
    if (this.#later.size >= maxRemembered) this.#forgetPast();
    this.#later.set(key, turn);
  }

  #forgetPast(): void {
    for (const [key, turn] of this.#later) if (turn < this.#current) this.#later.delete(key);
    if (this.#later.size >= maxRemembered) this.#later.clear();
  }
}
