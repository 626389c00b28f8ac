const replacement = "[redacted]";
const openaiKey = /sk-[A-Za-z0-9_-]{8,}/g;
/** A shorter value (a tenant number, a flag) is no secret, and replacing it would tear the text apart. */
const minSecretLength = 4;

/**
 * Takes credentials out of a provider's words before they travel on. Contract §6: error bodies pass with the
 * participant's secrets scrubbed.
 *
 * @param secrets - auth header values; of `Bearer …` the bare key is replaced too, and each also as JSON would escape it
 */
export function scrubSecrets(text: string, secrets: readonly string[]): string {
  let scrubbed = text;
  for (const form of formsOf(secrets)) scrubbed = scrubbed.replaceAll(form, replacement);
  return scrubbed.replace(openaiKey, replacement);
}

/** Longest first, so that a key inside a longer value does not leave its rest behind. */
function formsOf(secrets: readonly string[]): string[] {
  const forms = new Set<string>();
  for (const secret of secrets) {
    for (const value of [secret.trim(), secret.trim().replace(/^(?:bearer|basic|token)\s+/i, "")]) {
      if (value.length < minSecretLength) continue;
      forms.add(value);
      forms.add(JSON.stringify(value).slice(1, -1));
    }
  }
  return [...forms].sort((a, b) => b.length - a.length);
}
