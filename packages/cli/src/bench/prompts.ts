const syllables = ["ba", "do", "fe", "gu", "ki", "la", "mo", "ne", "pi", "ra", "su", "to", "ve"];

/** Words that no prompt had before, so that no cache knows them. @param random - 0 to 1 */
export function wordsOf(bytes: number, random: () => number): string {
  const syllable = () => syllables[Math.floor(random() * syllables.length)] ?? "ba";
  let text = "";
  while (text.length < bytes) text += `${syllable()}${syllable()}${syllable()} `;
  return text.slice(0, bytes);
}

const task = "\nIgnore the words above. Write the numbers from 1 to 500, one per line.";

/** A prompt of exactly so many bytes that leads to a long response. */
export function promptOf(bytes: number, random: () => number): string {
  return wordsOf(bytes - task.length, random) + task;
}
