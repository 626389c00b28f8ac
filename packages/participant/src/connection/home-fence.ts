/**
 * A room has one home, and each new one has a higher epoch. This agent goes to no home with a lower one than it has seen: it
 * may still serve while another one has replaced it.
 */
export class HomeFence {
  #highest = 0;

  /** The highest epoch that it has seen; 0 where rooms have no homes. */
  get highest(): number {
    return this.#highest;
  }

  /**
   * Notes an epoch.
   *
   * @param epoch - that a hub names; undefined from one whose rooms have no homes
   * @returns why this agent does not go there, as the end of a sentence about the hub; undefined when it may
   */
  refusalOf(epoch: number | undefined): string | undefined {
    if (epoch === undefined) return undefined;
    if (epoch < this.#highest) {
      return `is behind: it names epoch ${epoch} of the room's home, which has reached ${this.#highest}`;
    }
    this.#highest = epoch;
    return undefined;
  }
}
