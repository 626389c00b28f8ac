import { type Ban as BanView, isLoopbackHost } from "@roomhub/protocol";
import type { Participant } from "../participant.ts";

/** What a join shows of itself. */
interface Joining {
  id: string;
  /** SHA-256 of the secret of its machine, in hexadecimal; undefined when it sends none */
  machine?: string | undefined;
  address?: string | undefined;
}

/** Who may not join a room, and until when. Contract §9. */
export interface Ban extends Joining {
  /** epoch ms */
  until: number;
}

/** The oldest of more are forgotten. */
const maxBans = 1_000;

/** With a participant's id, its machine and the address that registered it. This machine's own address is everyone's here. */
export function withBan(
  bans: readonly Ban[],
  { id, machineDigest, registrant }: Pick<Participant, "id" | "machineDigest" | "registrant">,
  until: number,
  nowMs: number,
): readonly Ban[] {
  const { address } = registrant;
  const isOwn = address === undefined || isLoopbackHost(hostOf(address));
  const machine = machineDigest && Buffer.from(machineDigest).toString("hex");
  const ban = { id, machine, address: isOwn ? undefined : address, until };
  return [...bans.filter((one) => one.until > nowMs), ban].slice(-maxBans);
}

/** The bans that have not ended, the oldest first, as a host sees them: without the machine's digest, which says nothing to a person. */
export function bansView(bans: readonly Ban[], nowMs: number): BanView[] {
  return bans
    .filter(({ until }) => until > nowMs)
    .map(({ id, address, until }) => ({ id, address: address && hostOf(address), until }));
}

/** Behind the `@` is the hub at which it came in. */
function hostOf(address: string): string {
  return address.split("@", 1)[0] ?? "";
}

/** How long a join is still refused, in ms; 0 for one that is not. */
export function banRemainingMs(
  bans: readonly Ban[],
  { id, machine, address }: Joining,
  nowMs: number,
): number {
  const banned = bans.filter(
    (ban) =>
      ban.id === id ||
      (machine !== undefined && ban.machine === machine) ||
      (address !== undefined && ban.address === address),
  );
  return Math.max(0, ...banned.map(({ until }) => until - nowMs));
}
