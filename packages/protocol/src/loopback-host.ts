/** Whether a host of a URL, or an address, means the computer itself, whichever that is. */
export function isLoopbackHost(host: string): boolean {
  return /^(?:127\..*|0\.0\.0\.0|\[?::1?\]?|(?:.*\.)?localhost)$/.test(host);
}
