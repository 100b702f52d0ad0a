// The timeline of a replay: the positions of each racer, and markers on the scrubber.

import { formatClock, outcomeText, playedCards } from "./phrases.js";

const LONG_THINK_MS = 15_000;
const SKIP_AFTER_MS = 2000;
const SKIP_LEAD_MS = 500;

/** All positions of a racer, each with the move that led to it. */
export function positionsOf(steps, racer) {
  let { table } = steps;
  let peak = 0;
  const positions = [{ ms: 0, move: "", text: "", home: 0, peak, attempt: 1, outcome: "playing", board: { table } }];
  for (const step of racer.steps) {
    const before = table;
    table = { ...table, ...step.changed };
    peak = Math.max(peak, step.home);
    positions.push({ ...step, text: moveText(step.move, before, table), peak, board: { table } });
  }
  return positions;
}

/** A move in words, by the cards that it moved: "9♠ on 8♠". */
function moveText(move, before, after) {
  if (move === "resign") return "resigned";
  return ["undo", "restart"].includes(move) ? move : playedCards(before, after);
}

/** The moves from the deal to a position, without those that were undone. */
export function lineTo(positions, index) {
  let line = [];
  for (const { move } of positions.slice(1, index + 1)) {
    if (move === "undo") line.pop();
    else if (move === "restart") line = [];
    else if (move !== "resign") line.push(move);
  }
  return line;
}

/** The index of the last position at or before a time. */
export function indexAt(positions, ms) {
  let [low, high] = [0, positions.length - 1];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (positions[middle].ms <= ms) low = middle;
    else high = middle - 1;
  }
  return low;
}

/** Returns the time to show after `now`: `ms`, or later if nothing happens for a while. */
export function pauseSkipped(positions, now, ms, end) {
  const times = positions.map((position) => position.ms);
  const next = Math.min(...times.filter((time) => time > now), end);
  const last = Math.max(0, ...times.filter((time) => time <= now));
  const isLong = now - last > SKIP_AFTER_MS && next - ms > SKIP_LEAD_MS;
  return isLong ? next - SKIP_LEAD_MS : ms;
}

/** Markers for a racer's cards home, long thinks, new attempts and last move, and for the last position that could be
 *  won, if the `turn` is known. */
export function markersOf(positions, name, turn) {
  const markers = [];
  if (turn && turn.step !== null) {
    markers.push({ ms: positions[turn.step].ms, index: turn.step, kind: "turn", text: `${name} ${turn.text}` });
  }
  for (const [index, { ms, attempt, home, outcome }] of positions.entries()) {
    if (!index) continue;
    const before = positions[index - 1];
    const thought = ms - before.ms;
    if (thought > LONG_THINK_MS)
      markers.push({ ms: before.ms, kind: "think", text: `thinks for ${formatClock(thought, false)}` });
    if (attempt !== before.attempt) markers.push({ ms, kind: "again", text: `attempt ${attempt}` });
    if (home > before.home) markers.push({ ms, kind: "home", text: `${home} home` });
    if (index === positions.length - 1) markers.push({ ms, kind: "last", text: `${name}: ${outcomeText(outcome)}` });
  }
  return markers;
}
