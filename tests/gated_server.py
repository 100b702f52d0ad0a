"""A server whose jobs wait at a gate (``gated_worker``)."""

from samedeal_server import jobs
from samedeal_server.__main__ import main

if __name__ == "__main__":
    jobs.WORKER = "gated_worker"
    main()
