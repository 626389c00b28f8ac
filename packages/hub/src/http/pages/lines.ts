/** What a page knows about the hub: where it is, and what it hands out. */
export interface PageFacts {
  /** the hub's URL as the client knows it, without a slash at its end */
  origin: string;
  version: string;
  /** undefined when the hub hands out no program */
  handout: { sha512: string | undefined } | undefined;
}

/** The one line that shares a model in a room. */
export function joinLine({ origin, handout }: PageFacts, code: string): string {
  const program =
    handout === undefined ? "roomhub" : `npx -y ${shellWord(`${origin}/roomhub.tgz`)}`;
  return `${program} join ${shellWord(`${origin}/rooms/${code}`)}`;
}

/** The same in three steps, for those who look at what they run first. */
export function carefulLines({ origin, version }: PageFacts, code: string): string[] {
  const file = `roomhub-${version}.tgz`;
  return [
    `curl -fO ${shellWord(`${origin}/${file}`)}`,
    `sha512sum ${file}`,
    `npx -y ./${file} join ${shellWord(`${origin}/rooms/${code}`)}`,
  ];
}

/** Quoted where a shell would read more than letters: `[::1]` is a pattern. */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./~-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
