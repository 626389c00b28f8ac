/** Somebody who can be in one {@link Roster}. */
export interface RosterMember {
  /** Written by the roster alone; -1 while in none. */
  place: number;
}

/**
 * Who is there right now, where hundreds come and go each second.
 *
 * Not a `Set`: V8 links each table a set has outgrown to the next one. Once one of them is in the old generation, those
 * links keep every later table, and all members it ever had, alive until the next full collection, so that each request
 * is copied twice and collected late.
 */
export class Roster<Member extends RosterMember> {
  readonly #members: Member[] = [];

  get size(): number {
    return this.#members.length;
  }

  add(member: Member): void {
    if (member.place >= 0) return;
    member.place = this.#members.length;
    this.#members.push(member);
  }

  /** Does nothing for somebody who is not there. */
  remove(member: Member): void {
    if (this.#members[member.place] !== member) return;
    const last = this.#members.pop();
    if (last !== undefined && last !== member) {
      this.#members[member.place] = last;
      last.place = member.place;
    }
    member.place = -1;
  }

  /** Visits everybody who stays, from the last place to the first. Members may come and go meanwhile; one may be visited twice. */
  forEach(visit: (member: Member) => void): void {
    for (let place = this.#members.length - 1; place >= 0; place--) {
      const member = this.#members[place];
      if (member !== undefined) visit(member);
    }
  }
}
