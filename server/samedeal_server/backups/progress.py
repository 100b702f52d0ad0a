"""Reports the progress of long work."""

from collections.abc import Callable


def progress(say: Callable[[str], object], done: str, what: str) -> Callable[[int, int], None]:
    """Return a function of the numbers that are done and of all, which reports each further tenth of the work.

    A report is like ``Verified 20 of 100 races.``, from `done` and `what`.
    """
    reported = 0

    def report(count: int, total: int) -> None:
        nonlocal reported
        if count * 10 // max(1, total) > reported:
            reported = count * 10 // max(1, total)
            say(f"{done} {count} of {total} {what}.")

    return report
