// Makes texts that others have written safe to print on a terminal.

// Control, format, unassigned and similar characters, but not the joiners, with which some names are spelled.
const UNPRINTABLE = /(?![ \u200c\u200d])[\p{C}\p{Z}]/gu;

/** Replaces unprintable characters, which could move the cursor or disguise one text as another. */
export const printable = (text) => text.replace(UNPRINTABLE, "\ufffd");

/** Writes them in JSON as escapes. */
export const printableJson = (json) =>
  json.replace(UNPRINTABLE, (found) =>
    found.replace(/[^]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`),
  );
