// What people tell each other: reactions, shown for a moment next to the racers' standings, and calls of racers back to a
// hidden page, by its title, a sound and, if allowed, a notification.

import { announce, button, h } from "./dom.js";
import { displayNames } from "./phrases.js";
import { preferences } from "./storage.js";

const REACTIONS = {
  wave: ["👋", "Wave"],
  "good-luck": ["🍀", "Good luck"],
  "well-played": ["👏", "Well played"],
  wow: ["😮", "Wow"],
  laugh: ["😄", "Laugh"],
  oops: ["🙈", "Oops"],
};
const WORDS = Object.values(REACTIONS).some(([symbol]) => !hasGlyph(symbol)); // words in place of missing emoji
const SHOWN_MS = 4000;
const INTERVAL_MS = 1000; // the server accepts one reaction per second

export class Reactions {
  constructor(page) {
    this.page = page;
    this.symbols = new Map(); // the symbol that is shown, by seat
    this.timers = new Map();
    this.nextAt = 0;
    const closing = { popovertarget: "reactions", popovertargetaction: "hide" }; // the drawer, in a race
    this.buttons = Object.entries(REACTIONS).map(([name, [symbol, text]]) =>
      button(WORDS ? text : symbol, () => this.send(name), { "aria-label": text, title: text, ...closing }),
    );
    const style = `reactions ${WORDS ? "words" : ""}`;
    this.element = h("div", { class: style, role: "group", "aria-label": "Reactions", hidden: true }, this.buttons);
  }

  /** Shows the buttons to racers who have rivals, unless reactions are turned off. */
  update() {
    const { connection, header } = this.page;
    this.element.hidden = !connection.mine || header.options.max_racers === 1 || !preferences().reactions;
  }

  send(name) {
    if (performance.now() < this.nextAt) return;
    this.nextAt = performance.now() + INTERVAL_MS;
    this.page.connection.react(name);
    const disable = (disabled) => this.buttons.forEach((each) => each.setAttribute("aria-disabled", disabled));
    disable(true);
    setTimeout(() => disable(false), INTERVAL_MS);
  }

  /** Shows a racer's reaction. Those of newer servers that this page does not know are ignored. */
  receive({ seat, reaction }) {
    const { standings, view } = this.page.connection;
    if (!preferences().reactions || !Object.hasOwn(REACTIONS, reaction)) return;
    const [symbol, text] = REACTIONS[reaction];
    const name = seat === view?.seat ? "You" : displayNames(standings).get(seat);
    if (!name) return;
    announce(`${name}: ${text.toLowerCase()}`);
    clearTimeout(this.timers.get(seat));
    this.timers.set(seat, setTimeout(() => this.show(seat, null), SHOWN_MS));
    this.show(seat, WORDS ? text : symbol);
  }

  show(seat, symbol) {
    if (symbol) this.symbols.set(seat, symbol);
    else this.symbols.delete(seat);
    this.page.update();
  }
}

/** Whether the device's fonts have a character: a missing one is drawn like a character that no font has. */
function hasGlyph(character) {
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [20, 20];
  const context = /** @type {any} */ (canvas.getContext("2d", { willReadFrequently: true }));
  const pixels = (text) => {
    context.clearRect(0, 0, 20, 20);
    context.fillText(text, 2, 16);
    return context.getImageData(0, 0, 20, 20).data.join();
  };
  return pixels(character) !== pixels("\u{10ffff}");
}

const BEEPS_HZ = [660, 880];
const BEEP_S = 0.16;
const VOLUME = 0.15;

const canNotify = () => "Notification" in window;

/** A button that asks for permission to notify, or null if that is decided already. */
export function notifyButton() {
  if (!canNotify() || Notification.permission !== "default") return null;
  const ask = button("Notify me when the race starts", async () => {
    await Notification.requestPermission();
    ask.hidden = true;
  });
  return ask;
}

export class Caller {
  audio; // an AudioContext, once the user has interacted with the page
  text; // returns the title that calls, given the time left in ms; null while nobody is called
  calledAt = 0;

  constructor(page) {
    this.page = page;
    const unlock = () => (this.audio ??= "AudioContext" in window ? new AudioContext() : null);
    for (const kind of ["pointerdown", "keydown"]) document.addEventListener(kind, unlock, { once: true });
  }

  /** Calls at the start of the countdown, and when somebody wants a rematch. */
  update({ stage, next }) {
    const { mine, leftMs } = this.page.connection;
    if (stage !== this.stage && this.stage) {
      this.text = null;
      const isCalled = mine || this.page.isTrying;
      if (stage === "countdown" && isCalled) this.call((left) => `▶ Starting in ${Math.ceil(left / 1000)} s`, leftMs);
      this.page.isTrying = false;
    }
    const isNews = stage === "over" && next && next.race !== this.next;
    if (isNews && mine && (next.stage ?? "open") === "open") this.call(() => `▶ ${next.by} wants a rematch`);
    this.stage = stage;
    this.next = next?.race;
  }

  call(text, left) {
    if (!document.hidden && !this.page.isTrying) return;
    if (preferences().sound) this.play(BEEPS_HZ);
    if (!document.hidden) return;
    this.text = text;
    this.usual = document.title;
    this.calledAt = performance.now();
    this.notify(text(left).slice(2));
  }

  /** Alternates the title until the page is visible again. Call this after the page has set its own title. */
  tick(left) {
    if (!this.text) return;
    if (!document.hidden) this.text = null;
    else if (this.stage === "countdown") this.usual = document.title;
    const calls = this.text && Math.floor((performance.now() - this.calledAt) / 1000) % 2 === 0;
    document.title = calls ? this.text(left) : this.usual;
  }

  /** Plays tones, one after the other. */
  play(frequencies) {
    const { audio } = this;
    if (!audio) return;
    audio.resume();
    frequencies.forEach((frequency, index) => {
      const [tone, volume] = [audio.createOscillator(), audio.createGain()];
      tone.frequency.value = frequency;
      volume.gain.value = VOLUME;
      tone.connect(volume).connect(audio.destination);
      const start = audio.currentTime + index * BEEP_S;
      tone.start(start);
      tone.stop(start + BEEP_S);
    });
  }

  notify(text) {
    if (!canNotify() || Notification.permission !== "granted") return;
    const { game, raceId } = this.page;
    try {
      const notification = new Notification(text, { body: game.title, tag: raceId, icon: new URL("./icon.svg", import.meta.url).href });
      notification.onclick = () => {
        window.focus();
        notification.close();
      };
    } catch {
      // Some browsers on phones have the API but do not allow pages to use it.
    }
  }
}
