"""A server whose worker jobs wait at a gate (``gated_worker``)."""

from samedeal_server.__main__ import main
from samedeal_server.work import pool

if __name__ == "__main__":
    pool.WORKER = "support.gated_worker"
    main()
