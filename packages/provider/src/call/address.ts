import { isIPv4, isIPv6 } from "node:net";

/** Where an address leads, as far as the right to dial it goes. Contract §3. */
export type AddressClass = "loopback" | "private" | "refused" | "public";

/**
 * Judges one literal IP address, in any spelling `node:net` accepts. Contract §3, "endpoint → base URL".
 *
 * An IPv6 form that carries an IPv4 address (mapped, compatible, translated, NAT64, 6to4, Teredo) is judged by that
 * address, since that is where the packets end. What is not an IP address is refused.
 *
 * @param own - addresses of this machine's interfaces as {@link destinationOf} spells them; they count as loopback
 */
export function classifyAddress(ip: string, own: ReadonlySet<string> = none): AddressClass {
  const end = parseAddress(ip);
  if (end === undefined) return "refused";
  const found = end.v4 === undefined ? classifyV6(end.groups) : classifyV4(end.v4);
  if (found === "refused") return "refused";
  if (own.has(spell(end))) return "loopback";
  return found === "public" && end.isLocalTranslation ? "private" : found;
}

/** Where packets to a literal IP address end, in one spelling for all of its forms; undefined for what is no IP address. */
export function destinationOf(ip: string): string | undefined {
  const end = parseAddress(ip);
  return end === undefined ? undefined : spell(end);
}

const none: ReadonlySet<string> = new Set();

type V4 = [number, number, number, number];

/** An address, or the IPv4 address that it carries. */
interface End {
  v4: V4 | undefined;
  /** eight 16-bit numbers; none where `v4` is there */
  groups: number[];
  /** RFC 8215: 64:ff9b:1::/48 is a translator of the local network, so never better than private. */
  isLocalTranslation: boolean;
}

function parseAddress(ip: string): End | undefined {
  const bare = ip.replace(/^\[(.*)\]$/, "$1").replace(/%.*$/, "");
  if (isIPv4(bare)) return { v4: parseV4(bare), groups: [], isLocalTranslation: false };
  if (!isIPv6(bare)) return undefined;
  const groups = parseV6(bare);
  const v4 = carriedV4(groups);
  return {
    v4,
    groups: v4 === undefined ? groups : [],
    isLocalTranslation: groups[0] === 0x64 && groups[1] === 0xff9b && groups[2] === 1,
  };
}

function spell({ v4, groups }: End): string {
  return v4?.join(".") ?? groups.map((group) => group.toString(16)).join(":");
}

function classifyV4([a, b, c, d]: V4): AddressClass {
  if (a === 100 && b === 100 && c === 100 && d === 200) return "refused";
  if (a === 127 || a === 0) return "loopback";
  if (a === 10 || (a === 172 && b >> 4 === 1) || (a === 192 && b === 168)) return "private";
  if (a === 100 && b >> 6 === 1) return "private";
  if (a === 169 && b === 254) return "refused";
  // 224/4 is multicast, 240/4 reserved with the broadcast address at its end: no model server lives there.
  return a >= 224 ? "refused" : "public";
}

/** @param groups - eight 16-bit numbers */
function classifyV6(groups: number[]): AddressClass {
  const [first = 0, second = 0] = groups;
  if (isZero(groups.slice(0, 7)) && (groups[7] ?? 0) <= 1) return "loopback";
  if (first === 0xfd00 && second === 0xec2 && isZero(groups.slice(2, 7)) && groups[7] === 0x254) {
    return "refused";
  }
  if (first >> 9 === 0x7e) return "private";
  // fe80::/10 link-local, fec0::/10 its withdrawn site-local neighbour, ff00::/8 multicast.
  return first >= 0xfe80 ? "refused" : "public";
}

/** @param groups - eight 16-bit numbers */
function carriedV4(groups: number[]): V4 | undefined {
  const [first = 0, second = 0, third = 0] = groups;
  const tail = groups.slice(6);
  // `::` and `::1` carry nothing.
  if (isZero(groups.slice(0, 7)) && (groups[7] ?? 0) <= 1) return undefined;
  if (isZero(groups.slice(0, 6))) return v4Of(tail);
  if (isZero(groups.slice(0, 5)) && groups[5] === 0xffff) return v4Of(tail);
  if (isZero(groups.slice(0, 4)) && groups[4] === 0xffff && groups[5] === 0) return v4Of(tail);
  if (first === 0x64 && second === 0xff9b) {
    return isZero(groups.slice(2, 6)) || third === 1 ? v4Of(tail) : undefined;
  }
  if (first === 0x2002) return v4Of([second, third]);
  if (first === 0x2001 && second === 0) return v4Of(tail.map((group) => group ^ 0xffff));
  return undefined;
}

function isZero(groups: number[]): boolean {
  return groups.every((group) => group === 0);
}

function v4Of([high = 0, low = 0]: number[]): V4 {
  return [high >> 8, high & 0xff, low >> 8, low & 0xff];
}

function parseV4(text: string): V4 {
  const [a = 0, b = 0, c = 0, d = 0] = text.split(".").map(Number);
  return [a, b, c, d];
}

function parseV6(text: string): number[] {
  const dotted = /(\d+\.\d+\.\d+\.\d+)$/.exec(text)?.[1];
  let hex = text;
  if (dotted !== undefined) {
    const [a, b, c, d] = parseV4(dotted);
    const groups = `${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}`;
    hex = text.slice(0, -dotted.length) + groups;
  }
  const [head = "", rest] = hex.split("::");
  const before = groupsOf(head);
  if (rest === undefined) return before;
  const after = groupsOf(rest);
  return [...before, ...Array<number>(8 - before.length - after.length).fill(0), ...after];
}

function groupsOf(text: string): number[] {
  return text === "" ? [] : text.split(":").map((group) => Number.parseInt(group, 16));
}
