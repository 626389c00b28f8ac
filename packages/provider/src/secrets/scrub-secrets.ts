import { minSecretLength, secretForms } from "./secret-forms.ts";

const replacement = "[redacted]";

/** The owner does not matter. For errors alone: of ordinary text, `task-scheduler` holds one too. */
export const openaiKey = /sk-[A-Za-z0-9_-]{8,}/g;

/**
 * Takes credentials out of a provider's words before they travel on. Contract §6: error bodies pass with the
 * participant's secrets scrubbed. For a text that is whole; of a response on its way `ResponseScrubber` takes them.
 *
 * @param secrets - auth header values; which of their texts count is in `secret-forms.ts`
 */
export function scrubSecrets(text: string, secrets: readonly string[]): string {
  let scrubbed = text;
  for (const form of secretForms(secrets, minSecretLength.inErrors)) {
    scrubbed = scrubbed.replaceAll(form, replacement);
  }
  return scrubbed.replace(openaiKey, replacement);
}
