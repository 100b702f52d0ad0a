// Reports: a dialog in which a player reports another one to the administrators of the server.

import { ApiError, fetchJson } from "./api.js";
import { announce, button, fill, h } from "./dom.js";
import { guest } from "./storage.js";

const REASONS = { name: "The name", cheating: "Cheating", conduct: "Conduct", other: "Something else" };
const MAX_TEXT = 500;

/** Opens the report dialog. `names` maps seats to the names of racers. */
export function showReport(raceId, others, names) {
  const option = (value, text) => h("option", { value }, text);
  const player = h("select", {}, others.map(({ seat }) => option(seat, names.get(seat))));
  const reason = h("select", {}, Object.entries(REASONS).map(([value, text]) => option(value, text)));
  const text = h("textarea", { rows: 3, maxlength: MAX_TEXT });
  const refusal = h("p", { class: "refusal", role: "alert" });
  const send = async () => {
    const body = { race: raceId, seat: Number(player.value), reason: reason.value, text: text.value };
    try {
      const { name } = await fetchJson("/reports", { body, token: guest()?.token });
      dialog.close();
      announce(`The administrators will see your report about ${name}.`);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      fill(refusal, error.message);
    }
  };
  const dialog = h(
    "dialog",
    { class: "confirm", "aria-labelledby": "report-title" },
    h("h2", { id: "report-title" }, "Report a player"),
    h("p", {}, "The administrators of this server see your report and your name. Nobody else does."),
    h("label", { class: "labelled" }, "Player", player),
    h("label", { class: "labelled" }, "Reason", reason),
    h("label", { class: "labelled" }, "What happened?", text),
    refusal,
    h("div", { class: "row" }, button("Cancel", () => dialog.close()), button("Send", send, { class: "first" })),
  );
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}
