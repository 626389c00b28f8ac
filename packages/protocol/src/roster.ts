/** An object that can be in one {@link Roster}. */
export interface RosterMember {
  /** Written only by the roster; -1 while in none. */
  place: number;
}

/**
 * A set whose members come and go by the hundreds each second.
 *
 * Not a `Set`: V8 links each outgrown table of a set to the next one. Once one of them is in the old generation, those
 * links keep every later table and all its former members alive until the next full collection, so that each request
 * is copied twice and collected late.
 */
export class Roster<Member extends RosterMember> {
  readonly #members: Member[] = [];
  #whenEmpty: (() => void) | undefined;

  get size(): number {
    return this.#members.length;
  }

  add(member: Member): void {
    if (member.place >= 0) return;
    member.place = this.#members.length;
    this.#members.push(member);
  }

  /** Does nothing for an object that is not a member. */
  remove(member: Member): void {
    if (this.#members[member.place] !== member) return;
    const last = this.#members.pop();
    if (last !== undefined && last !== member) {
      this.#members[member.place] = last;
      last.place = member.place;
    }
    member.place = -1;
    if (this.#members.length === 0) this.#whenEmpty?.();
  }

  /** Resolves when it has no members. */
  async emptied(): Promise<void> {
    if (this.#members.length === 0) return;
    await new Promise<void>((resolve) => {
      const earlier = this.#whenEmpty;
      this.#whenEmpty = () => {
        earlier?.();
        resolve();
      };
    });
  }

  /** Visits every member, last to first. Members may be added and removed meanwhile; one may be visited twice. */
  forEach(visit: (member: Member) => void): void {
    for (let place = this.#members.length - 1; place >= 0; place--) {
      const member = this.#members[place];
      if (member !== undefined) visit(member);
    }
  }
}
