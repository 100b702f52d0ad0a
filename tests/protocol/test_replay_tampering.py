"""Tampered replays: verification names the fact and the entry."""

from typing import Any

import pytest
from msgspec import json, structs

from samedeal.errors import Refused
from samedeal.games.catalogue import GAMES
from samedeal.proof.commitments import commitment, nonce_commitment
from samedeal.proof.verification import FACTS, UNCHECKED, verify
from samedeal.race.events import Closed, Counting, Dealt, Entry, Event, Joined, Moved, Nonce, Readied
from samedeal.race.race import Race
from samedeal.replays.replay import Replay, read
from samedeal.wire import codec
from support.finished_races import OPENED_AT, SECRET, finished, nonce, opened
from support.races_by_hand import closed, running
from support.replay_edits import FORMS, failures, plain, race_of


def unchecked(replay: Replay) -> set[str]:
    return {fact.name for fact in verify(replay) if fact.note == UNCHECKED}


def with_entries(replay: Replay, entries: list[Entry]) -> Replay:
    return structs.replace(replay, entries=tuple(entries))


def replaced(replay: Replay, n: int, **fields: Any) -> Replay:
    """The replay with changed fields in entry n."""
    entries = list(replay.entries)
    entries[n - 1] = structs.replace(entries[n - 1], **fields)
    return with_entries(replay, entries)


def edited(replay: Replay, n: int, **fields: Any) -> Replay:
    """The replay with changed fields in the event of entry n."""
    return replaced(replay, n, event=structs.replace(replay.entries[n - 1].event, **fields))


def first(replay: Replay, kind: type[Event], after: int = 0) -> int:
    """The number of the first entry of a kind of event."""
    return next(entry.n for entry in replay.entries[after:] if isinstance(entry.event, kind))


def another_move(replay: Replay) -> tuple[int, str]:
    """Return the number of a move that can be replaced by another legal one, and that move."""
    for race, entry in zip(replay.races(), replay.entries, strict=False):
        if isinstance(entry.event, Moved) and (run := race.seat(entry.event.seat).run):
            for move in run.game.moves():
                if move != entry.event.move:
                    return entry.n, move
    raise AssertionError("there was never a choice")


every_game = pytest.mark.parametrize("slug", GAMES)


# Untouched replays.


@every_game
@pytest.mark.parametrize("form", FORMS)
def test_an_untouched_replay_holds_in_both_encodings(slug: str, form: codec.Form) -> None:
    replay = race_of(slug)
    again = read(codec.encode(replay, form))
    assert again == replay
    assert failures(again) == {}
    assert unchecked(again) == set()


def test_the_replay_of_an_open_deal_holds() -> None:
    assert failures(finished("corners", seed="42")) == {}


@every_game
def test_the_replay_of_a_daily_deal_holds(slug: str) -> None:
    assert failures(finished(slug, daily=True)) == {}


def test_json_may_have_whitespace_and_fields_in_any_order() -> None:
    replay = race_of("corners")
    turned = dict(reversed(plain(replay).items()))
    assert read(b"\n" + json.format(json.encode(turned), indent=2) + b"\n") == replay


def test_strings_that_look_like_fields_are_accepted() -> None:
    replay = race_of("corners")
    odd = structs.replace(replay.standings[0], name='":"\\":\\\\" :')
    changed = structs.replace(replay, standings=(odd, *replay.standings[1:]))
    assert read(codec.encode(changed, "json").replace(b"{", b"{ ").replace(b'":1', b'"\t:\n1')) == changed


# Changed entries.


@every_game
def test_a_move_changed_to_a_legal_one_breaks_the_chain_at_its_entry(slug: str) -> None:
    n, move = another_move(race_of(slug))
    assert failures(edited(race_of(slug), n, move=move))["chain"] == n


@every_game
def test_a_move_changed_to_an_illegal_one_is_found_at_its_entry(slug: str) -> None:
    n = first(race_of(slug), Moved)
    assert failures(edited(race_of(slug), n, move="z9z9")) == {"moves": n}


@every_game
def test_a_move_given_to_another_seat_is_found_at_its_entry(slug: str) -> None:
    n = first(race_of(slug), Moved)
    failed = failures(edited(race_of(slug), n, seat=2))
    assert n in (failed.get("chain"), failed.get("moves"))


@every_game
def test_every_dropped_entry_is_found_at_its_position(slug: str) -> None:
    replay = race_of(slug)
    for n in range(1, len(replay.entries)):
        entries = [entry for entry in replay.entries if entry.n != n]
        assert failures(with_entries(replay, entries))["numbers"] == n


@every_game
def test_a_dropped_entry_is_found_even_if_the_others_are_renumbered(slug: str) -> None:
    replay = race_of(slug)
    for n in range(1, len(replay.entries)):
        entries = [entry for entry in replay.entries if entry.n != n]
        renumbered = [structs.replace(entry, n=number) for number, entry in enumerate(entries, start=1)]
        failed = failures(with_entries(replay, renumbered))
        assert failed
        assert "numbers" not in failed
        assert min(entry for entry in failed.values() if entry is not None) >= n


