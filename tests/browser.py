"""A browser for tests of HTML pages."""

import shutil

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
CHROMIUM = next(filter(None, map(shutil.which, BROWSERS)), None)
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
         "--disable-background-networking", "--disable-component-update",
         "--disable-sync"]  # fmt: skip
#: True once all charts of a report are drawn, and for pages without charts.
DRAWN = """() => [...document.querySelectorAll("[data-chart]")]
    .every((place) => place.querySelector("svg"))"""


class Seen:
    """An open page, its messages and its requests."""

    def __init__(self, page, url):
        self.page, self.url = page, url.partition("#")[0]
        self.said, self.asked = [], []
        page.on("console", lambda message: self.said.append((message.type, message.text)))
        page.on("pageerror", lambda error: self.said.append(("error", str(error))))
        page.on("dialog", lambda dialog: self.said.append(("dialog", dialog.message)))
        page.on("request", lambda request: self.asked.append(request.url))
        page.goto(url)
        page.wait_for_function(DRAWN)

    def silent_and_alone(self):
        assert self.said == []
        # What is saved as a file comes from the page itself.
        assert [url for url in self.asked if not url.startswith(f"blob:{'file://'}")] == [self.url]


def colour(page, selector, what="color"):
    """Return a computed colour."""
    return page.eval_on_selector(selector, f"e => getComputedStyle(e).{what}")
