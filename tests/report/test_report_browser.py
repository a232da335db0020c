"""The report in a browser: no errors, no requests, and working controls."""

import csv
import io
import re

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import credalens as cl
from browser import colour
from report_pages import HOSTILE, ensemble

pytestmark = pytest.mark.slow

NAMES = ("cat", "dog", "fox")
#: Total uncertainty above which the report of the tests reviews predictions.
THRESHOLD = 0.5


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """A report of 400 predictions over three classes: where it is, predictions and labels."""
    P, y = ensemble()
    path = tmp_path_factory.mktemp("browser") / "report.html"
    ids = [f"image {i}" for i in range(len(y))]
    cl.report.write(path, P, y, NAMES, ids, names=list("abcd"), review_threshold=THRESHOLD)
    return path, P, y


def reviewed(P):
    """Return which predictions are ambiguous, and on which two models disagree."""
    u = cl.quantify(P)
    hard, apart = u.aleatoric.lower >= THRESHOLD / 2, u.epistemic >= THRESHOLD / 4
    return (u.total > THRESHOLD) & hard, (u.total > THRESHOLD) & apart


def column(page, key):
    """Return the shown texts of a column of the table."""
    keys = page.eval_on_selector_all("#listing thead th", "all => all.map(h => h.dataset.key)")
    place = keys.index(key) + 1
    return page.eval_on_selector_all(
        f"#listing tbody td:nth-child({place})", "all => all.map(cell => cell.textContent)"
    )


def counted(page):
    """Return the number at the head of the table."""
    return int(page.inner_text("#count").split()[0].replace(",", ""))


# ---------------------------------------------------------------- silent and alone


@pytest.mark.parametrize(
    ("shape", "labelled"),
    [
        ((200, 5, 2), True), ((5000, 3, 4), True), ((500, 3, 1000), True), ((60, 3, 3), False),
        ((1, 1, 1), True), ((1, 3, 2), False), ((40, 1, 5), True), ((30, 4, 1), True),
    ],
)  # fmt: skip
def test_no_word_on_the_console_and_no_request(open_page, tmp_path, shape, labelled):
    P, y = ensemble(*shape)
    path = cl.report.write(tmp_path / "r.html", P, y if labelled else None)
    seen = open_page(path)
    seen.page.mouse.move(400, 700)
    seen.page.click("[data-filter=all]")
    seen.silent_and_alone()
    assert counted(seen.page) == shape[0]
    has_sets = labelled and shape[1] > 1 and shape[2] > 1
    charts = (9 if labelled else 6) + 2 * has_sets  # sets of labels, and calibration
    assert seen.page.locator("[data-chart] svg").count() == charts


# ---------------------------------------------------------------- the map and its table


def ranges(page):
    numbers = re.search(
        r"aleatoric ([\d.]+) to ([\d.]+) and epistemic ([\d.]+) to ([\d.]+)",
        page.inner_text("#count"),
    )
    return [float(number) for number in numbers.groups()]


def inside(P, x0, x1, y0, y1):
    u = cl.quantify(P)
    x, y = np.rint(1e4 * u.aleatoric.lower), np.rint(1e4 * u.epistemic)
    return (x >= 1e4 * x0 - 1e-6) & (x < 1e4 * x1 - 1e-6) & (y >= 1e4 * y0 - 1e-6) & (
        y < 1e4 * y1 - 1e-6
    )  # fmt: skip


def drag(page, start, stop):
    """Brush over the map between two points, given as shares of its width and height."""
    page.locator(".map").scroll_into_view_if_needed()
    box = page.locator(".map svg").bounding_box()
    (x0, y0), (x1, y1) = [
        (box["x"] + a * box["width"], box["y"] + b * box["height"]) for a, b in (start, stop)
    ]
    page.mouse.move(x0, y0)
    page.mouse.down()
    page.mouse.move((x0 + x1) / 2, (y0 + y1) / 2)
    page.mouse.move(x1, y1, steps=4)
    page.mouse.up()
    page.wait_for_function("() => document.getElementById('count').textContent.includes(' to ')")


