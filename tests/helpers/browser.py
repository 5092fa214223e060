"""A Chromium for the tests, and the built book in it with every other address cut off.

python tests/helpers/browser.py    print the browser's path; fetch one first if the machine has none
"""

import contextlib
import functools
import http.server
import os
import re
import shutil
import subprocess
import sys
import threading

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]

# The widget manager's JSON validator says this about its own schema on every page that has a widget.
HARMLESS = "strict mode: use allowUnionTypes"


def find_browser():
    """The path of a Chromium: $CHROMIUM, the system's, Playwright's, or one that is fetched now."""
    if chosen := os.environ.get("CHROMIUM"):
        if not runs(chosen):
            raise RuntimeError(f"CHROMIUM={chosen} does not run.")
        return chosen
    for find in (system_browser, playwright_browser, download_with_playwright, install_with_apt):
        if path := find():
            return path
    raise RuntimeError(
        "No Chromium found, and none could be fetched. Install your system's `chromium` package, "
        "or run `python -m playwright install --with-deps chromium`, or set CHROMIUM to a browser's path."
    )


def runs(path):
    # Ubuntu's chromium-browser can be a stub, and a downloaded one can lack libraries: ask it
    try:
        return subprocess.call([path, "--version"], stdout=subprocess.DEVNULL, timeout=60) == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


def system_browser():
    paths = map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))
    return next((path for path in paths if path and runs(path)), None)


def playwright_browser():
    # in a process of its own: Playwright's synchronous API cannot be started twice in one
    ask = (
        "from playwright.sync_api import sync_playwright\n"
        "with sync_playwright() as playwright: print(playwright.chromium.executable_path)"
    )
    path = subprocess.check_output([sys.executable, "-c", ask], text=True).strip()
    return path if runs(path) else None


def download_with_playwright():
    attempt([sys.executable, "-m", "playwright", "install", "chromium"])
    return playwright_browser()


def install_with_apt():
    if not shutil.which("apt-get"):
        return None
    sudo = ["sudo", "-n"] if os.geteuid() and shutil.which("sudo") else []
    attempt([*sudo, "apt-get", "update"])
    attempt([*sudo, "apt-get", "install", "-y", "chromium"])
    return system_browser()


def attempt(command):
    print("$", *command, file=sys.stderr)
    with contextlib.suppress(OSError, subprocess.TimeoutExpired):
        subprocess.call(command, stdout=sys.stderr, timeout=600)


@contextlib.contextmanager
def serve(folder):
    """A static server of `folder` on the loopback address; gives its URL."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *args):
            pass

    handler = functools.partial(Quiet, directory=folder)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


@contextlib.contextmanager
def visit(browser, url, width=1280, scheme="light"):
    """Open `url` with other origins cut off, wait until it is drawn; give the page and its complaints."""
    own = re.match(r"file://|https?://[^/]+/", url)[0]
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page = context.new_page()
    complaints = []

    def block(route):
        complaints.append(f"asks for {route.request.url}, which is outside the book")
        route.abort()

    def listen(message):
        if message.type in ("error", "warning") and HARMLESS not in message.text:
            complaints.append(f"console {message.type}: {message.text}")

    context.route(re.compile(rf"^(?!{re.escape(own)}|data:|blob:)"), block)
    page.on("console", listen)
    page.on("pageerror", lambda error: complaints.append(f"uncaught: {error}"))
    page.on("response", lambda r: r.status >= 400 and complaints.append(f"{r.status} for {r.url}"))
    page.on("requestfailed", lambda r: r.url.startswith(own) and complaints.append(f"{r.failure}: {r.url}"))
    try:
        page.goto(url)
        page.wait_for_load_state("networkidle")
        with contextlib.suppress(Exception):  # what is not drawn by then is for the checks to report
            page.wait_for_function(DRAWN, timeout=30_000)
        yield page, complaints
    finally:
        context.close()


# All of it read, and no page that only leads to another; formulas typeset, and every stored widget view filled.
# Not async: Playwright takes the promise itself for a yes, and does not ask again.
DRAWN = """() => {
  const all = (selector) => [...document.querySelectorAll(selector)];
  const views = all('script[type="application/vnd.jupyter.widget-view+json"]').length;
  return document.readyState === "complete"
    && !document.querySelector("meta[http-equiv=refresh i]")
    && all(".math").every((math) => math.querySelector("mjx-container"))
    && views <= all(".widget-subarea").filter((area) => area.querySelector("*")).length;
}"""


if __name__ == "__main__":
    print(find_browser())
