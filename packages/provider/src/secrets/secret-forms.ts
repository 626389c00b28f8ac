/**
 * A shorter value (a flag, a tenant's number, the `ollama` of `Bearer ollama`) cannot be distinguished from ordinary text,
 * which scrubbing would damage. An error may be damaged more than a response.
 */
export const minSecretLength = { inErrors: 6, inResponses: 8 };

/** Headers whose value is secret. Others (`anthropic-version`, `http-referer`) say what any response may say, too. */
const credentialName = /auth|key|token|secret|cookie|passw|credential|session|signature/i;

/** @param headers - of a request to a provider. @returns the values that are credentials by their names */
export function credentialsIn(headers: Readonly<Record<string, string>>): string[] {
  return Object.keys(headers)
    .filter((name) => credentialName.test(name))
    .map((name) => headers[name] ?? "");
}

const schemed = /^(bearer|basic|token|apikey|api-key) +(\S.*)$/i;
const beyondAscii = /[\x80-\uffff]/g;

/** A JSON string as encoders write it that escape more than they must. */
const jsonWriters: readonly ((json: string) => string)[] = [
  (json) => json,
  // Python
  (json) => json.replaceAll(beyondAscii, escapedLower),
  // PHP, with and without JSON_UNESCAPED_UNICODE
  (json) => json.replaceAll("/", "\\/"),
  (json) => json.replaceAll("/", "\\/").replaceAll(beyondAscii, escapedLower),
  // Go
  (json) => json.replaceAll(/[&<>]/g, escapedLower),
  // Gson
  (json) => json.replaceAll(/[&'<=>]/g, escapedLower),
  // .NET
  (json) => json.replaceAll(/\\"|[&'+<>`\x7f-\uffff]/g, escapedUpper),
];

/**
 * Every text in which the secrets of auth headers may appear: as they are, and escaped in JSON. Longest first, so that
 * replacing them in order leaves no rest of a longer one.
 *
 * @param values - of headers
 * @param minLength - what is shorter is no secret
 */
export function secretForms(values: readonly string[], minLength: number): string[] {
  const forms = new Set<string>();
  for (const secret of values.flatMap((value) => secretsIn(value.trim(), minLength))) {
    forms.add(secret);
    const json = JSON.stringify(secret).slice(1, -1);
    for (const write of jsonWriters) forms.add(write(json));
  }
  return [...forms].sort((one, other) => other.length - one.length);
}

/** Of `Bearer abc` the key, of Basic credentials also the password; the rest of the value is no secret. */
function secretsIn(value: string, minLength: number): string[] {
  const firstLongEnough = (part: string, whole: string) =>
    [part, whole].find(({ length }) => length >= minLength);
  const [, scheme = "", key = value] = schemed.exec(value) ?? [];
  // If a part is too short, the whole value counts.
  const secrets = [firstLongEnough(key, value)];
  if (scheme.toLowerCase() === "basic") {
    // A key may be the user, without a password.
    const pair = Buffer.from(key, "base64").toString("utf8").replace(/:$/, "");
    secrets.push(firstLongEnough(pair.slice(pair.indexOf(":") + 1), pair));
  }
  return secrets.filter((secret) => secret !== undefined);
}

function escapedLower(character: string): string {
  return `\\u${hexOf(character)}`;
}

function escapedUpper(character: string): string {
  return `\\u${hexOf(character).toUpperCase()}`;
}

/** Of `\"`, which JSON has escaped already, the quote's. */
function hexOf(character: string): string {
  return character
    .charCodeAt(character.length - 1)
    .toString(16)
    .padStart(4, "0");
}

const replacement = "[redacted]";

/** Anyone's key. In errors alone: ordinary text such as `task-scheduler` matches too. */
export const openaiKey = /sk-[A-Za-z0-9_-]{8,}/g;

/**
 * Removes credentials from a provider's text. Contract §6: error bodies pass with the participant's secrets scrubbed. For a
 * complete text; `ResponseScrubber` does it for a response in transit.
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
