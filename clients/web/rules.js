// The rules of a game, with tables as pictures and a practice deal, and what a race proves.

import { ApiError, fetchGames, fetchText } from "./api.js";
import { fill, h, ROOT } from "./dom.js";
import { freshDeal, guidedDeal, practicePath } from "./practice.js";
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
    const link = (text, deal, style) => h("a", { class: `button ${style}`, href: practicePath({ deal }) }, text);
    const guided = game.practice ? link("Learn it in a minute", guidedDeal(game), "first") : null;
    return h("p", { class: "row" }, guided, link("Practise with hints", freshDeal(game), ""));
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
