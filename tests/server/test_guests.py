"""Guests are identified by their tokens alone, and the store has only digests of tokens."""

from hashlib import sha256

import pytest
from redis import Redis

from samedeal.errors import Refused
from samedeal_server.store.connection import Store
from samedeal_server.store.guest_tokens import UNUSED_DAYS, Guests
from support.faulty_proxy import Proxy
from support.stores import contents, holds

pytestmark = pytest.mark.tier(2)


async def test_a_token_identifies_its_guest(store: Store) -> None:
    guests = Guests(store)
    guest, token = await guests.create("  Zoe\u0308 ")
    assert guest.name == "Zoë"
    assert await guests.authenticate(token) == guest
    assert await Guests(store).authenticate(token) == guest


async def test_guests_with_the_same_name_are_different(store: Store) -> None:
    guests = Guests(store)
    (one, her_token), (other, his_token) = await guests.create("Sam"), await guests.create("Sam")
    assert one.player != other.player
    assert her_token != his_token
    assert await guests.authenticate(her_token) == one
    assert await guests.authenticate(his_token) == other


async def test_tokens_are_random_and_differ_from_the_public_id(store: Store) -> None:
    guests = Guests(store)
    tokens = [(await guests.create("Sam")) for _ in range(20)]
    assert len({token for _, token in tokens}) == 20
    assert all(token.startswith("sd_") and len(token) >= 3 + 32 for _, token in tokens)
    assert not [guest for guest, token in tokens if guest.player in token]


async def test_the_store_has_no_tokens(store: Store, redis: Redis) -> None:
    _, token = await Guests(store).create("Ada")
    assert len(contents(redis)) == 1
    assert holds(redis, "Ada")
    assert holds(redis, sha256(token.encode()).hexdigest())
    assert not holds(redis, token.removeprefix("sd_"))


@pytest.mark.parametrize("token", ["", "sd_", "sd_*", "*", "guest:*", "x" * 128, "\r\nFLUSHALL\r\n", "\0", "é", "{a}"])
async def test_an_unknown_token_is_refused(store: Store, token: str) -> None:
    guests = Guests(store)
    guest, good = await guests.create("Ada")
    for wrong in (token, f"{good} {token}", good[:-1], good.upper(), f" {good}", guest.player):
        with pytest.raises(Refused) as refused:
            await guests.authenticate(wrong)
        assert refused.value.code == "bad-token"
    assert await guests.authenticate(good) == guest


@pytest.mark.parametrize("name", ["", "  ", "a\nb", "\u202eadA", "x" * 25, "\u3164"])
async def test_an_invalid_name_creates_no_guest(store: Store, redis: Redis, name: str) -> None:
    with pytest.raises(Refused) as refused:
        await Guests(store).create(name)
    assert refused.value.code == "bad-message"
    assert contents(redis) == {}


async def test_an_unavailable_store_does_not_refuse_tokens(redis_url: str) -> None:
    async with Proxy(redis_url) as proxy:
        store = Store(proxy.url)
        guests = Guests(store)
        guest, token = await guests.create("Ada")
        proxy.cut()
        with pytest.raises(Refused) as refused:
            await guests.authenticate(token)
        assert refused.value.code == "store-unavailable"
        proxy.mend()
        assert await guests.authenticate(token) == guest
        await store.close()


async def test_an_inactive_guest_expires(store: Store, redis: Redis) -> None:
    """The expiry starts again whenever the token is used."""
    guests = Guests(store, days=20)
    guest, token = await guests.create("Ada")
    (key,) = redis.keys()
    assert redis.ttl(key) == UNUSED_DAYS * 86_400
    assert await guests.authenticate(token) == guest
    assert redis.ttl(key) == 20 * 86_400
    redis.pexpire(key, 0)
    with pytest.raises(Refused) as refused:
        await guests.authenticate(token)
    assert refused.value.code == "bad-token"


async def test_guests_can_be_kept_forever(store: Store, redis: Redis) -> None:
    guest, token = await Guests(store, days=1).create("Ada")
    assert await Guests(store, days=0).authenticate(token) == guest
    (key,) = redis.keys()
    assert redis.ttl(key) == -1