def test_votes_that_are_not_listed_are_counted(open_page, tmp_path):
    P = np.eye(5)[[[0, 0, 0, 1, 1, 2, 2, 3, 4], [0, 0, 1, 1, 2, 2, 3, 0, 0], [0] * 9]]
    page = open_page(cl.report.write(tmp_path / "r.html", P)).page
    page.click("[data-filter=all]")
    page.click("[data-sort=id]")
    printed = ["3 x 0, 2 x 1, 2 x 2 and 2 others", "4 x 0, 2 x 1, 2 x 2 and 1 other", "9 x 0"]
    printed = [votes.replace("x", "\u00d7") for votes in printed]
    assert column(page, "v") == printed
    with page.expect_download() as saved:
        page.click("#export")
    text = saved.value.path().read_text(encoding="utf-8")
    assert all(f'"{votes}"' in text for votes in printed)


def test_exported_text_is_no_formula(open_page, tmp_path):
    names = ("=1+1", "-5", "cat")
    ids = ["@SUM(A1)", "+cmd|' /C calc'!A0", "\t=1"]
    P = np.eye(3)[[[0, 0], [1, 1], [2, 2]]]
    page = open_page(cl.report.write(tmp_path / "r.html", P, class_names=names, ids=ids)).page
    page.click("[data-filter=all]")
    with page.expect_download() as saved:
        page.click("#export")
    text = saved.value.path().read_text(encoding="utf-8-sig")
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    assert {row["id"] for row in rows} == {f"'{ident}" for ident in ids}
    assert {row["prediction"] for row in rows} == {"'=1+1", "-5", "cat"}
    assert {row["votes"] for row in rows} == {"2 \u00d7 =1+1", "2 \u00d7 -5", "2 \u00d7 cat"}


def test_brushing_fills_the_table(open_page, report):
    path, P, _ = report
    seen = open_page(path)
    page = seen.page
    assert counted(page) == (cl.total_uncertainty(P) > THRESHOLD).sum()
    for start, stop in (((0.3, 0.2), (0.8, 0.6)), ((0.7, 0.8), (0.2, 0.4))):
        drag(page, start, stop)
        page.wait_for_timeout(150)
        chosen = inside(P, *ranges(page))
        assert 0 < chosen.sum() < 400
        assert counted(page) == chosen.sum()
        while page.locator("#more").is_visible():
            page.click("#more")
        listed = [int(text.split()[1]) for text in column(page, "id")]
        order = cl.rejection_order(cl.total_uncertainty(P))
        # Values that are equal when rounded keep the order of the exact ones.
        assert_array_equal(listed, [i for i in order if chosen[i]])
    seen.silent_and_alone()


def test_brushing_counts_all_of_a_sample(open_page, tmp_path):
    P, y = ensemble(25_000, 2, 3, sharp=2)
    seen = open_page(cl.report.write(tmp_path / "r.html", P, y, measures=["tv"]))
    drag(seen.page, (0.15, 0.8), (0.6, 0.3))
    seen.page.wait_for_timeout(150)
    chosen = inside(P, *ranges(seen.page))
    printed = seen.page.inner_text("#count")
    assert counted(seen.page) == chosen.sum()
    assert re.search(r"; [\d,]+ of them are listed", printed)
    seen.silent_and_alone()


def test_the_keyboard_does_what_brushing_does(open_page, report):
    path, P, _ = report
    page = open_page(path).page
    for name, value in {"x0": "0.203", "x1": "0.495", "y0": "0.101", "y1": "0.299"}.items():
        page.focus(f"#from-{name}")
        page.keyboard.type(value)
    page.keyboard.press("Enter")
    chosen = inside(P, 0.2, 0.5, 0.1, 0.3)  # whole cells, none of what was asked for left out
    assert counted(page) == chosen.sum() > 0
    page.focus("[data-filter='2']")
    page.keyboard.press("Space")
    hard, apart = reviewed(P)
    assert counted(page) == (apart & ~hard).sum()
    assert page.get_attribute("[data-filter='2']", "aria-pressed") == "true"
    assert set(column(page, "q")) == {"unknown"}
    # Everything that can be clicked can be reached.
    reached = set()
    page.evaluate("document.activeElement.blur()")
    for _ in range(60):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.id || document.activeElement.innerText"))
    assert {"theme", "from-x0", "more", "export"} <= reached


