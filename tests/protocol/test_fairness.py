"""Attacks by servers and clients, carried out with the library.

docs/play/fairness.md describes what prevents each attack. If nothing does, the test shows how far the attack gets.
"""

import re
from itertools import combinations
from pathlib import Path

import pytest
from msgspec import structs

from samedeal.commitments import commitment, daily_commitment, nonce_commitment, root
from samedeal.errors import Refused
from samedeal.games.corners import Corners
from samedeal.proof.receipts import DigestReceipt, HeaderReceipt, NonceReceipt, Receipts, line, read
from samedeal.proof.verification import verify
from samedeal.race.events import Closed, Counting, Dealt, Header, Joined, Nonce, Readied
from samedeal.race.race import Race
from samedeal.replays.replay import Replay
from samedeal.replays.signature import public_key
from support.finished_races import SECRET, SIGNING_KEY, Logged, nonce, opened
from support.races_by_hand import closed, counting, joined, running, seated

DOCS = Path(__file__).parents[2] / "docs"
OTHER_SECRET = bytes(range(100, 132))


def failures(replay: Replay) -> dict[str, int | None]:
    """The failed facts with their entries."""
    return {fact.name: fact.entry for fact in verify(replay) if not fact.holds}


def written_anew(replay: Replay, header: Header, secret: bytes) -> Replay:
    """Return a race's log, rewritten under another header with valid digests."""
    log = Logged(Race.opened(header, secret))
    for entry in replay.entries:
        event = entry.event
        log.say(Closed(secret=secret.hex()) if isinstance(event, Closed) else event, entry.at - log.race.at)
    return log.replay()


def receipts(replay: Replay) -> dict[int, str]:
    """The receipts of a client."""
    return {entry.n: entry.h for entry in replay.entries}


# The server.


def test_a_server_that_takes_another_secret_after_the_nonces_is_found_out_by_its_commitment() -> None:
    """The server knows both secrets from the start and picks the one whose deal it prefers."""
    fair = closed(running()).replay()
    unfair = structs.replace(fair.header, commitment=commitment(fair.header.race, OTHER_SECRET))
    swapped = written_anew(fair, unfair, OTHER_SECRET)
    announced = structs.replace(swapped, header=fair.header)
    assert failures(announced)["commitment"] == len(fair.entries)


def test_a_server_that_takes_another_commitment_as_well_is_found_out_by_what_racers_have_kept() -> None:
    fair = closed(running()).replay()
    header = structs.replace(fair.header, commitment=commitment(fair.header.race, OTHER_SECRET))
    swapped = written_anew(fair, header, OTHER_SECRET)
    assert failures(swapped) == {}, "by itself the file looks like any other"
    assert swapped.header.commitment != fair.header.commitment
    assert not receipts(swapped).items() & receipts(fair).items()


def test_a_log_written_anew_holds_by_itself_but_not_against_receipts() -> None:
    """Once the secret is revealed, anyone can write a valid chain. Only earlier receipts show which one is genuine."""
    fair = closed(running()).replay()
    event = fair.entries[0].event
    assert isinstance(event, Joined)
    forged = structs.replace(fair.entries[0], event=structs.replace(event, name="Eve"))
    rewritten = written_anew(structs.replace(fair, entries=(forged, *fair.entries[1:])), fair.header, SECRET)
    assert failures(rewritten) == {}
    assert not receipts(rewritten).items() & receipts(fair).items()


def test_receipts_bind_what_came_before_them_and_nothing_after() -> None:
    fair = closed(running()).replay()
    late = fair.entries[-2]
    moved = structs.replace(late, at=late.at + 1)
    last = structs.replace(fair.entries[-1], at=late.at + 1)
    rewritten = written_anew(structs.replace(fair, entries=(*fair.entries[:-2], moved, last)), fair.header, SECRET)
    assert failures(rewritten) == {}
    same = receipts(rewritten).items() & receipts(fair).items()
    assert {n for n, _ in same} == {entry.n for entry in fair.entries[:-2]}


