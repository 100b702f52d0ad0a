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
//   cardsOf(seed)         the cards of a seed that is not shuffled, in the order they are dealt; null for others
//   deal(cards, variant)  the first state, or null if the cards must be shuffled again
//   isWon(state)          whether the game is won
//   moves(state)          the legal moves of a game that is not won, in the documented order
//   play(state, move)     the state after a legal move
//   home(state)           the progress, out of `goal`
//   table(state)          the piles as clients see them
//   notes(state)          other facts that clients see
//   hidden(state)         how many cards are face down; without it, those of the `stock` of the state
// States are never changed. The next card of a stock is the last one.

/** Whether a move from one state of a game to another has turned cards: then it cannot be undone. */
export function reveals(game, before, after) {
  const hidden = game.hidden ?? ((state) => state.stock?.length);
  return String(hidden(before)) !== String(hidden(after));
}
