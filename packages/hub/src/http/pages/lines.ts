import { type PastedHub, shellWord } from "@roomhub/protocol";

/** What a page knows about the hub: where it is, and what it hands out. */
export interface PageFacts {
  /** the hub's URL as the client knows it, without a slash at its end: where links lead */
  origin: string;
  /** the hub in lines to paste */
  hub: PastedHub;
  version: string;
  /** of the program, in hexadecimal; undefined until it was made */
  sha512: string | undefined;
}

/** The line that shares a model, in three steps, for those who look at what they run first. */
export function carefulLines({ hub, version }: PageFacts, code: string): string[] {
  const file = `roomhub-${version}.tgz`;
  return [
    `curl -fO ${shellWord(`${hub.hubUrl}/${file}`)}`,
    `sha512sum ${file}`,
    `npx -y ./${file} join ${shellWord(`${hub.hubUrl}/rooms/${code}`)}`,
  ];
}

/** The page that watches a room, at the hub that hands it out. */
export function monitorUrl(origin: string, code: string): string {
  return `${origin}/monitor/?${new URLSearchParams({ hub: origin, room: code }).toString()}`;
}