def test_sorting(open_page, report):
    path, P, _ = report
    page = open_page(path).page
    page.click("[data-filter=all]")
    assert page.get_attribute("th[data-key=t]", "aria-sort") == "descending"
    u = cl.quantify(P)
    for key, values in {"t": u.total, "l": u.aleatoric.lower, "e": u.epistemic}.items():
        head = f"th[data-key={key}]"
        seen = {}
        for _ in range(2):
            page.focus(f"{head} button")
            page.keyboard.press("Enter")
            seen[page.get_attribute(head, "aria-sort")] = column(page, key)
        up = np.sort(np.rint(1e4 * values))[:12] / 1e4
        down = -np.sort(-np.rint(1e4 * values))[:12] / 1e4
        assert_array_equal([float(text.split()[0]) for text in seen["ascending"]], up)
        assert_array_equal([float(text.split()[0]) for text in seen["descending"]], down)
    page.click("th[data-key=id] button")
    assert column(page, "id") == [f"image {i}" for i in range(12)]  # 2 before 10
    assert page.locator("[aria-sort=ascending]").count() == 1


def test_export(open_page, report):
    path, P, y = report
    page = open_page(path, accept_downloads=True).page
    page.click("[data-filter='2']")
    with page.expect_download() as waiting:
        page.click("#export")
    text = waiting.value.path().read_text(encoding="utf-8-sig")
    lines = list(csv.DictReader(io.StringIO(text, newline="")))
    assert len(lines) == counted(page) > 12  # all of them, not only those shown
    u = cl.quantify(P)
    for line in lines:
        i = int(line["row"])
        assert line["id"] == f"image {i}"
        assert line["prediction"] == NAMES[cl.majority_vote(P[i : i + 1])[0]]
        assert line["label"] == NAMES[y[i]]
        assert float(line["aleatoric_lower"]) == pytest.approx(u.aleatoric.lower[i], abs=5.1e-5)
        assert float(line["epistemic"]) == pytest.approx(u.epistemic[i], abs=5.1e-5)
        assert line["kind"] == "unknown"


def test_hovering(open_page, report):
    path, P, y = report
    seen = open_page(path)
    page = seen.page
    page.locator("[data-chart=curve-total]").scroll_into_view_if_needed()
    box = page.locator("[data-chart=curve-total] svg").bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.move(box["x"] + box["width"] / 2 + 3, box["y"] + box["height"] / 2)
    tip = page.locator("#vg-tooltip-element.visible")
    tip.wait_for()
    printed = tip.inner_text().split()
    for name in ("Oracle", "Random", "Entropy"):
        assert any(name in word for word in printed)
    accuracy = np.mean(cl.majority_vote(P) == y)
    assert f"{accuracy:.2%}" in printed
    mark = page.locator(".map svg .mark-symbol path").first
    mark.scroll_into_view_if_needed()
    mark.hover(force=True)
    page.wait_for_function("() => document.querySelector('#vg-tooltip-element').innerText"
                           ".includes('aleatoric')")  # fmt: skip
    assert re.search(r"aleatoric:?\s+0\.\d{4} to\s0\.\d{4}",
                     page.inner_text("#vg-tooltip-element"))  # fmt: skip
    seen.silent_and_alone()


# ---------------------------------------------------------------- looks


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_both_themes(open_page, report, scheme):
    path, _, _ = report
    seen = open_page(path, color_scheme=scheme)
    page = seen.page
    dark, light = "rgb(20, 24, 28)", "rgb(255, 255, 255)"
    before, after = (light, dark) if scheme == "light" else (dark, light)
    label = "[data-chart=curve-total] .role-axis-label text"
    assert colour(page, "body", "backgroundColor") == before
    inks = [colour(page, label, "fill")]
    page.click("#theme")
    assert colour(page, "body", "backgroundColor") == after
    inks.append(colour(page, label, "fill"))
    assert set(inks) == {"rgb(26, 31, 36)", "rgb(238, 241, 244)"}  # charts follow
    assert page.inner_text("#theme-name") == scheme.capitalize()
    seen.silent_and_alone()


def test_printing(open_page, report):
    path, _, _ = report
    seen = open_page(path, color_scheme="dark", viewport={"width": 720, "height": 1000})
    page = seen.page
    page.emulate_media(media="print")
    assert colour(page, "body", "backgroundColor") == "rgb(255, 255, 255)"
    for selector in ("nav", ".filters", "#theme", ".actions"):
        assert not page.locator(selector).first.is_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    document = page.pdf(format="A4")
    assert document.startswith(b"%PDF")
    assert 4 < document.count(b"/Type /Page\n") + document.count(b"/Type /Page ") < 30
    seen.silent_and_alone()


