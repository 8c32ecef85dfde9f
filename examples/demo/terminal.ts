import process from "node:process";
import type { WriteStream } from "node:tty";

export type Style = "plain" | "dim" | "bold" | "green" | "red" | "yellow" | "cyan";

/** A part of a line. Every character in it is as wide as a letter. */
export type Part = string | readonly [Style, string];

const CODES: Record<Style, string> = { plain: "", dim: "2", bold: "1", green: "32", red: "31", yellow: "33", cyan: "36" };

const HIDE_CURSOR = "\x1b[?25l";
const SHOW_CURSOR = "\x1b[?25h";
const CLEAR_BELOW = "\x1b[J";

/** A block of lines on a terminal that is drawn again in the same place. */
export interface Block {
  draw(lines: readonly Part[][]): void;
  /** Leaves the block as it is and goes on below it. */
  end(): void;
}

/** Whether lines can be drawn again there. */
export function isTerminal(stream: NodeJS.WriteStream): boolean {
  return stream.isTTY === true && process.env.TERM !== "dumb";
}

export function usesColor(stream: NodeJS.WriteStream): boolean {
  return isTerminal(stream) && !process.env.NO_COLOR;
}

/** Some terminals do not know their size. */
export function columnsOf(stream: NodeJS.WriteStream): number {
  return stream.columns || 80;
}

export function paint(parts: readonly Part[], color: boolean): string {
  return parts.map((part) => {
    const [style, text] = typeof part === "string" ? ["plain", part] as const : part;
    return color && CODES[style] ? `\x1b[${CODES[style]}m${text}\x1b[0m` : text;
  }).join("");
}

/** Cuts a line to so many columns. */
export function fit(parts: readonly Part[], columns: number): Part[] {
  let left = columns;
  return parts.flatMap((part): Part[] => {
    const [style, text] = typeof part === "string" ? ["plain", part] as const : part;
    const cut = [...text].length > left ? `${[...text].slice(0, Math.max(0, left - 1)).join("")}${left > 0 ? "…" : ""}` : text;
    left -= [...text].length;
    return cut === "" ? [] : [[style, cut]];
  });
}

export function startBlock(stream: WriteStream): Block {
  const color = usesColor(stream);
  let drawn: number[] = [];
  const showCursor = () => void stream.write(SHOW_CURSOR);
  process.once("exit", showCursor);
  stream.write(HIDE_CURSOR);
  return {
    draw(lines) {
      const fitting = lines.map((line) => fit(line, columnsOf(stream) - 1));
      const text = fitting.map((line) => `${paint(line, color)}\n`).join("");
      const rows = rowsOf(drawn, columnsOf(stream));
      // In one piece, so that it does not flicker.
      stream.write(`${rows > 0 ? `\x1b[${rows}A` : ""}\r${CLEAR_BELOW}${text}`);
      drawn = fitting.map((line) => [...paint(line, false)].length);
    },
    end() {
      process.off("exit", showCursor);
      showCursor();
    },
  };
}

// A terminal that was made narrower since has wrapped the lines.
function rowsOf(lengths: readonly number[], columns: number): number {
  return lengths.reduce((rows, length) => rows + Math.max(1, Math.ceil(length / columns)), 0);
}
