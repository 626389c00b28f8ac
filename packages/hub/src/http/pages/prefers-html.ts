/**
 * Whether a response should be a page for people. Only where `Accept` names `text/html`, and not below `application/json`:
 * programs name no type, or any, and get JSON. Contract §7, RFC 9110 §12.5.1.
 *
 * @param accept - the header; a malformed one is for JSON
 */
export function prefersHtml(accept: string | undefined): boolean {
  if (accept === undefined || accept.length > 1_000) return false;
  const weights = new Map<string, number>();
  for (const range of accept.split(",")) {
    const [type = "", ...parameters] = range.split(";").map((part) => part.trim().toLowerCase());
    if (!mediaRange.test(type)) return false;
    const weight = weightOf(parameters);
    if (weight === undefined) return false;
    weights.set(type, Math.max(weight, weights.get(type) ?? 0));
  }
  const html = weights.get("text/html") ?? 0;
  return html > 0 && html >= (weights.get("application/json") ?? 0);
}

const mediaRange = /^(?:\*\/\*|[\w!#$&^.+-]+\/(?:\*|[\w!#$&^.+-]+))$/;

/** @returns undefined for what is no weight */
function weightOf(parameters: readonly string[]): number | undefined {
  const given = parameters.find((parameter) => parameter.startsWith("q="));
  if (given === undefined) return 1;
  return /^q=(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/.test(given) ? Number(given.slice(2)) : undefined;
}
