import { spawn } from "node:child_process";
import { clientText, type World } from "@roomhub/protocol";
import type { ParticipantNotice } from "@roomhub/participant";
import { safe } from "../terminal/text.ts";

const title = "roomhub";
/** Also the least time between two notifications. */
const idleMs = 60_000;

/**
 * Notifies when a request starts after a minute without any.
 *
 * @param say - prints a line, once, where notifications are not possible
 */
export function notifyOfUse(
  context: { notifyDesktop: (text: string) => Promise<boolean>; world: World },
  say: (line: string) => void,
): (notice: ParticipantNotice) => void {
  let lastUseMs = Number.NEGATIVE_INFINITY;
  let isPossible = true;
  const notify = async (text: string) => {
    if (await context.notifyDesktop(text)) return;
    if (isPossible) say("! this machine has no program that shows notifications");
    isPossible = false;
  };
  return (notice) => {
    if (notice.kind !== "request-started" && notice.kind !== "request-ended") return;
    const isFirst =
      notice.kind === "request-started" && context.world.wallMs() - lastUseMs >= idleMs;
    lastUseMs = context.world.wallMs();
    if (!isFirst || !isPossible) return;
    void notify(`${safe(clientText(notice.client) ?? "Someone")} uses ${safe(notice.model)}`);
  };
}

/**
 * Shows a notification on the desktop. Never waits for the program to end. Its arguments may contain anything, so no shell
 * reads them.
 *
 * @returns false where this machine has no program for it
 */
export function notifyDesktop(text: string): Promise<boolean> {
  const { command, args, env } = notifierOf(process.platform, text);
  return new Promise((resolve) => {
    const child = spawn(command, args, {
      stdio: "ignore",
      windowsHide: true,
      env: { ...process.env, ...env },
    });
    child.once("error", () => resolve(false));
    child.once("spawn", () => resolve(true));
    child.unref();
  });
}

interface Notifier {
  command: string;
  args: string[];
  env?: Record<string, string>;
}

/** The program that each system has for it. */
export function notifierOf(platform: NodeJS.Platform, text: string): Notifier {
  switch (platform) {
    case "darwin": {
      const script = "display notification (item 1 of argv) with title (item 2 of argv)";
      const lines = ["on run argv", script, "end run"].flatMap((line) => ["-e", line]);
      return { command: "osascript", args: [...lines, "--", text, title] };
    }
    case "win32":
      return {
        command: "powershell.exe",
        args: ["-NoProfile", "-NonInteractive", "-Command", toastScript],
        env: { ROOMHUB_TOAST_TITLE: title, ROOMHUB_TOAST_TEXT: text },
      };
    default:
      // The text may be markup: https://specifications.freedesktop.org/notification-spec/latest/markup.html
      return { command: "notify-send", args: ["--app-name", title, "--", title, asMarkup(text)] };
  }
}

/** A toast needs an application that Windows knows; PowerShell is one. */
const toastScript = `
$manager = [Windows.UI.Notifications.ToastNotificationManager, Windows.UI.Notifications, ContentType = WindowsRuntime]
$toast = $manager::GetTemplateContent([Windows.UI.Notifications.ToastTemplateType]::ToastText02)
$texts = $toast.GetElementsByTagName('text')
[void]$texts.Item(0).AppendChild($toast.CreateTextNode($env:ROOMHUB_TOAST_TITLE))
[void]$texts.Item(1).AppendChild($toast.CreateTextNode($env:ROOMHUB_TOAST_TEXT))
$application = '{1AC14E77-02E7-4E5D-B744-2EB1AE5198B7}\\WindowsPowerShell\\v1.0\\powershell.exe'
$manager::CreateToastNotifier($application).Show([Windows.UI.Notifications.ToastNotification]::new($toast))
`;

function asMarkup(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
