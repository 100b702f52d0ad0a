"""The page that verifies a file in the browser, without a connection."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Page, Route

from samedeal import codec
from samedeal.race.events import Counting
from samedeal.replays.signature import public_key
from support.browser import IN_BROWSER, box_of, check_themes, overflow
from support.finished_races import SIGNING_KEY, finished
from support.forged_replays import altered, forged, played, prolonged
from support.receipt_files import keep, told
from support.saved_replays import replay_file
from support.servers import Server

pytestmark = [*IN_BROWSER, pytest.mark.tier(2)]
FORGER = public_key(SIGNING_KEY)


async def open_verifier(page: Page, server: Server) -> list[str]:
    """Open the page and go offline. Return a list of all later requests."""
    await page.goto(f"{server.url}/verify")
    await page.wait_for_selector("#replay")
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    await page.context.set_offline(True)
    return requests


async def drop(page: Page, file: Path, selector: str = "h1") -> None:
    """Drop a file on an element as the desktop does."""
    box = await box_of(page.locator(selector))
    session = await page.context.new_cdp_session(page)
    data = {"items": [], "files": [str(file)], "dragOperationsMask": 1}
    for kind in ("dragEnter", "dragOver", "drop"):
        place = {"x": box["x"] + 5, "y": box["y"] + 5}
        await session.send("Input.dispatchDragEvent", {"type": kind, "data": data, **place})


async def expect_verdict(page: Page, label: str) -> None:
    """Wait for an outcome, which is also announced."""
    label = label[0].upper() + label[1:]
    await page.wait_for_selector(f".verdict:text-is('{label}')")
    await page.wait_for_selector(f"#status:text-is('{label}')")


def write(file: Path, content: Any) -> Path:
    file.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    return file


async def test_a_heat_of_a_challenge_is_verified_offline(server: Server, page: Page) -> None:
    await open_verifier(page, server)
    await drop(page, replay_file(4, "heat-4", "json"))
    await expect_verdict(page, "genuine, signed by this server")


async def test_dropped_file_is_verified_offline(server: Server, page: Page, tmp_path: Path) -> None:
    replay = await played(server, "corners")
    n, other = altered(replay)
    own, foreign = replay.signature.key, forged(replay)
    assert foreign.signature.key == FORGER != own
    requests = await open_verifier(page, server)
    files: Iterable[tuple[str, Any, str, str]] = [
        ("true", codec.encode(replay, "json"), "genuine, signed by this server", own),
        ("altered", other, "not genuine", own),
        ("forged", codec.encode(foreign, "json"), "consistent, but signed with an unknown key", FORGER),
        ("lines", b"".join(replay.lines()), "genuine, signed by this server", own),
    ]
    for name, content, label, key in files:
        await drop(page, write(tmp_path / f"{name}.json", content))
        await expect_verdict(page, label)
        text = await page.inner_text("main")
        assert f"{key}, which this server {'publishes' if key == own else 'does not publish'}" in text
        for fact in ("Corners", replay.header.race, "ada"):
            assert fact in text
        assert ("What the file says" in text) is (name in ("altered", "forged"))
        assert (f"✗ moves entry {n}" in text) is (name == "altered")
    assert requests == []


async def facts(page: Page) -> list[str]:
    return await page.locator(".facts li").all_inner_texts()


async def test_signature_is_not_checked_on_insecure_pages(server: Server, page: Page, tmp_path: Path) -> None:
    async def forward(route: Route) -> None:
        response = await route.fetch(url=route.request.url.replace("http://race.example", server.url))
        await route.fulfill(response=response)

    file = write(tmp_path / "replay.json", codec.encode(finished("gallery"), "json"))
    await page.route("http://race.example/**", forward)
    await page.goto("http://race.example/verify")
    assert await page.evaluate("isSecureContext || crypto.subtle") is None
    await page.set_input_files("#replay", file)
    await expect_verdict(page, "not checked: signature")
    text = await page.inner_text("main")
    assert "everything except the signature, because this page is not encrypted (https)." in text
    assert "server says" not in text


async def test_receipts_are_compared(server: Server, page: Page, tmp_path: Path) -> None:
    replay = await played(server, "corners")
    (counting,) = (entry.n for entry in replay.entries if isinstance(entry.event, Counting))
    receipts = keep(tmp_path, told(replay, counting, counting + 2))
    other = keep(tmp_path, told(forged(replay), counting, len(replay.entries) - 1))
    requests = await open_verifier(page, server)
    await page.set_input_files("#replay", write(tmp_path / "true.json", codec.encode(replay, "json")))
    await expect_verdict(page, "genuine, signed by this server")
    await page.click("text=Compare with receipts")
    await drop(page, receipts, "#receipts")
    await page.wait_for_selector(".facts >> text=✓ receipts")
    await expect_verdict(page, "genuine, signed by this server")
    await drop(page, other, "#receipts")
    await expect_verdict(page, "not genuine")
    assert any(line.startswith(f"✗ receipts entry {len(replay.entries) - 1}") for line in await facts(page))
    await page.set_input_files("#receipts", tmp_path / "true.json")
    await page.wait_for_selector(".verdict:text-is('These are not receipts')")
    assert requests == []


async def test_other_files_are_not_replays(server: Server, page: Page, tmp_path: Path) -> None:
    await open_verifier(page, server)
    for content, label, hint in (
        (codec.encode(finished("corners"), "msgpack"), "MessagePack is not read here", "run “samedeal verify FILE”"),
        (b"hello", "neither JSON nor NDJSON", ""),
        (b'{"format":"samedeal.replay/5"}', "the replay is in the format samedeal.replay/5", "Reload"),
    ):
        await page.set_input_files("#replay", write(tmp_path / f"{len(content)}", content))
        await page.wait_for_selector(f"text=What is wrong: {label}")
        assert await page.locator(".verdict:text-is('Not a replay')").count() == 1
        assert hint in await page.inner_text("main")


async def test_long_race_shows_progress(server: Server, page: Page, tmp_path: Path) -> None:
    replay = prolonged(finished("corners"), 4_000)
    await open_verifier(page, server)
    # Each change that the page shows on its own is seen; those of a page that is frozen meanwhile are seen as one.
    await page.evaluate(
        """() => {
            globalThis.seen = [];
            const look = () => seen.push(document.querySelector(".verify > section > progress")?.value);
            const options = { subtree: true, attributeFilter: ["value"] };
            new MutationObserver(look).observe(document.querySelector(".verify > section"), options);
        }"""
    )
    await page.set_input_files("#replay", write(tmp_path / "long.json", codec.encode(replay, "json")))
    await expect_verdict(page, "consistent, but signed with an unknown key")
    values = [value for value in await page.evaluate("seen") if value]
    assert values == sorted(values)
    assert len(set(values)) > 3
    assert max(values) <= len(replay.entries)


async def test_page_is_usable_by_keyboard_and_screen_reader(server: Server, page: Page, tmp_path: Path) -> None:
    replay = finished("the-edge")
    n, content = altered(replay)
    await page.goto(server.url)
    await page.click("text=anyone can verify")
    field = page.get_by_label("Replay: choose a file")
    await field.focus()
    async with page.expect_file_chooser() as chooser:
        await field.press("Enter")
    await (await chooser.value).set_files(write(tmp_path / "altered.json", content))
    await expect_verdict(page, "not genuine")
    assert await page.get_by_role("status").inner_text() == "Not genuine"
    assert f"✗ moves entry {n}" in await page.inner_text("main")
    await page.click("text=Compare with receipts")
    await check_themes(page)
    for width, height in ((320, 568), (390, 844), (1280, 800)):
        await page.set_viewport_size({"width": width, "height": height})
        assert await overflow(page) <= 0, width
