// Card faces: corner indices, pips in the usual arrangement, and courts, drawn from one sprite in the page.

import { h, svg } from "./dom.js";
import { BACK, rankOf } from "./phrases.js";

const SUITS = { S: "spade", H: "heart", C: "club", D: "diamond" };

/** Suits in a square of 20, and the upper halves of the courts on a card of 100 by 140. */
const SYMBOLS = {
  spade: `<path d="M10 .8C8 5 1.6 8 1.6 12.4a4.2 4.2 0 0 0 7.4 2.7C8.8 17 8 18.4 6.6 19.2h6.8C12 18.4 11.2 17 11 15.1a4.2 4.2 0 0 0 7.4-2.7C18.4 8 12 5 10 .8z"/>`,
  heart: `<path d="M10 19C7.5 14.5 1.2 11.5 1.2 6.4A4.9 4.9 0 0 1 10 3.9a4.9 4.9 0 0 1 8.8 2.5C18.8 11.5 12.5 14.5 10 19z"/>`,
  club: `<path d="M10 .8a4.2 4.2 0 0 1 3.2 6.9 4.3 4.3 0 1 1-2.3 7.2c.1 2 1 3.5 2.5 4.3H6.6c1.5-.8 2.4-2.3 2.5-4.3a4.3 4.3 0 1 1-2.3-7.2A4.2 4.2 0 0 1 10 .8z"/>`,
  diamond: `<path d="M10 .6C12 4.3 14.3 7.3 17.2 10 14.3 12.7 12 15.7 10 19.4 8 15.7 5.7 12.7 2.8 10 5.7 7.3 8 4.3 10 .6z"/>`,
};
const ROBE = `<path d="M27 70V62q4-12 23-12t23 12v8z"/><path class="gilt" d="M40 51.5 50 70 60 51.5l-4.5-1L50 60l-5.5-9.5z"/><circle class="gilt" cx="33.5" cy="63" r="2.6"/><circle class="gilt" cx="66.5" cy="63" r="2.6"/>`;
const FACE = `<ellipse class="skin" cx="50" cy="40.5" rx="9" ry="11"/><path class="line" d="M45 39h2.6M52.4 39H55M50 40.5V44.5M47.3 47.2h5.4"/>`;
const COURTS = {
  K: `${ROBE}<path d="M39.5 33q-4 11 1.5 20h18q5.5-9 1.5-20z"/>${FACE}<path d="M41 42q1 13.5 9 13.5T59 42q-3 4.5-9 3.2T41 42z"/><path class="gilt" d="M38 32 35.5 18l7.5 6.5L50 15l7 9.5 7.5-6.5L62 32z"/><path class="line" d="M38.5 28.8h23"/>`,
  Q: `${ROBE}<path d="M50 27c-15 0-15 14-15.5 27L43 57h14l8.5-3C65 41 65 27 50 27z"/>${FACE}<path d="M40.6 38q3.9-5.5 9.4-7 5.5 1.5 9.4 7 .6-8-9.4-9.5-10 1.5-9.4 9.5z"/><path class="gilt" d="M39 30q-4.5-8-1-12 3 5.5 6.5 2.5Q47 18 50 14.5q3 3.5 5.5 6 3.5 3 6.5-2.5 3.5 4-1 12-11-4-22 0z"/><circle class="gilt" cx="50" cy="54.5" r="2"/>`,
  J: `${ROBE}<path d="M39.5 31 38 52q3.5 3.5 7 1h10q3.5 2.5 7-1L60.5 31z"/>${FACE}<path d="M41 37q1-5 4-5.5h10q3 .5 4 5.5l1-6H40z"/><path class="gilt" d="M36 32.5c-1.5-10 6-14.5 14-14.5s15.5 4.5 14 14.5q-14-4-28 0z"/><path d="M61 26c2-8 6-10.5 10-10 .5 5-2 10.5-8 12.5z"/>`,
};

/** The centres of the pips of each rank, as columns and rows on a card of 100 by 140; lower pips are upside down. */
const [LEFT, MIDDLE, RIGHT] = [34, 50, 66];
const pair = (...rows) => rows.flatMap((y) => [[LEFT, y], [RIGHT, y]]);
const single = (...rows) => rows.map((y) => [MIDDLE, y]);
const PIPS = {
  A: single(70),
  2: single(28, 112),
  3: single(28, 70, 112),
  4: pair(28, 112),
  5: [...pair(28, 112), ...single(70)],
  6: pair(28, 70, 112),
  7: [...pair(28, 70, 112), ...single(49)],
  8: [...pair(28, 70, 112), ...single(49, 91)],
  9: [...pair(26, 55.3, 84.7, 114), ...single(70)],
  T: [...pair(26, 55.3, 84.7, 114), ...single(40.6, 99.4)],
};

/** Adds the sprite to the page, once. */
function addSprite() {
  if (document.getElementById("sprite")) return;
  const symbols = Object.entries(SYMBOLS).map(([name, shape]) => `<g id="${name}">${shape}</g>`);
  const courts = Object.entries(COURTS).map(([rank, half]) => `<g id="court-${rank}">${half}</g>`);
  const attributes = 'id="sprite" class="sr" aria-hidden="true"';
  document.body.append(svg("0 0 1 1", `<defs>${symbols.join("")}${courts.join("")}</defs>`, attributes));
}

const suitAt = (suit, x, y, size, turned = false) =>
  `<use href="#${SUITS[suit]}" transform="translate(${x} ${y})${turned ? " rotate(180)" : ""} scale(${size / 20}) translate(-10 -10)"/>`;

const pictures = new Map(); // copying one is three times as fast as parsing it

function picture(box, content, name) {
  const key = name + content;
  if (!pictures.has(key)) pictures.set(key, svg(box, content, `class="${name}"`));
  return pictures.get(key).cloneNode(true);
}

const suitIcon = (suit, name) => picture("0 0 20 20", `<use href="#${SUITS[suit]}"/>`, name);

function faceOf([rank, suit]) {
  if (PIPS[rank]) return PIPS[rank].map(([x, y]) => suitAt(suit, x, y, rank === "A" ? 46 : 19, y > 70)).join("");
  const half = `<use href="#court-${rank}"/>${suitAt(suit, 33.5, 23, 13)}`;
  return `<rect class="frame" x="25" y="12" width="50" height="116" rx="3"/>${half}<g transform="rotate(180 50 70)">${half}</g>`;
}

const cornerIndex = (card, kind) =>
  h("span", { class: `index ${kind}` }, [
    h("b", card[0] === "T" ? { class: "ten" } : {}, rankOf(card)),
    suitIcon(card[1], "suit"),
  ]);

/** Creates a card. Only cards that lie `open` get a picture; of the others, only the index can be seen. With `simple`, the
 * picture is the suit. */
export function cardElement(card, { position = 0, open = true, simple = false } = {}) {
  const style = `--i:${position}`;
  if (card === BACK) return h("span", { class: "card back", style, "aria-hidden": "true" });
  addSprite();
  const suit = card[1];
  const attributes = { class: `card suit-${suit}${open ? " open" : ""}`, style, "aria-hidden": "true", "data-card": card };
  return h("span", attributes, [
    open && !simple ? [picture("0 0 100 140", faceOf(card), "face"), cornerIndex(card, "turned")] : null,
    open ? suitIcon(suit, "pip") : null,
    cornerIndex(card, "upper"),
  ]);
}
