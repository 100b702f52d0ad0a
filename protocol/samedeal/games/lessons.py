"""Lessons: strategy for each game, and a practice deal whose first moves show how it is played.

Cards in texts are in notation form; clients show them with symbols.
"""

from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from samedeal.game import Move


class Step(Struct, frozen=True):
    """A move of a practice deal."""

    move: Move
    text: str
    """What to do, and why."""


class Practice(Struct, frozen=True):
    """A practice deal."""

    seed: str
    steps: tuple[Step, ...]
    """The first moves."""


PRACTICE: Final[Mapping[str, Practice]] = {
    "corner-stones": Practice(
        "4",
        (
            Step("c4d4", "The row of diamonds builds down from its king. The QD is in a corner: move it onto the KD."),
            Step("c2d4", "Corners can play to every row. The JD follows the QD."),
            Step("c4u3", "The other foundations build up from the ace. Move the 2C onto the AC."),
            Step("l3r1", "Any card can go onto one that is adjacent in rank, in any suit. Move the 5H onto the 4H."),
            Step("l3d3", "This uncovers the QC. It is beside its own row, so it can go onto the KC."),
            Step("l3c2", "The QS is beside another row, so it cannot reach the KS. Move it to a corner, onto the JS."),
            Step("c2d1", "From the corner it can go to any row: move the QS onto the KS."),
            Step("c2d1", "The JS follows. An empty corner takes any card; an empty side stack stays empty."),
        ),
    ),
    "the-edge": Practice(
        "226",
        (
            Step("b2", "Place the 4H on the marked cell. The middle cells suit cards from ace to ten."),
            Step("b3", "The 6H makes ten with the 4H. Place it in the middle, too."),
            Step("a1", "Kings go only to the four corners."),
            Step("c2", "An ace counts one. Place the AD in the middle."),
            Step("a4", "Another king for a corner."),
            Step("b1", "Queens go only to the cells marked Q."),
            Step("c3", "Fill the middle with the 5H: cards on the edge can block a face card."),
            Step("a2", "Jacks go only to the cells marked J."),
            Step("a3", "Another jack."),
            Step("b4", "The middle is full, so place the 8S on a cell for a queen. Two are still free."),
            Step("d1", "Place the 3C in a corner. One more corner stays free for a king."),
            Step("d2", "The TC can be cleared alone, so it blocks this cell only for a while."),
            Step("c1", "Place the 8H."),
            Step("d3", "Place the 3H."),
            Step("d4", "Place the AC."),
            Step("c4", "The AS fills the grid. Now you can clear cards that make ten."),
            Step("d2-", "A ten makes ten alone: clear the TC."),
            Step("b4+c2+c4", "Any number of cards can make ten: clear the 8S with the AD and the AS."),
            Step("draw", "You may clear more, or draw. When all twelve face cards are placed, you win."),
        ),
    ),
    "corners": Practice(
        "225",
        (
            Step("r2", "The four outer cards are foundations, which build up in suit. Move the 3H onto the 2H."),
            Step("r4", "The next card of the stock has filled the place. Move the 2D onto the AD."),
            Step("draw", "Nothing fits now: draw a card to the waste."),
            Step("draw", "The TD does not fit yet. Draw again."),
            Step("w", "The 3D follows the 2D. You can always play the top card of the waste."),
            Step("draw", "Draw again."),
            Step("draw", "The 8D does not fit yet. Draw again."),
            Step("w", "Move the 3S onto the 2S. When the stock is empty, you can turn the waste over twice."),
        ),
    ),
    "kings-in-the-corners": Practice(
        "2",
        (
            Step("a1", "Kings go only to the four corners. Place the KH on the marked cell."),
            Step("b1", "Queens go only to the cells marked Q."),
            Step("b2", "Cards from ace to ten can go anywhere. Fill the middle first."),
            Step("b3", "Place the TD in the middle."),
            Step("c2", "Place the TS in the middle."),
            Step("c3", "The 2S completes the middle."),
            Step("a2", "Now the 9S has to block a cell. There are four for jacks, so take one of those."),
            Step("b4", "Another queen."),
            Step("a4", "The 9C has to block a cell, too."),
            Step("c1", "Another queen. One cell is left for the last one."),
            Step("a3", "Place the 4H."),
            Step("d1", "Place the 9H in a corner. One corner stays free."),
            Step("d2", "Place the 4C. One cell for a jack stays free."),
            Step("d3", "Place the 3S. It makes ten with the 7D."),
            Step("d4", "Place the 8H."),
            Step("c4", "The 8C fills the grid. Now you clear tens, and pairs that make ten."),
            Step("b2+d3", "Clear the 7D with the 3S. This frees a cell for a jack."),
            Step(
                "c3+c4", "The 2S makes ten with either eight. The 8C is on the last cell for a queen: clear that one."
            ),
            Step("b3-", "Tens go alone: clear the TD."),
            Step("c2-", "Everything that can go must go. After the TS the next card comes by itself."),
        ),
    ),
    "gallery": Practice(
        "1",
        (
            Step("t8", "The 2C is at home in the top row, which goes up by threes: 2 5 8 J. Play the 5C onto it."),
            Step("deal", "Nothing can be played. Deal a card to each pile below the rows."),
            Step("t6", "The top row has an empty spot: play the 2H there."),
            Step("deal", "Deal again. Aces leave the table by themselves."),
            Step("t6", "The middle row goes 3 6 9 Q. Play the 6D onto the 3D: the 9D follows by itself."),
            Step("t8", "This empties a spot of the middle row. Play the 3C there."),
            Step("b4", "Cards that are astray in the rows can be played, too: the 6C goes onto the 3C."),
            Step("deal", "Deal again, and play on. The score counts the cards that are not home: lower is better."),
        ),
    ),
    "golf": Practice(
        "82",
        (
            Step(
                "c5", "The TS is next to the 9S on the waste, and suits do not matter: play it there. The 8D fits, too."
            ),
            Step("c3", "Both jacks are next to the ten. Play the JC: the TH under it can go on at once."),
            Step("c3", "Runs can turn around: the TH goes onto the JC."),
            Step("c1", "And up again: play the JS."),
            Step("c3", "The QH fits. A king could go onto it, but nothing could ever go onto the king."),
            Step("draw", "Nothing fits the QH. Turn over the next card: there are only sixteen."),
            Step("c4", "The 8D goes onto the 9H."),
            Step("c2", "Then the 7H, and after it the 6S and the 5S. Look for the longest run before you play."),
            Step("c6", "The 6S."),
            Step("c1", "The 5S. Cards that are left in the columns count against you: fewer is better."),
        ),
    ),
    "freecell": Practice(
        "14",
        (
            Step("home", "Aces start the foundations. Home sends every card up that no other card needs: here the AC."),
            Step("c2a1", "Two aces lie at the bottom of this column. Move the 7D to a free cell: each holds one card."),
            Step("c2a2", "The 9H goes to the next cell."),
            Step("c2a3", "And the 9S."),
            Step("c2a4", "The 5D fills the last cell. Do this only if you see what comes next."),
            Step("c2c8", "Columns go down in alternating colours: move the 3C onto the 4D."),
            Step("home", "The AD and the AH are free. Send them home; the column is empty now."),
            Step("c5c2", "An empty column takes any card. The 3D uncovers the QD."),
            Step("c5c7", "Move the QD onto the KC."),
            Step("c5c1", "The 6D goes onto the 7C."),
            Step("home", "Send the safe cards home again."),
            Step("c3c1", "The 5C goes onto the 6D. Cards in order move together, as many as the cells have room for."),
        ),
    ),
    "klondike": Practice(
        "1311",
        (
            Step(
                "c7c5", "Columns go down in alternating colours: move the TS onto the JD. The card under it turns up."
            ),
            Step("home", "Aces start the foundations. Home sends the AD up, and the 2D after it."),
            Step("home", "The AS turned up: send it home, too."),
            Step("c4c3", "The 6H goes onto the 7S."),
            Step("c3c2", "Cards in order move together: move the 7S and the 6H onto the 8D."),
            Step("c3c5", "The 9H goes onto the TS."),
            Step("c3f4", "The 3D goes home, and its column is empty."),
            Step("c7f4", "The 4D follows."),
            Step("c4c3", "Only kings go to empty columns. Move the KH: two cards lie face down under it."),
            Step("c5c4", "Move the JD onto the QS, with the TS and the 9H."),
            Step("c4c3", "Then all of them, from the QS to the 9H, onto the KH."),
            Step("draw", "Draw three cards from the stock. Only the top one, the AC, can be played."),
            Step("wf3", "The AC goes home."),
            Step("draw", "Draw again. When the stock is empty, you can turn the waste over."),
            Step("wc1", "The 6S goes onto the 7H."),
        ),
    ),
}
"""The practice deal of each game that has one, by slug."""

