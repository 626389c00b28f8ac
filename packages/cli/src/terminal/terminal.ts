/** One of the two output streams. */
export interface Terminal {
  write(text: string): void;
  readonly isTTY: boolean;
  /** Current width in cells; undefined when it is not a terminal. */
  readonly columns: number | undefined;
  /** Current height in lines; undefined when it is not a terminal. */
  readonly rows: number | undefined;
}

/** A screen that is hidden while the program is suspended. */
export interface SuspendedScreen {
  leave(): void;
  enter(): void;
}
