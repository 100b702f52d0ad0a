// Calls racers back to a hidden page, by its title, a sound and, if allowed, a notification.

import { button } from "./dom.js";
import { preferences } from "./storage.js";

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
    if (next && mine && next.race !== this.next && (next.stage ?? "open") === "open") this.call(() => `▶ ${next.by} wants a rematch`);
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
