import type { Ran, ServiceHost } from "./service-unit.ts";

/** A machine of which everything that was done to it can be read. */
export interface TestMachine extends ServiceHost {
  files: Map<string, { text: string; isPrivate: boolean }>;
  /** Programs that were run, each as one line. */
  ran: string[];
}

/** @param reply - of a program, by its line; without one it succeeds and prints nothing */
export function emptyMachine(
  platform = "linux",
  reply: (line: string) => Partial<Ran> = () => ({}),
): TestMachine {
  const files: TestMachine["files"] = new Map();
  const ran: string[] = [];
  return {
    files,
    ran,
    platform,
    homeFolder: "/home/ana",
    currentFolder: "/home/ana/lab",
    userId: 501,
    program: ["/usr/bin/node", "/usr/lib/node_modules/roomhub/bin/roomhub.js"],
    writeFile: async (path, text, isPrivate) => {
      files.set(path, { text, isPrivate });
    },
    removeFile: async (path) => {
      files.delete(path);
    },
    listFolder: async (folder) =>
      [...files.keys()]
        .filter((path) => path.startsWith(folder))
        .map((path) => path.slice(folder.length + 1)),
    wait: async () => {},
    run: async (command, args) => {
      const line = [command, ...args].join(" ");
      ran.push(line);
      return { code: 0, stdout: "", stderr: "", ...reply(line) };
    },
  };
}
