import { isLoopbackHost } from "@roomhub/protocol";
import type { Participant } from "../participant.ts";

/** What a join shows of itself. */
interface Joining {
  id: string;
  /** SHA-256 of the secret of its machine, in hexadecimal; undefined when it sends none */
  machine: string | undefined;
  address: string | undefined;
}

interface Ban extends Joining {
  /** ms on the hub's clock */
  untilMs: number;
}

/** The oldest of more are forgotten. */
const maxBans = 1_000;

/** Who may not join a room, and for how long. Kept as long as the room is at this hub. Contract §9. */
export class Bans {
  #bans: Ban[] = [];

  /** By its id, its machine and the address that registered it. This machine's own address is everyone's here. */
  add({ id, machineDigest, registrant }: Participant, untilMs: number): void {
    const { address } = registrant;
    const isOwn = address === undefined || isLoopbackHost(address.split("@", 1)[0] ?? "");
    const machine = machineDigest && Buffer.from(machineDigest).toString("hex");
    this.#bans.push({ id, machine, address: isOwn ? undefined : address, untilMs });
    if (this.#bans.length > maxBans) this.#bans.shift();
  }

  /** How long a join is still refused; 0 for one that is not. */
  remainingMs({ id, machine, address }: Joining, nowMs: number): number {
    this.#bans = this.#bans.filter(({ untilMs }) => untilMs > nowMs);
    const banned = this.#bans.filter(
      (ban) =>
        ban.id === id ||
        (machine !== undefined && ban.machine === machine) ||
        (address !== undefined && ban.address === address),
    );
    return Math.max(0, ...banned.map(({ untilMs }) => untilMs - nowMs));
  }
}