STRATEGY: Final[Mapping[str, tuple[str, ...]]] = {
    "corner-stones": (
        "Play cards to the foundations early: a card there is out of the way for good.",
        "Keep the side stacks alive. Take the last card of one only to a foundation, because an empty side stack is "
        "lost as a place.",
        "Empty a corner when you can. It takes any card, and from there the card reaches every row.",
        "Before you cover a card, look where both copies of the cards that the foundations need next are.",
    ),
    "the-edge": (
        "Fill the four cells in the middle first: no face card needs them.",
        "When you have to use a cell of the edge, take one of the kind with the most free cells, and put a card there "
        "that you can clear soon, such as a ten.",
        "Clear pairs rather than larger groups where you can: eights and nines need the low cards.",
        "Clear cards from the edge before those in the middle.",
    ),
    "corners": (
        "You need not play a card at once. Each play from the reserve takes the next card of the stock, so the order "
        "of your plays decides which cards the reserve catches.",
        "Remember the waste. After it is turned over, its cards come in the same order: free a place of the reserve "
        "just before a card that the waste would bury.",
        "A card on which others of its suit wait is the most urgent one.",
    ),
    "kings-in-the-corners": (
        "Fill the four cells in the middle first: no face card needs them.",
        "Spread the cards that block the edge over the cells of kings, queens and jacks, so that each kind keeps a "
        "free one.",
        "Every pair has to go, but where several cards fit, you choose: clear the one on the edge.",
        "Count the face cards: a free cell is needed only for those that are still to come.",
    ),
    "gallery": (
        "Not every card that can be played should be. Ask first what its place could be used for otherwise.",
        "Look for the twin of a card: the second copy often solves what the first one blocks.",
        "A pile is jammed when its last card waits for a card under it. Only the twin of the covered card "
        "frees it, so keep a place for that twin.",
        "Empty spots of the rows are worth most while bases are still to come.",
    ),
    "golf": (
        "Before you play a card, look for the longest run: where two cards fit, the one whose neighbours are free is "
        "usually better.",
        "Play from the longest columns, so that many cards stay free.",
        "Kings end a run. Play one only when nothing else fits, or when it covers cards that you need.",
        "Turn a card over only when nothing fits: there are sixteen for thirty-five cards.",
    ),
    "freecell": (
        "Look for the aces and twos first, and for the columns in which they lie least deep.",
        "Keep cells free. A full cell costs a place until its card fits somewhere, so know where it will go.",
        "Empty a column early: it doubles the number of cards that move together.",
        "Build long runs on kings and on high cards, not on cards that cover what you need.",
    ),
    "klondike": (
        "Turn cards up first: prefer moves that uncover a face-down card, in the column with the most of them.",
        "Don't empty a column before a king is ready for it.",
        "Draw through the stock once before you play from the waste: each card that leaves it changes which cards come "
        "to the top in the next pass.",
        "Don't send every card home at once. Those that lower cards may need can wait in the columns.",
    ),
}
"""Advice for each game, by slug."""
