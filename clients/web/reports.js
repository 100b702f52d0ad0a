// Reports: a dialog in which a player reports another one to the administrators of the server.

import { attempt, fetchJson } from "./api.js";
import { announce, button, dialog, fill, h, refusalText, select } from "./dom.js";
import { guest } from "./storage.js";

const REASONS = { name: "The name", cheating: "Cheating", conduct: "Conduct", other: "Something else" };
const MAX_TEXT = 500;

/** Opens the report dialog. `names` maps seats to the names of racers. */
export function showReport(raceId, others, names) {
  const player = select({}, others.map(({ seat }) => [seat, names.get(seat)]));
  const reason = select({}, Object.entries(REASONS));
  const text = h("textarea", { rows: 3, maxlength: MAX_TEXT });
  const refusal = refusalText();
  const send = async () => {
    const body = { race: raceId, seat: Number(player.value), reason: reason.value, text: text.value };
    const { name } = await fetchJson("/reports", { body, token: guest()?.token });
    shown.close();
    announce(`The administrators will see your report about ${name}.`);
  };
  const act = () => attempt(send, ({ message }) => fill(refusal, message));
  const shown = dialog(
    h("h2", {}, "Report a player"),
    h("p", {}, "The administrators of this server see your report and your name. Nobody else does."),
    h("label", { class: "labelled" }, "Player", player),
    h("label", { class: "labelled" }, "Reason", reason),
    h("label", { class: "labelled" }, "What happened?", text),
    refusal,
    h("div", { class: "row" }, button("Cancel", () => shown.close()), button("Send", act, { class: "first" })),
  );
}