def test_a_server_that_gives_its_own_racers_other_nonces_afterwards_is_found_out_by_the_receipt_of_the_countdown() -> (
    None
):
    """Seat 2 belongs to the server. After seat 1 reveals its nonce, it tries others for seat 2 and rewrites the log."""
    fair = closed(running()).replay()
    countdown = next(entry.n for entry in fair.entries if isinstance(entry.event, Counting))
    deals = set()
    for other in map(nonce, range(50, 60)):
        entries = list(fair.entries)
        for at, entry in enumerate(entries):
            match entry.event:
                case Joined(seat=2) as event:
                    promise = nonce_commitment(fair.header.race, other)
                    entries[at] = structs.replace(entry, event=structs.replace(event, commitment=promise))
                case Nonce(seat=2):
                    entries[at] = structs.replace(entry, event=Nonce(seat=2, nonce=other.hex()))
        chosen = written_anew(structs.replace(fair, entries=tuple(entries)), fair.header, SECRET)
        assert failures(chosen) == {}, "by itself the file looks like any other"
        assert receipts(chosen)[countdown] != receipts(fair)[countdown]
        deals.add(list(chosen.races())[-1].deal)
    assert len(deals) == 10


def test_a_server_that_announces_the_countdown_with_an_old_receipt_is_found_out() -> None:
    """Seat 2 joins once the nonce of seat 1 is known. Seat 1 has a receipt only for its own entry."""
    deals = set()
    for other in map(nonce, range(50, 60)):
        log = seated()
        promise = nonce_commitment(log.race.id, other)
        log.say(structs.replace(joined(log, 2), commitment=promise))
        for event in (Readied(seat=1), Readied(seat=2), Counting()):
            log.say(event)
        for seat, own in ((1, nonce(1)), (2, other)):
            log.say(Nonce(seat=seat, nonce=own.hex()))
        log.say(Dealt(), log.race.options.start_delay_ms)
        chosen = closed(log).replay()
        deals.add(list(chosen.races())[-1].deal)
        header, sent = HeaderReceipt(chosen.header), NonceReceipt(1, nonce(1).hex())
        old, *_, countdown, _, later = (DigestReceipt(entry.n, entry.h) for entry in chosen.entries[:7])
        for order, ends in (
            ((header, old, sent, countdown, later), 5),
            ((header, sent, old, countdown, later), 5),
            ((header, old, countdown, header, sent, later), 5),
            ((header, old, countdown, sent, later), None),
            ((header, old, later, sent), None),
        ):
            (stored,) = read(line(receipt) for receipt in order)
            failed = {fact.name: fact.entry for fact in verify(chosen, receipts=stored) if not fact.holds}
            assert failed == ({} if ends is None else {"receipts": ends})
    assert len(deals) == 10


def test_a_server_with_seats_of_its_own_chooses_among_so_many_deals_and_leaves_scratched_seats_behind() -> None:
    """Once the server knows the fourth nonce, it withholds some of its own three: 2**3 possible deals."""
    deals = set()
    for kept_back in (seats for count in range(4) for seats in combinations((2, 3, 4), count)):
        log = counting(racers=4)
        for seat in {1, 2, 3, 4}.difference(kept_back):
            log.say(Nonce(seat=seat, nonce=nonce(seat).hex()))
        log.say(Dealt(), log.race.options.start_delay_ms)
        deals.add(log.race.deal)
        replay = closed(log).replay()
        assert failures(replay) == {}
        scratched = [standing.seat for standing in replay.standings if standing.outcome == "scratched"]
        assert scratched == list(kept_back)
    assert len(deals) == 2**3


def test_a_nonce_that_the_server_says_did_not_come_leaves_its_racer_scratched() -> None:
    log = counting(racers=3)
    for seat in (1, 3):
        log.say(Nonce(seat=seat, nonce=nonce(seat).hex()))
    log.say(Dealt(), log.race.options.start_delay_ms)
    standings = closed(log).replay().standings
    assert [standing.outcome for standing in standings if standing.seat == 2] == ["scratched"]


# Signatures.


def test_a_server_that_signs_two_logs_of_one_race_is_convicted_by_its_signatures() -> None:
    """A third party needs only the two files and the key."""
    fair = closed(running()).replay()
    late = structs.replace(fair.entries[-1], at=fair.entries[-1].at + 1)
    other = written_anew(structs.replace(fair, entries=(*fair.entries[:-1], late)), fair.header, SECRET)
    ours = public_key(SIGNING_KEY)
    for replay in (fair, other):
        assert all(fact.holds for fact in verify(replay, {ours}))
    assert fair.header.race == other.header.race
    assert fair.digest != other.digest
    for one, foreign in ((fair, other), (other, fair)):
        pretended = structs.replace(one, signature=foreign.signature)
        assert failures(pretended) == {"signature": None}, "no signature can be moved from one to the other"


