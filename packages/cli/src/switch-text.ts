/** The words for on and off, in every setting and variable. @returns undefined for any other text */
export function switchFromText(given: string): boolean | undefined {
  const word = given.toLowerCase();
  if (["1", "true", "yes", "on"].includes(word)) return true;
  return ["0", "false", "no", "off"].includes(word) ? false : undefined;
}
