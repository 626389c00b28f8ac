const maxRemembered = 1_024;
/** A member with a later turn waits for so many newcomers, and no more. */
const maxServedPerTurn = 16;

/**
 * Members that wait, in the order of their turns. Turns are numbered; a member that had its turn gets the next number,
 * and one that comes anew the number that is being served: it waits for at most one turn of each other. After start-time
 * fair queueing (Goyal, Vin, Cheng 1996), with every request of the same size.
 */
export class TurnOrder<Member> {
  readonly #waiting = new Map<string, { turn: number; readonly member: Member }>();
  /** the next turns of members that do not wait now */
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
   * @param hadTurn - one that is not remembered had its turn already
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

  /** A member had its turn, whether or not it still waits. */
  served(key: string): void {
    const place = this.#waiting.get(key);
    const turn = place?.turn ?? this.#later.get(key) ?? this.#current;
    if (turn > this.#current) this.#begin(turn);
    else if (++this.#servedInTurn >= maxServedPerTurn) this.#begin(this.#current + 1);
    if (place === undefined) return this.#remember(key, turn + 1);
    place.turn = turn + 1;
    // Behind those that wait for the same turn.
    this.#waiting.delete(key);
    this.#waiting.set(key, place);
  }

  /** A copy: by turn, then by how long they wait for it. */
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
