import { UsageError } from "../exit-code.ts";

/** @throws UsageError without the URL, which may hold a password */
export function checkNatsUrls(urls: readonly string[]): void {
  const areAllUrls = urls.every((text) => {
    const url = parse(text);
    return url !== null && ["nats:", "tls:"].includes(url.protocol) && url.hostname !== "";
  });
  if (areAllUrls && urls.length > 0) return;
  throw new UsageError(
    "--nats (ROOMHUB_NATS) takes nats://HOST:PORT or tls://HOST:PORT, several with commas",
  );
}

/** Of one that was checked. */
export function hasPassword(text: string): boolean {
  const url = parse(text);
  return url !== null && (url.password !== "" || url.username !== "");
}

/** As it may be printed: `tls://hub:…@nats.example.org:4222`. */
export function shownNatsUrl(text: string): string {
  const url = parse(text);
  if (url === null) return "(not a URL)";
  const { protocol, username, password, host } = url;
  if (username === "") return `${protocol}//${host}`;
  // A name alone is a token.
  return `${protocol}//${password === "" ? "…" : `${username}:…`}@${host}`;
}

function parse(text: string): URL | null {
  return URL.parse(/^\w+:\/\//.test(text) ? text : `nats://${text}`);
}
