// Cards, packs, and what all games share. A card is a text such as TD; a pile is an array from bottom to top.

export const RANKS = "A23456789TJQK";
export const SUITS = "SHCD";

export const rank = (card) => RANKS.indexOf(card[0]) + 1;
export const suit = (card) => card[1];
export const top = (pile) => pile[pile.length - 1];
export const faceDown = (pile) => pile.map(() => "??");
export const deck = (ranks = RANKS) => [...SUITS].flatMap((suit) => [...ranks].map((rank) => rank + suit));

/** The card that is so many ranks higher in the same suit, or null if there is none. */
export function shifted(card, by) {
  const letter = RANKS[rank(card) - 1 + by];
  return letter === undefined ? null : letter + suit(card);
}

// The interface of a game:
//   slug, rules, goal
//   variants              the values of each option, its default first
//   end                   the outcome if no move is left: stuck, lost or over
//   pack()                the cards before the shuffle
//   deal(cards, variant)  the first state, or null if the cards must be shuffled again
//   isWon(state)          whether the game is won
//   moves(state)          the legal moves of a game that is not won, in the documented order
//   play(state, move)     the state after a legal move
//   home(state)           the progress, out of `goal`
//   table(state)          the piles as clients see them
//   notes(state)          other facts that clients see
// States are never changed. If a game has face-down cards, they are the `stock` of its state, with the next card last.

/** Whether a move from one state to another has revealed a card: then it cannot be undone. */
export const reveals = (before, after) => before.stock !== after.stock && String(before.stock) !== String(after.stock);
