"""Fixtures of the tests that open the built book in a browser."""

import os

import pytest
from browser import FLAGS, find_browser, serve
from places import HTML

# Some virtual machines announce AMX and refuse its instructions: bfloat16 would end the process there.
os.environ.setdefault("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_FP16")


def pytest_configure(config):
    config.addinivalue_line("markers", "book: needs a browser, or the built book in _build/html (make book)")
    config.addinivalue_line("markers", "slow: real subprocesses or trainings; `make check` leaves it to `make test`")


def pytest_collection_modifyitems(items):
    """Whatever opens a browser belongs to that step, also where it needs no built page."""
    for item in items:
        if "browser" in getattr(item, "fixturenames", ()):
            item.add_marker("book")


@pytest.fixture(scope="session")
def html():
    """The folder of the built book."""
    if not (HTML / "index.html").is_file():
        pytest.fail("There is no built book in _build/html. Build it with `make book`.", pytrace=False)
    return HTML


@pytest.fixture(scope="session")
def site(html):
    """The URL of the built book on a loopback server."""
    with serve(html) as url:
        yield url


@pytest.fixture(scope="session")
def browser():
    """One Chromium for all tests of a worker."""
    from playwright.sync_api import sync_playwright  # here, so that other tests need no Playwright

    path = find_browser()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield browser
        browser.close()
