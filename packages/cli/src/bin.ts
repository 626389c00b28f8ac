import { limitHeapWhileLoading } from "./heap-growth.ts";

// Before any other module is loaded.
limitHeapWhileLoading();

// A reader that closes the pipe early (`roomhub events | head`) is not a failure.
for (const stream of [process.stdout, process.stderr]) {
  stream.on("error", (error: NodeJS.ErrnoException) => {
    process.exit(error.code === "EPIPE" ? 0 : 1);
  });
}

// People look at it first, and it needs little of the program.
if (["--help", "-h"].includes(process.argv.slice(2).join(" "))) {
  const { printHelp } = await import("./command-list.ts");
  await printHelp(process.stdout);
} else {
  await import("./main.ts");
}
