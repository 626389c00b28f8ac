import { stringify } from "yaml";
import { downloadFor, type ReleaseFacts } from "./release-facts.ts";

const identifier = "Roomhub.Roomhub";
const manifestVersion = "1.6.0";
const locale = "en-US";

/**
 * The three manifests of a version, which install the executable for one user.
 * https://learn.microsoft.com/windows/package-manager/package/manifest
 *
 * @returns texts by file name
 */
export function wingetManifests(facts: ReleaseFacts): Record<string, string> {
  const { url, sha256 } = downloadFor(facts, "win32-x64");
  return {
    [`${identifier}.yaml`]: manifest("version", facts, { DefaultLocale: locale }),
    [`${identifier}.installer.yaml`]: manifest("installer", facts, {
      InstallerType: "portable",
      Commands: ["roomhub"],
      UpgradeBehavior: "install",
      Installers: [
        { Architecture: "x64", InstallerUrl: url, InstallerSha256: sha256.toUpperCase() },
      ],
    }),
    [`${identifier}.locale.${locale}.yaml`]: manifest("defaultLocale", facts, {
      PackageLocale: locale,
      Publisher: "roomhub",
      PackageName: "roomhub",
      PackageUrl: facts.homepage,
      License: facts.license,
      ShortDescription: facts.description,
      Moniker: "roomhub",
      Tags: ["llm", "openai", "self-hosted"],
    }),
  };
}

function manifest(type: string, { version }: ReleaseFacts, fields: object): string {
  return stringify({
    PackageIdentifier: identifier,
    PackageVersion: version,
    ...fields,
    ManifestType: type,
    ManifestVersion: manifestVersion,
  });
}
