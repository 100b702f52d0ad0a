// The rules of a game, with its rulings.

import { gamesBySlug, Problem, text } from "./api.js";
import { fill, h } from "./dom.js";

export class RulesPage {
  constructor(slug) {
    this.slug = slug;
  }

  async open(main) {
    const games = await gamesBySlug();
    const game = games.get(this.slug);
    if (!game) throw new Problem(404, "not-found", `There is no game ${this.slug}.`);
    document.title = `Rules of ${game.title} · Same Deal`;
    const article = h("article", { class: "rules" });
    // Our own file, made from the project's documents.
    article.innerHTML = await text(`/page/rules/${this.slug}.html`);
    const others = [...games.values()].map((one) =>
      h("a", { href: `/rules/${one.slug}`, "aria-current": one.slug === this.slug ? "page" : false }, one.title),
    );
    fill(main, h("nav", { class: "games", "aria-label": "Games" }, others), article);
  }
}