def test_who_has_the_signing_key_can_sign_any_log_and_receipts_still_contradict_it() -> None:
    fair = closed(running()).replay()
    event = fair.entries[0].event
    assert isinstance(event, Joined)
    forged = structs.replace(fair.entries[0], event=structs.replace(event, name="Eve"))
    rewritten = written_anew(structs.replace(fair, entries=(forged, *fair.entries[1:])), fair.header, SECRET)
    stored = Receipts(fair.header, (), (DigestReceipt(3, fair.entries[2].h),))
    failed = {fact.name: fact.entry for fact in verify(rewritten, {public_key(SIGNING_KEY)}, stored) if not fact.holds}
    assert failed == {"receipts": 3}


# Daily deals.


def test_a_server_chooses_the_deal_of_a_day_until_it_has_committed_itself() -> None:
    """The server tries secrets until the first card is an ace. After that, it is bound by the commitment."""
    fair = closed(running(daily=True)).replay()
    header = fair.header
    chosen = next(
        secret
        for secret in map(_secret, range(1_000))
        if Corners.from_seed(f"{root(secret, ())}.0").table["f1"][0][0] == "A"
    )
    promised = structs.replace(header, commitment=daily_commitment("corners", header.date, chosen))
    assert failures(written_anew(fair, promised, chosen)) == {}, "nobody can tell that it had a choice"
    other = structs.replace(header, commitment=daily_commitment("corners", header.date, OTHER_SECRET))
    swapped = structs.replace(written_anew(fair, other, OTHER_SECRET), header=promised)
    assert failures(swapped)["commitment"] == len(fair.entries)


def _secret(number: int) -> bytes:
    return number.to_bytes(32, "big")


# Racers.


def test_a_racer_who_picks_the_nonce_after_seeing_others_is_refused() -> None:
    log = counting()
    log.say(Nonce(seat=1, nonce=nonce(1).hex()))
    with pytest.raises(Refused) as refusal:
        log.say(Nonce(seat=2, nonce=nonce(7).hex()))
    assert refusal.value.code == "nonce-mismatch"


def test_a_commitment_is_good_for_one_race_only() -> None:
    log = opened("corners", race="other-race-1")
    for seat in (1, 2):
        promise = nonce_commitment("calm-otter-42", nonce(seat))
        log.say(Joined(seat=seat, player=str(seat), name=str(seat), commitment=promise))
        log.say(Readied(seat=seat))
    log.say(Counting())
    with pytest.raises(Refused) as refusal:
        log.say(Nonce(seat=1, nonce=nonce(1).hex()))
    assert refusal.value.code == "nonce-mismatch"


def test_who_copies_a_commitment_and_its_nonce_takes_nothing_away_from_it() -> None:
    """Nonces are concatenated and hashed. If they were combined with XOR, two equal ones would cancel out."""
    alone, copied = root(SECRET, [nonce(1)]), root(SECRET, [nonce(1), nonce(1)])
    assert len({alone, copied, root(SECRET, []), root(SECRET, [nonce(2), nonce(2)])}) == 4


def test_every_race_with_a_new_nonce_has_another_deal() -> None:
    deals = set()
    for fresh in range(1, 40):
        log = opened("corners")
        for seat, own in ((1, bytes([fresh]) * 32), (2, nonce(2))):
            promise = nonce_commitment(log.race.id, own)
            log.say(Joined(seat=seat, player=str(seat), name=str(seat), commitment=promise))
            log.say(Readied(seat=seat))
        log.say(Counting())
        log.say(Nonce(seat=1, nonce=(bytes([fresh]) * 32).hex()))
        log.say(Nonce(seat=2, nonce=nonce(2).hex()))
        log.say(Dealt(), 5_000)
        deals.add(log.race.deal)
    assert len(deals) == 39


# The documentation.


@pytest.mark.parametrize("page", ["play/fairness.md", "operate/security.md"])
def test_every_test_named_on_the_page_exists(page: str) -> None:
    named = set(re.findall(r"\btest_\w+\b(?!\.py)", (DOCS / page).read_text(encoding="utf-8")))
    files = Path(__file__).parents[1].rglob("test_*.py")
    existing = {
        name for file in files for name in re.findall(r"^(?:async )?def (test_\w+)", file.read_text(), re.MULTILINE)
    }
    assert len(named) > 20
    assert named <= existing
