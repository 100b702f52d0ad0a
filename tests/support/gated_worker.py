"""A worker process with a gate: each job is recorded and waits until the test releases it.

The environment variable GATE names a directory. Its file `noted` has a line with process and task for each job that has
started; `allowed` contains how many of them may end. Tasks listed in `failing` fail, those in `spinning` never end, and
those in `greedy` use up all memory.
"""

import os
import time
from pathlib import Path

from samedeal_server.work import worker


class Gate:
    """The test's side of the gate."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    @property
    def noted(self) -> list[tuple[int, str]]:
        """The process and task of each job that has started."""
        file = self._directory / "noted"
        lines = file.read_text().splitlines() if file.exists() else []
        return [(int(line.split()[0]), line.split()[1]) for line in lines]

    def allow(self, jobs: int) -> None:
        """Release a number of jobs, counted from the first one."""
        draft = self._directory / "draft"
        draft.write_text(f"{jobs}")
        draft.rename(self._directory / "allowed")

    def misbehave(self, how: str, *tasks: str) -> None:
        """Make only these tasks fail in some way."""
        (self._directory / how).write_text("\n".join(tasks))

    def misbehaves(self, how: str, task: str) -> bool:
        file = self._directory / how
        return file.exists() and task in file.read_text().splitlines()

    def passed(self, task: str) -> None:
        """Record a job and wait until it is released."""
        with (self._directory / "noted").open("a") as file:
            file.write(f"{os.getpid()} {task}\n")
        number = len(self.noted)
        allowed = self._directory / "allowed"
        while not (allowed.exists() and number <= int(allowed.read_text())):
            time.sleep(0.005)


def gated(task: str, gate: Gate) -> None:
    """Put a worker task behind the gate. Searches return deal 0."""
    answer = worker.TASKS[task]

    def job(question: bytes) -> bytes:
        gate.passed(task)
        if gate.misbehaves("failing", task):
            raise ValueError("it was told to")
        while gate.misbehaves("spinning", task):
            pass
        hoard = list[bytes]()
        while gate.misbehaves("greedy", task):
            hoard.append(bytes(2**24))
        return b"0" if task == "deal" else answer(question)

    worker.TASKS[task] = job


if __name__ == "__main__":
    for name in list(worker.TASKS):
        gated(name, Gate(Path(os.environ["GATE"])))
    worker.main()