@every_game
def test_every_swapped_pair_is_found_at_its_position(slug: str) -> None:
    replay = race_of(slug)
    for n in range(1, len(replay.entries) - 1):
        entries = list(replay.entries)
        entries[n - 1], entries[n] = entries[n], entries[n - 1]
        assert failures(with_entries(replay, entries))["numbers"] == n
        entries[n - 1], entries[n] = structs.replace(entries[n - 1], n=n), structs.replace(entries[n], n=n + 1)
        failed = failures(with_entries(replay, entries))
        assert n in failed.values() or n + 1 in failed.values()


@every_game
def test_every_changed_time_is_found_at_its_entry(slug: str) -> None:
    replay = race_of(slug)
    for entry in replay.entries:
        for at in (entry.at + 1, entry.at - 1):
            failed = failures(replaced(replay, entry.n, at=at))
            assert entry.n in failed.values(), failed


def test_an_entry_with_an_earlier_time_fails_the_times() -> None:
    replay = race_of("corners")
    n = first(replay, Moved)
    assert failures(replaced(replay, n, at=replay.entries[n - 2].at - 1))["times"] == n
    assert failures(replaced(replay, 1, at=OPENED_AT - 1))["times"] == 1


@every_game
def test_every_repeated_entry_is_found_at_its_position(slug: str) -> None:
    replay = race_of(slug)
    for n in range(1, len(replay.entries) + 1):
        entries = [*replay.entries[:n], *replay.entries[n - 1 :]]
        assert failures(with_entries(replay, entries))["numbers"] == n + 1


@every_game
def test_a_truncated_log_is_not_complete_and_its_proofs_are_unchecked(slug: str) -> None:
    replay = race_of(slug)
    for n in range(len(replay.entries)):
        cut = with_entries(replay, list(replay.entries[:n]))
        assert failures(cut) == {"complete": n}
        assert unchecked(cut) == FACTS.keys() - {"complete", "numbers", "times", "signature"}


def test_a_closing_entry_in_the_middle_is_found_at_its_position() -> None:
    replay = race_of("corners")
    n = first(replay, Moved)
    entries = [*replay.entries[:n], replay.entries[-1], *replay.entries[n:]]
    assert failures(with_entries(replay, entries))["complete"] == n + 1


@every_game
def test_every_changed_digest_is_found(slug: str) -> None:
    replay = race_of(slug)
    for entry in replay.entries:
        assert failures(replaced(replay, entry.n, h="0" * 64)) == {"chain": entry.n}


# Seats, nonces, secrets, header, standings.


@pytest.mark.parametrize("fields", [{"name": "eve"}, {"player": "eve"}, {"bot": True}])
def test_a_forged_seat_breaks_the_chain_at_its_entry(fields: dict[str, Any]) -> None:
    failed = failures(edited(race_of("corners"), 1, **fields))
    assert failed.pop("standings", None) is None
    assert failed == {"chain": 1}


def test_a_seat_out_of_order_is_found_at_its_entry() -> None:
    assert failures(edited(race_of("corners"), 2, seat=5)) == {"order": 2}


def test_a_move_of_an_unoccupied_seat_is_found_at_its_entry() -> None:
    n = first(race_of("corners"), Moved)
    assert failures(edited(race_of("corners"), n, seat=9)) == {"moves": n}


def test_a_seat_without_a_commitment_is_found_at_its_entry() -> None:
    assert failures(edited(race_of("corners"), 1, commitment=None)) == {"nonces": 1}


def test_a_changed_commitment_is_found_at_its_entry_and_its_nonce() -> None:
    n = first(race_of("corners"), Nonce)
    assert failures(edited(race_of("corners"), 1, commitment="0" * 64)) == {"chain": 1, "nonces": n}


def test_a_changed_nonce_is_found_at_its_entry() -> None:
    n = first(race_of("corners"), Nonce)
    assert failures(edited(race_of("corners"), n, nonce="0" * 64)) == {"nonces": n}


def test_a_changed_secret_does_not_match_the_commitment() -> None:
    replay = race_of("corners")
    assert failures(edited(replay, len(replay.entries), secret="0" * 64)) == {"commitment": len(replay.entries)}


def test_another_deal_of_the_same_root_is_found_at_its_entry() -> None:
    replay = race_of("corners")
    n = first(replay, Dealt)
    assert failures(edited(replay, n, k=1))["filter"] == n


def test_a_chosen_deal_is_found_even_if_the_chain_is_intact() -> None:
    log = opened("corners")
    for seat in (1, 2):
        log.say(
            Joined(seat=seat, player=str(seat), name=str(seat), commitment=nonce_commitment(log.race.id, nonce(seat)))
        )
    for seat in (1, 2):
        log.say(Readied(seat=seat))
    log.say(Counting())
    log.say(Dealt(k=7), 5_000)
    log.say(Closed(secret=SECRET.hex()))
    assert failures(log.replay()) == {"filter": 6}


