"""Guests: tokens identify them without being stored, and login codes add devices."""

import asyncio
import re
from contextlib import AsyncExitStack
from hashlib import sha256

import pytest
from redis import Redis

from samedeal.errors import Refused
from samedeal_server.store.connection import Store
from samedeal_server.store.guest_tokens import UNUSED_DAYS, Guest, Guests, digest
from samedeal_server.store.login_codes import ALPHABET, EXPIRE_S, LoginCodes
from samedeal_server.store.revocations import Revocations
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


INVALID = "The code is wrong, was already used, or has expired."


@pytest.fixture
def guests(store: Store) -> Guests:
    return Guests(store)


@pytest.fixture
def codes(store: Store, guests: Guests) -> LoginCodes:
    return LoginCodes(store, guests)


async def attempt(codes: LoginCodes, code: str) -> Guest | None:
    """Return the guest of a code, or None if it is refused as every invalid code is."""
    try:
        guest, _ = await codes.redeem(code)
    except Refused as refused:
        if f"{refused}" != INVALID:
            raise
        return None
    return guest


async def test_code_works_once(guests: Guests, codes: LoginCodes) -> None:
    ada, token = await guests.create("Ada")
    code = await codes.create(token)
    assert [await attempt(codes, code) for _ in range(3)] == [ada, None, None]


async def test_only_the_newest_code_of_a_player_is_valid(guests: Guests, codes: LoginCodes) -> None:
    (ada, token), (bo, other) = await guests.create("Ada"), await guests.create("Bo")
    first, of_bo, second = [await codes.create(creator) for creator in (token, other, token)]
    _, on_phone = await codes.redeem(second)
    third = await codes.create(on_phone)
    fourth = await codes.create(token)
    assert [await attempt(codes, code) for code in (first, second, third, fourth, of_bo)] == [None] * 3 + [ada, bo]


async def test_code_is_read_as_people_type_it(guests: Guests, codes: LoginCodes) -> None:
    ada, token = await guests.create("Ada")
    while not {"0", "1"} <= set(code := await codes.create(token)):
        pass
    typed = f" {code.lower().replace('-', ' ').replace('0', 'o').replace('1', 'l')}\n"
    assert await attempt(codes, typed) == ada


async def test_codes_are_random_and_easy_to_read(guests: Guests, codes: LoginCodes) -> None:
    _, token = await guests.create("Ada")
    made = [await codes.create(token) for _ in range(50)]
    assert len(set(made)) == 50
    group = f"[{ALPHABET}]{{4}}"
    assert all(re.fullmatch(f"{group}-{group}-{group}", code) for code in made)
    assert len(set("".join(made))) > 25
    assert not set("ILOU") & set(ALPHABET)
    assert len(set(ALPHABET)) == 32


@pytest.mark.parametrize(
    "wrong", ["", "*", "login:code:*", "0000-0000-0000", "x" * 64, "\r\nFLUSHALL\r\n", "\0", "é", "ſ"]
)
async def test_wrong_codes_do_not_affect_the_right_one(wrong: str, guests: Guests, codes: LoginCodes) -> None:
    ada, token = await guests.create("Ada")
    code = await codes.create(token)
    for typed in (wrong, f"{code}{wrong or '0'}", code[:-1], digest(code), token, ada.player):
        assert await attempt(codes, typed) is None or typed.strip() == code
    assert await attempt(codes, code) == ada


async def test_the_store_has_no_codes(guests: Guests, codes: LoginCodes, redis: Redis) -> None:
    _, token = await guests.create("Ada")
    code = await codes.create(token)
    assert holds(redis, digest(code.replace("-", "")))
    for form in (code, code.replace("-", ""), code.lower(), token.removeprefix("sd_")):
        assert not holds(redis, form)


async def test_new_tokens_expire_like_others(store: Store, redis: Redis) -> None:
    guests = Guests(store, days=2)
    _, token = await guests.create("Ada")
    _, on_phone = await LoginCodes(store, guests).redeem(await LoginCodes(store, guests).create(token))
    assert redis.ttl(f"guest:{digest(on_phone)}") == 2 * 86_400


async def test_code_expires_whether_it_was_used_or_not(guests: Guests, codes: LoginCodes, redis: Redis) -> None:
    ada, token = await guests.create("Ada")
    for used in (False, True):
        code = await codes.create(token)
        keys = redis.keys("login:*")
        assert used == (len(keys) == 3), "the first code is forgotten when it expires"
        assert [0 < redis.ttl(key) <= EXPIRE_S for key in keys] == [True] * len(keys)
        if used:
            assert await attempt(codes, code) == ada
            assert 0 < redis.ttl(f"login:player:{ada.player}") <= EXPIRE_S
        for key in redis.keys("login:player:*"):
            redis.pexpire(key, 0)
        assert await attempt(codes, code) is None


async def test_one_of_many_simultaneous_attempts_succeeds(redis_url: str, store: Store, redis: Redis) -> None:
    """Each attempt has its own connection, as in another server process."""
    guests = Guests(store)
    ada, token = await guests.create("Ada")
    async with AsyncExitStack() as stack:
        others = [Store(redis_url) for _ in range(8)]
        for other in others:
            stack.push_async_callback(other.close)
        for _ in range(10):
            before = len(redis.keys("guest:*"))
            code = await LoginCodes(store, guests).create(token)
            results = await asyncio.gather(*(attempt(LoginCodes(each, Guests(each)), code) for each in others))
            assert sorted(results, key=bool) == [None] * 7 + [ada]
            assert len(redis.keys("guest:*")) == before + 1


async def test_lost_reply_of_the_store_does_not_use_up_a_code(redis_url: str, redis: Redis) -> None:
    """The repeated command recognises that it has succeeded before."""
    async with Proxy(redis_url) as proxy:
        store = Store(proxy.url)
        guests = Guests(store)
        codes = LoginCodes(store, guests)
        ada, token = await guests.create("Ada")
        await codes.redeem(await codes.create(token))  # so that the store knows the script
        for losing in (b"EVALSHA", b"HSET"):
            code = await codes.create(token)
            lost = asyncio.create_task(proxy.lose_answer(losing))
            guest, on_phone = await codes.redeem(code)
            await lost
            assert guest == await guests.authenticate(on_phone) == ada
            assert await attempt(codes, code) is None
        await store.close()


async def test_every_process_reads_each_revocation_once(redis_url: str, store: Store, redis: Redis) -> None:
    one, other = Revocations(store), Revocations(store)
    await asyncio.gather(*(one.announce(digest(f"{number}")) for number in range(5)))
    expected = {digest(f"{number}") for number in range(5)}
    assert await one.news() == expected
    waiting = asyncio.create_task(one.news())
    await other.announce(digest("late"))
    assert await waiting == {digest("late")}
    assert await other.news() == expected | {digest("late")}
    assert await one.news() == await other.news() == set()
    assert set(contents(redis)) == {b"guests:revoked"}
