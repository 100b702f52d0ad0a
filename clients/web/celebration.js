// The celebration of a win: cards leap across the page, with a tune and a vibration.

import { cardElement } from "./cards.js";
import { h, motionIsOff, sleep } from "./dom.js";
import { preferences } from "./storage.js";

const CARDS = "AS KH QC JD TS AH KC QD JS TH AC KD QS JH TC AD KS QH".split(" ");
const TUNE_HZ = [523, 659, 784, 1047];
const VIBRATION_MS = [60, 40, 60, 40, 160];
const DELAY_MS = 80;
const STILL_MS = 3000;

const between = (least, most) => least + Math.random() * (most - least);

/** Celebrates for three seconds, unless the user does not want it, or another celebration is running: with leaping cards or,
 *  without animations, a fan of cards. `play(frequencies)` plays tones, if the page can. */
export async function celebrate(play) {
  const { effects, sound, vibration } = preferences();
  if (!effects || document.querySelector(".celebration")) return;
  if (sound) play?.(TUNE_HZ);
  if (vibration) navigator.vibrate?.(VIBRATION_MS);
  const isStill = motionIsOff();
  const cards = CARDS.slice(0, isStill ? 5 : undefined).map((card, position) => cardElement(card, { position }));
  const layer = h("div", { class: `celebration ${isStill ? "still" : ""}`, "aria-hidden": "true" }, cards);
  document.body.append(layer);
  if (isStill) await sleep(STILL_MS);
  else await Promise.allSettled(cards.map((card, index) => leap(card, index * DELAY_MS).finished));
  layer.remove();
}

/** Lets a card leap from below the page into the upper half and fall back. */
function leap(card, delay) {
  const [from, to, turns] = [between(10, 90), between(-20, 20), between(-540, 540)];
  const at = (x, y, turn) => ({ translate: `${x}vw ${y}vh`, rotate: `${turn}deg` });
  return card.animate(
    [
      { ...at(from, 110, 0), easing: "cubic-bezier(0, 0, 0.4, 1)" },
      { ...at(from + to / 2, between(5, 45), turns / 2), easing: "cubic-bezier(0.6, 0, 1, 1)" },
      at(from + to, 120, turns),
    ],
    { duration: between(1300, 1900), delay, fill: "both" },
  );
}
