/** `230 ms`, `4.2 s`, `42 s`, `3:05`, `2:03:05`; never negative. */
export function durationText(ms: number): string {
  const given = Math.max(0, ms);
  if (given < 999.5) return `${Math.round(given)} ms`;
  if (given < 9_950) return `${(given / 1_000).toFixed(1)} s`;
  if (given < 60_000) return `${Math.min(59, Math.round(given / 1_000))} s`;
  return stopwatchText(given);
}

/** `0:07`, `3:05`, `2:03:05`. */
export function stopwatchText(ms: number): string {
  const seconds = Math.floor(Math.max(0, ms) / 1_000);
  const hours = Math.floor(seconds / 3_600);
  const minutes = Math.floor(seconds / 60) % 60;
  const two = (value: number) => String(value).padStart(2, "0");
  const rest = two(seconds % 60);
  return hours > 0 ? `${hours}:${two(minutes)}:${rest}` : `${minutes}:${rest}`;
}

/** Seconds while something runs: `0.3 s`, `12.4 s`, `3:05`. */
export function elapsedText(ms: number): string {
  return ms < 60_000 ? `${(Math.max(0, ms) / 1_000).toFixed(1)} s` : stopwatchText(ms);
}

/** The time of day where the page is shown: `14:03:22.120`. */
export function clockText(atMs: number): string {
  const date = new Date(atMs);
  const two = (value: number) => String(value).padStart(2, "0");
  const time = [date.getHours(), date.getMinutes(), date.getSeconds()].map(two).join(":");
  return `${time}.${String(date.getMilliseconds()).padStart(3, "0")}`;
}

/** `just now`, `40 s ago`, `5 min ago`, `3 h ago`, `2 days ago`. */
export function agoText(ms: number): string {
  const seconds = Math.floor(Math.max(0, ms) / 1_000);
  return seconds < 5 ? "just now" : `${spanText(ms)} ago`;
}

/** `40 s`, `5 min`, `3 h`, `2 days`. */
export function spanText(ms: number): string {
  const seconds = Math.floor(Math.max(0, ms) / 1_000);
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 172_800) return `${Math.floor(seconds / 3_600)} h`;
  return `${Math.floor(seconds / 86_400)} days`;
}

/** `0`, `950`, `1,234`, `12.3k`, `4.5M`. */
export function countText(count: number): string {
  if (count < 10_000) return Math.round(count).toLocaleString("en-US");
  if (count < 999_500) return `${trimmed(count / 1_000)}k`;
  return `${trimmed(count / 1_000_000)}M`;
}

/** `4.2`, `33`. */
export function rateText(perSecond: number): string {
  return perSecond < 9.95 ? perSecond.toFixed(1) : countText(perSecond);
}

/** `0 %` to `100 %`. */
export function shareText(share: number): string {
  return `${Math.round(share * 100)} %`;
}

/** `1 request`, `2 requests`. */
export function plural(count: number, noun: string): string {
  return `${countText(count)} ${noun}${count === 1 ? "" : "s"}`;
}

function trimmed(value: number): string {
  return value < 99.95 ? value.toFixed(1).replace(/\.0$/, "") : String(Math.round(value));
}