@pytest.mark.parametrize("width", [390, 320])
def test_on_a_phone(open_page, report, width):
    path, _, _ = report
    seen = open_page(path, viewport={"width": width, "height": 844}, has_touch=True)
    assert seen.page.evaluate("document.documentElement.scrollWidth") <= width
    for place in seen.page.locator("[data-chart] svg").all():
        assert place.bounding_box()["width"] <= width
    assert float(colour(seen.page, "body", "fontSize")[:-2]) >= 16
    seen.silent_and_alone()


@pytest.mark.parametrize("width", [1100, 400])
def test_words_of_the_table_are_whole(open_page, tmp_path, width):
    P, y = ensemble()
    names = ["strawberry", "watermelon", "blackberry"]
    path = cl.report.write(tmp_path / "r.html", P, y, names)
    page = open_page(path, viewport={"width": width, "height": 900}).page
    page.click("[data-filter='1']")
    assert column(page, "q")[0] == "ambiguous"
    lines = page.evaluate("""() => [...document.querySelectorAll("#listing td:not(.num) bdi")]
        .map((word) => word.getClientRects().length)""")
    assert set(lines) == {1}
    scroll = page.locator(".listing .scroll")
    assert width == 400 or scroll.evaluate("(place) => place.scrollWidth <= place.clientWidth")


# ---------------------------------------------------------------- names from outside


def test_hostile_names(open_page, tmp_path):
    K = len(HOSTILE)
    P, y = ensemble(3 * K, K, K)
    path = cl.report.write(tmp_path / "r.html", P, y, HOSTILE, HOSTILE * 3, names=HOSTILE,
                           title=HOSTILE[0])  # fmt: skip
    seen = open_page(path)
    page = seen.page
    page.click("[data-filter=all]")
    page.click("#more")
    shown = [name[:199] + "…" if len(name) > 200 else name for name in HOSTILE]
    assert sorted(column(page, "id")) == sorted(shown * 3)
    for symbol in page.locator(".map svg .mark-symbol path").all()[:8]:
        symbol.hover(force=True)
    assert page.locator("#vg-tooltip-element img, #vg-tooltip-element script").count() == 0
    assert page.locator("img").count() == 0
    assert page.locator("script").count() == 3
    assert page.evaluate("window.hacked") is None
    assert page.title() == HOSTILE[0]
    assert page.evaluate("document.documentElement.scrollWidth") <= 1280
    seen.silent_and_alone()


def test_ten_thousand_classes(open_page, tmp_path):
    rng = np.random.default_rng(0)
    logits = rng.normal(0, 2, (200, 2, 10_000)).astype(np.float32)
    logits[np.arange(200), :, rng.integers(10_000, size=200)] += 14
    names = [f"{HOSTILE[k % 8]} {k}" for k in range(10_000)]
    path = cl.report.write(tmp_path / "r.html", cl.ConvexHull.from_logits(logits), None, names)
    seen = open_page(path)
    assert seen.page.locator(".card").count() == 20
    assert seen.page.locator("[data-chart=classes] .mark-rect path").count() >= 20
    seen.page.click("[data-filter=all]")
    assert counted(seen.page) == 200
    assert seen.page.evaluate("window.hacked") is None
    seen.silent_and_alone()


# ---------------------------------------------------------------- the explorer


def test_a_prediction_opens_in_the_explorer(open_page, report):
    path, P, _ = report
    seen = open_page(path)
    third = int(cl.rejection_order(cl.total_uncertainty(P))[2])
    with seen.page.context.expect_page() as opened:
        seen.page.click("[data-explore='2']")
    explorer = opened.value
    explorer.wait_for_function("() => document.querySelector('[data-number=total]').dataset.value")
    total = explorer.get_attribute("[data-number=total]", "data-value")
    assert float(total) == pytest.approx(cl.total_uncertainty(P[third]), abs=1e-9)
    assert explorer.eval_on_selector("#row", "e => e.selectedOptions[0].text") == f"image {third}"
    vertices = "all => all.map(e => e.firstChild.data)"
    assert explorer.eval_on_selector_all(".vertex", vertices) == list(NAMES)
    assert explorer.locator(".handle").count() == 4
    assert explorer.get_attribute(".handle >> nth=0", "aria-label").startswith("a: cat ")
    seen.silent_and_alone()
