// The games, and the deal that follows from a seed.

import { hash } from "./encoding.mjs";
import cornerStones from "./games/corner-stones.mjs";
import corners from "./games/corners.mjs";
import freecell from "./games/freecell.mjs";
import gallery from "./games/gallery.mjs";
import golf from "./games/golf.mjs";
import { kingsInTheCorners, theEdge } from "./games/grid.mjs";
import klondike from "./games/klondike.mjs";

const ALL = [cornerStones, theEdge, corners, kingsInTheCorners, gallery, golf, freecell, klondike];
export const GAMES = new Map(ALL.map((game) => [game.slug, game]));

/** Returns a function that answers the next random number below n. */
export function numbersOf(label) {
  let block = 0;
  let words = [];
  const nextWord = () => {
    if (words.length === 0) {
      const view = new DataView(hash(`${label}|${block++}`).buffer);
      words = Array.from({ length: 8 }, (_, i) => view.getUint32(4 * i));
    }
    return words.shift();
  };
  return (n) => {
    // Words beyond the last multiple of n would make small numbers more likely.
    for (;;) {
      const word = nextWord();
      if (word < 2 ** 32 - (2 ** 32 % n)) return word % n;
    }
  };
}

/** Shuffles until the rules accept the cards. Returns them in the order they are dealt, with the first state. */
export function deal(game, seed, variant = {}) {
  const known = game.knownCards?.(seed);
  if (known) return { cards: known, shuffles: 0, state: game.deal(known, variant) };
  const below = numbersOf(`${game.slug}|${seed}`);
  for (let shuffles = 1; ; shuffles++) {
    const cards = game.pack();
    for (let i = cards.length - 1; i > 0; i--) {
      const j = below(i + 1);
      [cards[i], cards[j]] = [cards[j], cards[i]];
    }
    const state = game.deal(cards, variant);
    if (state !== null) return { cards, shuffles, state };
  }
}
