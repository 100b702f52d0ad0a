"""Login codes and revocations in a cluster, where their keys are on different nodes."""

from pathlib import Path

import pytest

from samedeal.errors import Refused
from samedeal_server.store.cluster import store_at
from samedeal_server.store.guest_tokens import Guests, digest
from samedeal_server.store.login_codes import LoginCodes
from samedeal_server.store.revocations import Revocations
from support.clusters import cluster

pytestmark = pytest.mark.tier(3)


async def test_codes_and_revocations_work_in_a_cluster(tmp_path: Path) -> None:
    async with cluster(tmp_path / "cluster") as nodes:
        stores = [store_at(nodes.url) for _ in range(2)]
        one, other = stores
        guests, codes = Guests(one), LoginCodes(other, Guests(other))
        for number in range(10):  # the keys of each guest have other slots
            guest, token = await guests.create(f"Name {number}")
            code = await LoginCodes(one, guests).create(token)
            assert (await codes.redeem(code))[0] == guest
            with pytest.raises(Refused, match="already used"):
                await LoginCodes(one, guests).redeem(code)
            await Revocations(one).announce(digest(token))
        expected = {digest(f"sd_{number}") for number in range(20)}
        following, seen = Revocations(other), await Revocations(other).news()
        assert len(seen) == 10
        assert await following.news() == seen
        for revoked in expected:
            await Revocations(one).announce(revoked)
        assert await following.news() == expected
        for store in stores:
            await store.close()
