// Makes untrusted text safe to print on a terminal.

// Control, format, unassigned and similar characters, except the joiners, which some names need.
const UNPRINTABLE = /(?![ \u200c\u200d])[\p{C}\p{Z}]/gu;

/** Replaces unprintable characters, which could move the cursor or disguise one text as another. */
export const printable = (text) => text.replace(UNPRINTABLE, "\ufffd");

/** Escapes unprintable characters in JSON. */
export const printableJson = (json) =>
  json.replace(UNPRINTABLE, (found) =>
    found.replace(/[^]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`),
  );
