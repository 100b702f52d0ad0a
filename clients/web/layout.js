// The layout of a table: where the game's places are, and which is next to another one.

import { h } from "./dom.js";

const RANKS = "A23456789TJQK";

/** Adds the places of a game to a table: as a grid, and in rows apart. `pile(place, kind)` creates a pile. */
export function layOut(game, element, pile) {
  const fanned = new Set(game.fanned ?? []);
  const placeOrGap = (place) => (place === "." ? null : place);
  const rows = game.layout.trim().split("\n").map((line) => line.trim().split(/\s+/).map(placeOrGap));
  const grid = rows.filter((row) => row.every((place) => place === null || place.length === 2));
  const columns = Math.max(1, ...grid.map((row) => row.length));
  const wide = Array.from({ length: columns }, (_, column) =>
    grid.some((row) => fanned.has(row[column]) && row.includes(null)),
  );
  const { style } = element;
  const isHanging = (row) => row.every((place) => fanned.has(place));
  const heights = grid.map((row) => (isHanging(row) ? "calc(var(--h) * var(--hang))" : "var(--h)"));
  style.setProperty("--template-columns", wide.map((fan) => (fan ? "minmax(0, var(--fan))" : "var(--w)")).join(" "));
  style.setProperty("--template-rows", heights.join(" "));
  style.setProperty("--columns", columns);
  style.setProperty("--hanging", grid.filter(isHanging).length);
  style.setProperty("--flat", grid.length - grid.filter(isHanging).length);
  element.classList.toggle("tall", grid.length === 2 && isHanging(grid[1])); // long columns under one row
  style.setProperty("--apart", rows.length - grid.length);
  if (wide.some(Boolean)) element.classList.add("fans");
  for (const [rowIndex, row] of rows.entries()) {
    const hangs = isHanging(row);
    if (!grid.includes(row)) {
      // Places with names of their own, such as the stock and the waste, are in a row below.
      const style = `--row:${rowIndex + 1}`;
      element.append(h("div", { class: "apart", style }, row.map((place) => pile(place, fanned.has(place) ? "fans" : ""))));
      continue;
    }
    for (const [place, first, last] of spans(row, fanned)) {
      const placed = pile(place, hangs ? "hangs" : fanned.has(place) ? "fans" : "");
      placed.style.gridArea = `${rowIndex + 1} / ${first + 1} / ${rowIndex + 2} / ${last + 2}`;
      element.append(placed);
    }
  }
}

/** The first and last column of each place in a row. Fans extend over gaps, and share those between them. */
function spans(row, fanned) {
  const endOf = (column, step) => {
    let gap = 0;
    while (row[column + step * (gap + 1)] === null) gap += 1;
    const isShared = fanned.has(row[column + step * (gap + 1)]);
    return column + step * (isShared ? Math[step > 0 ? "ceil" : "floor"](gap / 2) : gap);
  };
  const placed = [...row.entries()].filter(([, place]) => place);
  return placed.map(([at, place]) => (fanned.has(place) ? [place, endOf(at, -1), endOf(at, 1)] : [place, at, at]));
}

/** Returns the nearest other place in a direction, or null. `piles` are the elements by place. */
export function nearestPile(piles, place, dx, dy) {
  const centre = (pile) => {
    const box = pile.getBoundingClientRect();
    return { x: box.left + Math.min(box.width, 60) / 2, y: box.top + Math.min(box.height, 80) / 2 };
  };
  const here = centre(piles.get(place));
  let [nearest, least] = [null, Infinity];
  for (const [other, pile] of piles) {
    const there = centre(pile);
    const ahead = (there.x - here.x) * dx + (there.y - here.y) * dy;
    const aside = Math.abs((there.x - here.x) * dy) + Math.abs((there.y - here.y) * dx);
    const distance = ahead + 2.5 * aside;
    if (other !== place && ahead > 4 && distance < least) [nearest, least] = [other, distance];
  }
  return nearest;
}

export const MOVABLE = ".card:last-of-type:not(.back, .moving)";

/** The cards that a press on a pile can drag: the top one or, where several can move, those from the pressed one on. */
export function draggable(pile, pressed) {
  const top = pile.querySelector(MOVABLE);
  const cards = [...pile.querySelectorAll(".card:not(.back)")];
  const at = cards.indexOf(pressed.closest(".card"));
  return !top ? [] : at >= 0 && pile.matches(".tall .hangs") ? cards.slice(at) : [top];
}

/** The cards that a move takes from a pile: between columns, those from the one that goes onto the target's last card, or for
 *  whose rank the target is reserved; otherwise `number` of them. */
export function leaving(pile, target, number = 1) {
  const cards = [...pile.querySelectorAll(".card:not(.back, .moving)")];
  const last = target.querySelector(".card:last-of-type");
  const wanted = last ? RANKS[RANKS.indexOf(last.dataset.card[0]) - 1] : target.textContent;
  const isRun = pile.matches(".tall .hangs") && target.matches(".hangs");
  const first = isRun ? cards.findLastIndex((card) => card.dataset.card[0] === wanted) : -1;
  return cards.slice(first < 0 ? -number : first);
}

/** Returns where the cards that come to a pile will be, by their number from 0. */
export function landing(pile) {
  const last = pile.querySelector(".card:last-of-type");
  const shape = last ?? pile.querySelector(".empty") ?? pile;
  const { left, top } = shape.getBoundingClientRect();
  const step = pile.matches(".fans, .hangs") ? parseFloat(getComputedStyle(shape).getPropertyValue("--step")) : 0;
  const [dx, dy] = pile.matches(".fans") ? [step, 0] : [0, step];
  return (index) => [left + (index + (last ? 1 : 0)) * dx, top + (index + (last ? 1 : 0)) * dy];
}
