// The rules of a game, with tables as pictures and a practice deal, and what a race proves.

import { ApiError, attempt, fetchGames, fetchText } from "./api.js";
import { button, fill, h } from "./dom.js";
import { freshPracticePath, startPractice } from "./practice.js";
import { ROOT } from "./root.js";
import { Table } from "./table.js";

export class RulesPage {
  async open(main, name) {
    const games = await fetchGames();
    const game = name ? games.get(name) : games.values().next().value;
    if (!game) throw new ApiError(404, "not-found", `Unknown game: ${name}`);
    document.title = `Rules of ${game.title} · Same Deal`;
    const article = await fetchArticle(`./rules/${game.slug}.html`, "./rules/common.html");
    for (const figure of article.querySelectorAll("[data-table]")) {
      const label = figure.querySelector("figcaption").textContent;
      const table = new Table(game, { label, small: true });
      table.show({ table: JSON.parse(figure.dataset.table) });
      figure.prepend(table.element);
    }
    const links = [...games.values()].map(({ slug, title }) =>
      h("a", { href: `/rules/${slug}`, "aria-current": slug === game.slug ? "page" : false }, title),
    );
    fill(main, h("nav", { class: "games", "aria-label": "Games" }, links), article);
    article.querySelector("h1").after(this.practiceRow(game));
  }

  practiceRow(game) {
    const problem = h("span", { class: "refusal", role: "alert" });
    const start = () => attempt(() => startPractice(game), ({ message }) => fill(problem, message));
    const first = game.practice ? button("Practice", start, { class: "first" }) : null;
    const alone = h("a", { class: "button", href: freshPracticePath(game.slug) }, "Practise alone, with hints");
    return h("p", { class: "row" }, first, alone, problem);
  }
}

export class FairnessPage {
  async open(main) {
    document.title = "Fairness · Same Deal";
    fill(main, await fetchArticle("./fairness.html"));
  }
}

/** The rules of a game in short: the list at the start of its page. */
export async function mainRules({ slug }) {
  return (await fetchArticle(`./rules/${slug}.html`)).querySelector("ol");
}

async function fetchArticle(...paths) {
  const article = h("article", { class: "rules" });
  const files = paths.map((path) => new URL(path, import.meta.url).pathname); // of the version of this module
  const texts = await Promise.all(files.map((file) => fetchText(file.slice(ROOT.length))));
  article.innerHTML = texts.join(""); // trusted HTML: generated from the project's own docs
  for (const link of article.querySelectorAll("a[href^='/']")) link.setAttribute("href", ROOT + link.getAttribute("href"));
  return article;
}
