// The rules of a game.

import { ApiError, fetchGames, fetchText } from "./api.js";
import { fill, h } from "./dom.js";

export class RulesPage {
  constructor(slug) {
    this.slug = slug;
  }

  async open(main) {
    const games = await fetchGames();
    const game = games.get(this.slug);
    if (!game) throw new ApiError(404, "not-found", `Unknown game: ${this.slug}`);
    document.title = `Rules of ${game.title} · Same Deal`;
    const article = h("article", { class: "rules" });
    // Trusted HTML: generated from the project's own docs.
    article.innerHTML = await fetchText(new URL(`./rules/${this.slug}.html`, import.meta.url));
    const links = [...games.values()].map(({ slug, title }) =>
      h("a", { href: `/rules/${slug}`, "aria-current": slug === this.slug ? "page" : false }, title),
    );
    fill(main, h("nav", { class: "games", "aria-label": "Games" }, links), article);
  }
}
