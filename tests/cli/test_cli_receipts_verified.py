"""``samedeal verify`` checks a replay against stored receipts and the server's keys."""

import json
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec import structs

from samedeal import codec
from samedeal.replays.signature import public_key
from samedeal_cli.net.receipts import in_file
from support.documents import serving
from support.finished_races import SIGNING_KEY, finished
from support.offline_cli import outcome as run
from support.offline_cli import written
from support.receipt_files import fact, keep, other_last_move, rewritten, told


def test_verify_uses_stored_receipts(state: Path, tmp_path: Path) -> None:
    replay = finished("corners")
    file = written(tmp_path / "race.json", replay)
    code, out, _ = run("verify", file)
    assert (code, "receipts" in out) == (0, False)
    keep(state, told(replay, 9, 12, 13))
    keep(state, told(replay, 9, 13, 15, seat=2))
    code, out, _ = run("verify", file)
    assert code == 0, out
    assert (
        fact(out) == "✔ receipts    the log matches the digests received during the race: 4 digests agree (stored here)"
    )
    assert out.splitlines()[-1].startswith("verified, key unknown: ")
    code, out, _ = run("verify", file, "--no-receipts")
    assert (code, "receipts" in out) == (0, False)
    names = [one["name"] for one in json.loads(run("verify", file, "--json")[1])["facts"]]
    assert names[-1] == "receipts"


def test_verify_detects_a_rewritten_log_at_its_first_change(state: Path, tmp_path: Path) -> None:
    replay = finished("corners")
    n, change = other_last_move(replay)
    lie = rewritten(replay, replay.header, change, replay.secret)
    assert lie.signature.key == replay.signature.key
    file = written(tmp_path / "race.json", lie)
    assert run("verify", file)[0] == 0
    keep(state, told(replay, 9, n - 1))
    assert run("verify", file)[0] == 0  # the receipts do not cover later entries
    keep(state, told(replay, 9, n))
    code, out, _ = run("verify", file)
    assert code == 5
    assert (
        fact(out) == f"✘ receipts    entry {n}: the digest of entry {n} does not match the one received (stored here)"
    )
    assert out.splitlines()[-1] == f"refused (receipts, entry {n})"


def test_verify_detects_a_race_opened_again(state: Path, tmp_path: Path) -> None:
    replay = finished("corners")
    keep(state, told(replay, 9, 12))
    header = structs.replace(replay.header, opened_at=replay.header.opened_at - 1)
    again = rewritten(replay, header, lambda _, event: event, replay.secret)
    file = written(tmp_path / "race.json", again)
    code, out, _ = run("verify", file)
    assert code == 5
    assert "the receipts are for a race with another header (stored here; skip them with --no-receipts)" in fact(out)
    assert run("verify", file, "--no-receipts")[0] == 0


def test_verify_accepts_receipt_files_of_others(tmp_path: Path, state: Path) -> None:
    replay, other = finished("corners"), finished("gallery")
    n, change = other_last_move(replay)
    lie = written(tmp_path / "lie.json", rewritten(replay, replay.header, change, replay.secret))
    mine, hers = keep(state, told(replay, 9)), tmp_path / "hers.ndjson"
    theirs = keep(tmp_path, told(replay, 9, n, seat=2))
    assert theirs.parent != mine.parent
    hers.write_bytes(theirs.read_bytes())
    foreign = keep(tmp_path, told(other, 9, seat=None))
    assert run("verify", lie)[0] == 0
    code, out, _ = run("verify", lie, "--receipts", hers)
    assert (code, "(stored here)" in out) == (5, False)
    assert f"entry {n}: the digest of entry {n} does not match the one received" in fact(out)
    # A file may contain several races, and several files may be given.
    hers.write_bytes(foreign.read_bytes() + hers.read_bytes() + b'["digest",1')
    assert run("verify", lie, "--receipts", hers)[0] == 5
    assert run("verify", lie, "--receipts", mine, "--receipts", hers)[0] == 5
    assert run("verify", written(tmp_path / "race.json", replay), "--receipts", mine, "--receipts", hers)[0] == 0
    code, out, _ = run("verify", tmp_path / "race.json", "--receipts", foreign)
    assert code == 5
    assert fact(out) == "✘ receipts    the receipts are for a race with another header"
    assert run("verify", lie, "--receipts", hers, "--no-receipts")[0] == 2


def test_a_file_without_digests_compares_nothing(state: Path, tmp_path: Path) -> None:
    replay = finished("corners")
    kept, race = keep(state, told(replay)), written(tmp_path / "race.json", replay)
    code, out, _ = run("verify", race, "--receipts", kept)
    assert (code, fact(out)) == (5, "✘ receipts    no digests to compare")
    assert out.splitlines()[-1] == "refused (receipts)"
    # Stored by a program that was stopped at once, it is as good as none.
    code, out, _ = run("verify", race)
    assert (code, "receipts" in out) == (0, False)


