/**
 * `npm run screenshots:monitor`: the pictures of the page that watches a room, and of `roomhub top`, in docs/images. Made
 * from a real hub with participants whose models write at a steady rate. Needs chromium.
 */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { BrowserContextOptions } from "playwright-core";
import { launchChromium, openWatchedPage } from "../tests/support/monitor/watched-page.ts";
import { startLivelyRoom } from "./lively-room.ts";
import { smallPng } from "./small-png.ts";
import { topPicture } from "./top-picture.ts";

const images = fileURLToPath(new URL("../docs/images/", import.meta.url));
const maxBytes = 150_000;
/** Until there is something of everything: requests that ended, run, wait and failed. */
const watchedMs = 25_000;

interface Shot extends BrowserContextOptions {
  press?: string;
  /** of the chat, which is opened for it */
  prompt?: string;
}

const shots: Record<string, Shot> = {
  desktop: { viewport: { width: 1_280, height: 800 }, colorScheme: "dark" },
  light: { viewport: { width: 1_280, height: 800 }, colorScheme: "light" },
  dark: { viewport: { width: 1_024, height: 768 }, colorScheme: "dark" },
  phone: { viewport: { width: 390, height: 844 }, colorScheme: "light" },
  projector: { viewport: { width: 1_920, height: 1_080 }, colorScheme: "dark", press: "p" },
  chat: {
    ...{ viewport: { width: 1_024, height: 768 }, colorScheme: "light" },
    prompt: "How do I find the largest files below a folder?",
  },
};
/** As a hub on a home network is called: its port on this machine is another one each time. */
const host = "hub.lan:5050";

await using room = await startLivelyRoom();
await using browser = await launchChromium({ [host]: Number(new URL(room.hubUrl).port) });
await using stack = new AsyncDisposableStack();
const pages = [];
const shown = { hubUrl: `http://${host}`, code: room.code };
for (const [name, { press, prompt, ...options }] of Object.entries(shots)) {
  const watched = stack.use(
    await openWatchedPage(browser, shown, { ...options, reducedMotion: "reduce" }),
  );
  if (press !== undefined) await watched.page.keyboard.press(press);
  if (prompt !== undefined) {
    await watched.page.getByRole("link", { name: "Try it" }).first().click();
    await watched.page.getByLabel("Prompt").fill(prompt);
    await watched.page.getByLabel("Prompt").press("Enter");
  }
  pages.push({ name, page: watched.page });
}
const top = topPicture(room, { columns: 110, rows: 30, watchedMs });
await new Promise((resolve) => setTimeout(resolve, watchedMs));
// Compressing takes seconds, in which this process would relay nothing.
const taken = [];
for (const { name, page } of pages) taken.push({ name, png: await page.screenshot() });
await writeFile(join(images, "top.svg"), await top);
for (const { name, png } of taken) {
  const picture = smallPng(png);
  const file = `monitor-${name}.png`;
  const { length } = picture;
  if (length > maxBytes) throw new Error(`${file} has ${length} bytes, more than ${maxBytes}.`);
  await writeFile(join(images, file), picture);
  process.stdout.write(`${file} ${Math.ceil(length / 1_000)} KB\n`);
}
