// What is inside the command, as CycloneDX 1.5. https://cyclonedx.org/docs/1.5/json/
import type { Bundled } from "./third-party.ts";

/** The same for the same packages: it has no time and no serial number. */
export function sbomDocument(version: string, packages: readonly Bundled[]): object {
  const self = component({ name: "roomhub", version, licence: "MIT" }, "application");
  const components = packages.map((one) => component(one, "library"));
  return {
    bomFormat: "CycloneDX",
    specVersion: "1.5",
    version: 1,
    metadata: { component: self },
    components,
    dependencies: [
      { ref: self["bom-ref"], dependsOn: components.map((one) => one["bom-ref"]) },
      ...components.map((one) => ({ ref: one["bom-ref"] })),
    ],
  };
}

function component(
  { name, version, licence }: Pick<Bundled, "name" | "version" | "licence">,
  type: "application" | "library",
) {
  const purl = `pkg:npm/${name.replace("@", "%40")}@${version}`;
  const isExpression = /[ ()]/.test(licence);
  const licences = [isExpression ? { expression: licence } : { license: { id: licence } }];
  return { type, name, version, purl, "bom-ref": purl, licenses: licences };
}
