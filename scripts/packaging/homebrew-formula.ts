import { downloadFor, type ReleaseFacts } from "./release-facts.ts";

const systems = [
  { block: "on_macos", platform: "darwin" },
  { block: "on_linux", platform: "linux" },
];
const processors = [
  { block: "on_arm", arch: "arm64" },
  { block: "on_intel", arch: "x64" },
];

/** A formula that installs the executable. https://docs.brew.sh/Formula-Cookbook */
export function homebrewFormula(facts: ReleaseFacts): string {
  return `class Roomhub < Formula
  desc ${quoted(facts.description)}
  homepage ${quoted(facts.homepage)}
  version ${quoted(facts.version)}
  license ${quoted(facts.license)}

${systems.map((system) => downloads(facts, system)).join("\n\n")}

  def install
    bin.install Dir["roomhub-*"].first => "roomhub"
    generate_completions_from_executable(bin/"roomhub", "completion", shells: [:bash, :zsh, :fish])
  end

  service do
    run [opt_bin/"roomhub", "serve"]
    keep_alive crashed: true
    log_path var/"log/roomhub.log"
    error_log_path var/"log/roomhub.log"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/roomhub --version")
  end
end
`;
}

function downloads(facts: ReleaseFacts, system: { block: string; platform: string }): string {
  const blocks = processors.map(({ block, arch }) => {
    const { url, sha256 } = downloadFor(facts, `${system.platform}-${arch}`);
    return `    ${block} do
      url ${quoted(url)}
      sha256 ${quoted(sha256)}
    end`;
  });
  return `  ${system.block} do
${blocks.join("\n")}
  end`;
}

/** Ruby reads \`#{\` inside double quotes as code. */
function quoted(text: string): string {
  return `"${text.replaceAll(/[\\"#]/g, String.raw`\$&`)}"`;
}
