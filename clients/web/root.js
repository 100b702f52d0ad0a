// Where the server is on its host: the path of its public URL.

/** The prefix of every path on the server: empty, or for example "/cards". */
export const ROOT = /^(.*)\/page\//.exec(new URL(import.meta.url).pathname)?.[1] ?? "";

/** The path of the open page, without ROOT. */
export const pagePath = () =>
  `${location.pathname}/`.startsWith(`${ROOT}/`) ? location.pathname.slice(ROOT.length) || "/" : location.pathname;

/** Opens another page. */
export function goTo(path) {
  location.href = ROOT + path;
}