def test_a_public_deal_with_a_filter_is_found_even_if_the_chain_is_intact() -> None:
    log = running(seed="42", filter="friendly/1")
    dealt = len(log.entries)
    assert failures(closed(log).replay()) == {"filter": dealt}


@pytest.mark.parametrize(
    ("fields", "fact", "entry"),
    [
        ({"race": "other-race"}, "commitment", 56),
        ({"commitment": "0" * 64}, "commitment", 56),
        ({"game": "the-edge"}, "rules", None),
        ({"game": "poker"}, "rules", None),
        ({"rules": "corners/2"}, "rules", None),
        ({"variant": {"refill": "waste"}}, "chain", 1),
        ({"variant": {"refill": "moon"}}, "rules", None),
        ({"variant": {"cls": True}}, "rules", None),
        ({"variant": {"seed": "x"}}, "rules", None),
        ({"variant": {"refill": "stock"}}, "rules", None),
        ({"seed": "42"}, "chain", 1),
        ({"salt": "11" * 16}, "chain", 1),
        ({"opened_at": OPENED_AT - 1}, "chain", 1),
        ({"opened_at": OPENED_AT + 10**9}, "times", 1),
    ],
)
def test_every_changed_header_field_is_found(fields: dict[str, Any], fact: str, entry: int | None) -> None:
    replay = race_of("corners")
    assert len(replay.entries) == 56
    changed = structs.replace(replay, header=structs.replace(replay.header, **fields))
    assert failures(changed)[fact] == entry


@pytest.mark.parametrize(
    "fields",
    [
        {"opened_at": OPENED_AT - 86_400_000},
        {"opened_at": OPENED_AT - OPENED_AT % 86_400_000 - 1},
        {"daily": False},
        {"seed": "42"},
        {"variant": {"refill": "waste"}},
        {"commitment": commitment("calm-otter-42", SECRET)},
    ],
)
def test_a_relabelled_daily_deal_does_not_match_the_commitment(fields: dict[str, Any]) -> None:
    replay = finished("corners", daily=True)
    changed = structs.replace(replay, header=structs.replace(replay.header, **fields))
    assert failures(changed) == {"commitment": len(replay.entries)}


@pytest.mark.parametrize(
    "fields",
    [
        {"limit_ms": 7_200_000},
        {"max_racers": 9},
        {"start_delay_ms": 4_999},
        {"undo": False},
        {"attempts": 99},
        {"spectators": "open"},
        {"unlisted": True},
    ],
)
def test_every_changed_option_is_found(fields: dict[str, Any]) -> None:
    replay = race_of("corners")
    options = structs.replace(replay.header.options, **fields)
    changed = structs.replace(replay, header=structs.replace(replay.header, options=options))
    assert failures(changed)["chain"] == 1


@every_game
def test_every_changed_field_of_the_standings_is_found(slug: str) -> None:
    replay = race_of(slug)
    for racer, standing in enumerate(replay.standings):
        for field, value in json.decode(json.encode(standing)).items():
            other = not value if isinstance(value, bool) else value + "x" if isinstance(value, str) else value + 1
            changed = list(replay.standings)
            changed[racer] = structs.replace(standing, **{field: other})
            assert failures(structs.replace(replay, standings=tuple(changed))) == {"standings": None}
    assert failures(structs.replace(replay, standings=replay.standings[::-1])) == {"standings": None}
    assert failures(structs.replace(replay, standings=())) == {"standings": None}


def test_a_changed_last_digest_is_found() -> None:
    replay = race_of("corners")
    assert failures(structs.replace(replay, digest="0" * 64)) == {"chain": len(replay.entries), "signature": None}


def test_a_replay_relabelled_as_another_race_is_found() -> None:
    ours, theirs = race_of("corners"), race_of("gallery")
    assert failures(structs.replace(ours, header=theirs.header))
    assert failures(structs.replace(ours, entries=theirs.entries))


def test_the_races_of_a_replay_match_the_original_fold() -> None:
    replay = race_of("corners")
    races = list(replay.races())
    assert len(races) == len(replay.entries) + 1
    assert races[-1].digest == replay.digest
    with pytest.raises(Refused):
        list(edited(replay, 1, name="eve").races())


def test_the_races_of_a_truncated_replay_are_refused() -> None:
    replay = race_of("corners")
    for count in (0, 5):
        truncated = with_entries(replay, list(replay.entries[:count]))
        with pytest.raises(Refused, match=f"The log ends at entry {count} without a closing entry") as refusal:
            truncated.races()
        assert refusal.value.code == "bad-replay"


def test_a_replay_requires_a_closed_race_and_its_own_entries() -> None:
    """The fold refuses entries of another log."""
    ours = race_of("corners")
    race = Race.opened(ours.header, SECRET)
    for entry in race_of("gallery").entries[:3]:
        with pytest.raises(Refused):
            race.after(entry)
