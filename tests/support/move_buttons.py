"""The buttons of the page that make moves or choose how many cards move."""

from playwright.async_api import Page


async def complete(page: Page, move: str) -> None:
    """Press the button of `home`, or that of how many cards move, if that is asked."""
    if len(move) < len("home"):
        return  # a move of one place, after which the page may load again
    await page.evaluate(
        """([label, selector]) => [...document.querySelectorAll(selector)]
            .find((each) => each.textContent === label)?.click()""",
        ("Home", ".big") if move == "home" else (move.partition(":")[2] or "1", ".numbers:not([hidden]) button"),
    )