DIGEST = b'["digest",1,"' + b"0" * 64 + b'"]\n'


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        (lambda _: b"", "contains no receipts"),
        (lambda _: b"\xff\x00 no receipts", "contains no receipts"),
        (lambda data: data + b'["\x1b[2J",1]\n', "Line 4 is not a valid receipt"),
        (lambda data: data + DIGEST * 220_000, "larger than the 16777216 bytes"),
    ],
)
def test_damaged_receipts_file_exits_with_2(
    damage: Callable[[bytes], bytes], says: str, state: Path, tmp_path: Path
) -> None:
    replay = finished("corners")
    file, race = keep(state, told(replay, 9, seat=None)), written(tmp_path / "race.json", replay)
    file.write_bytes(file.read_bytes() + DIGEST.replace(b"0" * 64, replay.entries[0].h.encode()))
    assert run("verify", race)[0] == 0
    damaged = tmp_path / "damaged.ndjson"
    damaged.write_bytes(damage(file.read_bytes()))
    code, out, err = run("verify", race, "--receipts", damaged)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert says in err
    assert err.rstrip("\n").isprintable()
    # The same applies to stored receipts, except that empty files are ignored.
    file.write_bytes(damaged.read_bytes())
    assert run("verify", race)[0] == (0 if says == "contains no receipts" else 2)


def test_missing_receipts_file_exits_with_2(tmp_path: Path) -> None:
    race = written(tmp_path / "race.json", finished("corners"))
    for missing in (tmp_path / "nowhere", tmp_path):
        code, _, err = run("verify", race, "--receipts", missing)
        assert (code, err.count("\n")) == (2, 1)


def test_truncated_last_line_is_ignored(state: Path, tmp_path: Path) -> None:
    replay = finished("corners")
    file = keep(state, told(replay, 9, 12))
    data = file.read_bytes()
    for cut in range(1, len(DIGEST)):
        file.write_bytes(data[:-cut])
        code, out, _ = run("verify", written(tmp_path / "race.json", replay))
        assert (code, "1 digests agree" in out) == (0, True)


def test_receipts_are_listed_and_printed(state: Path, tmp_path: Path) -> None:
    assert run("receipts") == (0, "", "")
    code, _, err = run("receipts", "calm-otter-42")
    assert (code, err) == (2, "samedeal: no receipts of calm-otter-42 are stored here\n")
    replay = finished("corners")
    first, second = keep(state, told(replay, 9, 12)), keep(state, told(replay, 10))
    code, out, _ = run("receipts")
    assert [line.split()[0] for line in out.splitlines()] == ["calm-otter-42"] * 2
    assert {line.split()[-1] for line in out.splitlines()} == {str(first), str(second)}
    rows = [json.loads(line) for line in run("receipts", "--json")[1].splitlines()]
    assert {(row["race"], row["file"]) for row in rows} == {
        ("calm-otter-42", str(first)),
        ("calm-otter-42", str(second)),
    }
    first.write_bytes(first.read_bytes() + b'["digest"')
    code, out, _ = run("receipts", "http://127.0.0.1:9/r/calm-otter-42")
    given = tmp_path / "given.ndjson"
    given.write_text(out)
    assert len(in_file(given)[0].digests) == 3
    assert run("verify", written(tmp_path / "race.json", replay), "--receipts", given)[0] == 0


# Keys.


def test_verify_compares_the_key_with_given_keys(tmp_path: Path) -> None:
    file = written(tmp_path / "race.json", finished("corners"))
    key = public_key(SIGNING_KEY)
    code, out, _ = run("verify", file)
    assert (code, fact(out, "signature")) == (
        0,
        f"✔ signature   the last digest is signed with the key {key}; to check the signer, add --key and a key that the"
        " race's server publishes at /.well-known/samedeal",
    )
    code, out, _ = run("verify", file, "--key", "0" * 64, "--key", key.upper())
    assert (code, fact(out, "signature")) == (0, f"✔ signature   the last digest is signed with the key {key}")
    code, out, _ = run("verify", file, "--key", "0" * 64)
    assert (code, fact(out, "signature")[0]) == (5, "✘")
    for wrong in ("", "0" * 63, "g" * 64, "0" * 65):
        code, out, err = run("verify", file, "--key", wrong)
        assert (code, out, "64 hexadecimal digits" in err) == (2, "", True)


@pytest.mark.parametrize("current", [True, False])
def test_verify_compares_the_key_with_published_keys(current: bool, tmp_path: Path) -> None:
    replay, key = finished("corners"), public_key(SIGNING_KEY)
    pages = {"/api/v1/replays/calm-otter-42.msgpack": codec.encode(replay, "msgpack")}
    with serving(pages) as (url, _):
        link = f"{url}/r/calm-otter-42"
        code, out, _ = run("verify", link)
        assert (code, f"{key}; {url} publishes no key" in fact(out, "signature")) == (0, True)
        published = {"key": key, "since": 1, "current": current}
        pages["/.well-known/samedeal"] = json.dumps({"keys": [{"key": "1" * 64, "since": 2}, published]}).encode()
        code, out, _ = run("verify", link)
        assert (code, f"{key}; {url} publishes it" in fact(out, "signature")) == (0, True)
        code, out, _ = run("verify", "calm-otter-42", "--server", url)
        assert (code, f"{key}; {url} publishes it" in fact(out, "signature")) == (0, True)
        _, _, err = run("export", link, "-o", f"{tmp_path}/race.json")
        assert f"It is signed with a key that {url} publishes\n" in err
        code, out, _ = run(*shlex.split(err.partition("To verify it: ")[2])[1:])
        assert (code, out.splitlines()[-1].partition(":")[0]) == (0, "verified (key known)")
        pages["/.well-known/samedeal"] = b'{"keys":[{"key":"' + b"1" * 64 + b'"}]}'
        code, out, _ = run("verify", link)
        assert (code, fact(out, "signature")[0], f"{url} does not publish it" in out) == (5, "✘", True)
        assert run("verify", link, "--key", key)[0] == 0
        pages["/.well-known/samedeal"] = b"<html>"
        assert run("verify", link)[0] == 3
