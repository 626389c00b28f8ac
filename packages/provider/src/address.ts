import { isIPv4, isIPv6 } from "node:net";

/** Where an address leads, as far as the right to dial it goes. Contract §3. */
export type AddressClass = "loopback" | "private" | "refused" | "public";

/**
 * Judges one literal IP address, in any spelling `node:net` accepts. Contract §3, "endpoint → base URL".
 *
 * An IPv6 form that carries an IPv4 address (mapped, compatible, translated, NAT64, 6to4, Teredo) is judged by that
 * address, since that is where the packets end. What is not an IP address is refused.
 */
export function classifyAddress(ip: string): AddressClass {
  const bare = ip.replace(/^\[(.*)\]$/, "$1").replace(/%.*$/, "");
  if (isIPv4(bare)) return classifyV4(parseV4(bare));
  if (isIPv6(bare)) return classifyV6(parseV6(bare));
  return "refused";
}

type V4 = [number, number, number, number];

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
  const [first = 0, second = 0, third = 0] = groups;
  const tail = groups.slice(6);
  if (isZero(groups.slice(0, 7)) && (groups[7] ?? 0) <= 1) return "loopback";
  if (isZero(groups.slice(0, 6))) return classifyV4(v4Of(tail));
  if (isZero(groups.slice(0, 5)) && groups[5] === 0xffff) return classifyV4(v4Of(tail));
  if (isZero(groups.slice(0, 4)) && groups[4] === 0xffff && groups[5] === 0) {
    return classifyV4(v4Of(tail));
  }
  if (first === 0x64 && second === 0xff9b) {
    if (isZero(groups.slice(2, 6))) return classifyV4(v4Of(tail));
    // RFC 8215: 64:ff9b:1::/48 is a translator of the local network, so never better than private.
    if (third === 1) return atMostPrivate(classifyV4(v4Of(tail)));
  }
  if (first === 0x2002) return classifyV4(v4Of([second, third]));
  if (first === 0x2001 && second === 0) {
    return classifyV4(v4Of(tail.map((group) => group ^ 0xffff)));
  }
  if (first === 0xfd00 && second === 0xec2 && isZero(groups.slice(2, 7)) && groups[7] === 0x254) {
    return "refused";
  }
  if (first >> 9 === 0x7e) return "private";
  // fe80::/10 link-local, fec0::/10 its withdrawn site-local neighbour, ff00::/8 multicast.
  return first >= 0xfe80 ? "refused" : "public";
}

function atMostPrivate(found: AddressClass): AddressClass {
  return found === "public" ? "private" : found;
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
