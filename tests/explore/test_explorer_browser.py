"""The explorer in a browser: its numbers, its controls, its looks, and names from outside."""

import json
import re

import numpy as np
import pytest
from numpy.testing import assert_allclose

import credalens as cl
from browser import colour
from report_pages import HOSTILE

pytestmark = pytest.mark.slow

#: Shows sets one after the other, and returns the numbers and the decisions on the page.
SHOW_ALL = """(cases) => cases.map(([members, extra]) => {
  Explorer.show(members, null, extra);
  const numbers = [...document.querySelectorAll("[data-number]")]
    .map((e) => [e.dataset.number, e.dataset.value === "" ? null : Number(e.dataset.value)]);
  const rules = ["minimax", "admissible", "maximal"]
    .map((id) => [id, JSON.parse(document.getElementById(id).dataset.value)]);
  return Object.fromEntries([...numbers, ...rules]);
})"""


@pytest.fixture(scope="module")
def explorer(tmp_path_factory):
    """The page without rows."""
    return cl.explore.write(tmp_path_factory.mktemp("explorer") / "explorer.html")


def random_sets(n, seed=0):
    """Yield members with zeros, duplicates, Diracs, ties and near duplicates among them."""
    rng = np.random.default_rng(seed)
    for i in range(n):
        K, M = int(rng.integers(2, 7)), int(rng.integers(1, 9))
        P = rng.dirichlet(np.full(K, rng.choice([0.1, 1, 5])), M)
        if i % 7 == 1:
            P = np.where(rng.random(P.shape) < 0.5, 0, P)
        elif i % 7 == 2:
            P = np.eye(K)[rng.integers(K, size=M)]
        elif i % 7 == 3:
            P = P[rng.integers(M, size=M)]
        elif i % 7 == 4:
            P[:, rng.integers(K)] = 0
        elif i % 7 == 5:
            P = rng.integers(0, 4, P.shape).astype(float)
        elif i % 7 == 6:
            P = np.abs(P[0] + 1e-13 * rng.normal(size=P.shape))
        P[P.sum(axis=1) == 0] = 1
        yield P / P.sum(axis=1, keepdims=True)


def expected(Q, members=None):
    """The numbers of the library, and its decisions."""
    u, kept = (
        cl.quantify(Q),
        {rule: cl.admissible(Q, rule=rule) for rule in ("e_admissible", "maximal")},
    )
    numbers = {
        "total": u.total,
        "aleatoric_lower": u.aleatoric.lower,
        "aleatoric_upper": u.aleatoric.upper,
        "epistemic": u.epistemic,
        "upper_entropy": cl.upper_entropy(Q),
        "lower_entropy": cl.lower_entropy(Q),
        "hartley": cl.generalized_hartley(Q),
        "mutual_information": None if members is None else cl.mutual_information(members),
    }
    return numbers, {
        "minimax": [int(cl.decide(Q))],
        "admissible": np.flatnonzero(kept["e_admissible"]).tolist(),
        "maximal": np.flatnonzero(kept["maximal"]).tolist(),
    }


def check(found, numbers, decisions):
    for name, value in numbers.items():
        if value is None:
            assert found[name] is None
        else:
            assert found[name] == pytest.approx(float(value), abs=1e-6), name
    assert {rule: found[rule] for rule in decisions} == decisions


# ---------------------------------------------------------------- numbers


def test_the_numbers_are_those_of_the_library(open_page, explorer):
    sets = list(random_sets(200))
    assert {P.shape[1] for P in sets} == set(range(2, 7))
    assert {P.shape[0] for P in sets} == set(range(1, 9))
    seen = open_page(explorer)
    shown = seen.page.evaluate(SHOW_ALL, [[P.tolist(), {}] for P in sets])
    for P, found in zip(sets, shown, strict=True):
        check(found, *expected(P, P))
    seen.silent_and_alone()


def test_the_numbers_of_other_representations(open_page, explorer):
    rng = np.random.default_rng(1)
    cases, sets = [], []
    for i in range(30):
        P = rng.dirichlet(np.full(3, 1 if i % 3 else 0.3), 1 + i % 4)
        center, radius = P.mean(axis=0), float(rng.choice([0.01, 0.1, 0.3, 0.6]))
        made = {
            "box": cl.ProbabilityIntervals.from_members(P),
            "contamination": cl.Contamination(center, radius),
            "ball": cl.TotalVariationBall(center, radius),
        }
        for kind, Q in made.items():
            cases.append([P.tolist(), {"set": kind, "radius": radius}])
            sets.append(Q)
    shown = open_page(explorer).page.evaluate(SHOW_ALL, cases)
    for Q, found in zip(sets, shown, strict=True):
        check(found, *expected(Q))


def test_many_classes(open_page, tmp_path):
    rng = np.random.default_rng(2)
    P = rng.dirichlet(np.full(300, 0.05), (3, 4))
    page = open_page(cl.explore.write(tmp_path / "e.html", P)).page
    numbers, decisions = expected(P[0], P[0])
    found = page.evaluate(SHOW_ALL, [[P[0].tolist(), {}]])[0]
    check(found, {**numbers, "hartley": None}, decisions)  # too many events to enumerate
    page.select_option("#row", "1")
    assert page.locator(".bar-row").count() == 12
    page.click("#all-classes")
    assert page.locator(".bar-row").count() == 300


# ---------------------------------------------------------------- controls


def members_of(page):
    """Return the probabilities of the points, as they are announced."""
    labels = page.eval_on_selector_all(
        ".handle", "all => all.map(e => e.getAttribute('aria-label'))"
    )
    return np.array([[float(x) for x in re.findall(r" (\d\.\d{3})", text)] for text in labels])


def shown(page, number):
    return float(page.get_attribute(f"[data-number={number}]", "data-value"))


def center(page, m):
    box = page.locator(".handle .dot").nth(m).bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def test_dragging(open_page, explorer):
    seen = open_page(explorer, "#example=clear")
    page = seen.page
    before = members_of(page)
    x, y = center(page, 0)
    right = page.locator(".simplex").bounding_box()
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 100, y - 60, steps=3)
    moved = members_of(page)
    assert moved[0, 2] > before[0, 2] + 0.1  # upwards is the third class
    assert_allclose(moved[1:], before[1:])
    assert shown(page, "total") == pytest.approx(cl.total_uncertainty(moved), abs=1e-9)
    page.mouse.move(right["x"] + right["width"] + 80, y + 80, steps=3)  # outside of the triangle
    page.mouse.up()
    moved = members_of(page)
    assert_allclose(moved[0], [0, 1, 0], atol=1e-9)
    assert shown(page, "epistemic") == pytest.approx(cl.epistemic_uncertainty(moved), abs=1e-9)
    page.wait_for_function("() => location.hash.startsWith('#p=0,1,0;')")
    page.reload()
    assert_allclose(members_of(page), moved)
    seen.said.clear()  # reloading is a second request
    assert page.locator("[data-example][aria-pressed=true]").count() == 0


def test_dragging_by_touch(open_page, explorer):
    page = open_page(explorer, viewport={"width": 390, "height": 844}, has_touch=True).page
    page.locator("#triangle").scroll_into_view_if_needed()
    before, (x, y) = members_of(page), center(page, 1)
    touch = page.context.new_cdp_session(page)

    def send(kind, *points):
        at = [{"x": px, "y": py} for px, py in points]
        touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": at})

    scrolled = page.evaluate("scrollY")
    send("touchStart", (x + 6, y + 6))  # not exactly on the point
    for step in range(1, 6):
        send("touchMove", (x + 6 + 8 * step, y + 6 - 8 * step))
    send("touchEnd")
    moved = members_of(page)
    assert moved[1, 2] > before[1, 2] + 0.05
    assert page.evaluate("scrollY") == scrolled


def test_the_keyboard(open_page, explorer):
    seen = open_page(explorer, "#example=ambiguous")
    page = seen.page
    before = members_of(page)
    page.focus(".handle >> nth=1")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Shift+ArrowRight")
    moved = members_of(page)
    assert_allclose(moved[1], before[1] + [-0.105, 0.095, 0.01], atol=1.1e-3)
    page.wait_for_function("() => document.getElementById('live').textContent.includes('Total')")
    told = page.inner_text("#live")
    assert told.startswith("Model 2: cat ")
    assert f"Total {cl.total_uncertainty(moved):.3f}, aleatoric " in told
    page.keyboard.press("Delete")
    assert page.locator(".handle").count() == 2
    assert_allclose(members_of(page), moved[[0, 2]])
    page.keyboard.press("Delete")
    page.keyboard.press("Delete")  # the last one stays
    assert page.locator(".handle").count() == 1
    assert page.locator("#remove").is_disabled()
    page.focus("#add")
    page.keyboard.press("Enter")
    assert page.locator(".handle").count() == 2
    reached = set()
    page.evaluate("document.activeElement.blur()")
    for _ in range(45):
        page.keyboard.press("Tab")
        reached.add(page.evaluate(
            "(() => { const e = document.activeElement; return e.id || e.className.baseVal || "
            "e.dataset.example || e.dataset.lens || e.type || e.tagName; })()"))  # fmt: skip
    assert {"theme", "mixed", "ball", "entropy", "handle selected", "set", "range", "more",
            "SUMMARY"} <= reached  # fmt: skip
    seen.silent_and_alone()


def test_sliders_of_any_number_of_classes(open_page, explorer):
    page = open_page(explorer, "#p=.5,.2,.2,.1;.1,.2,.3,.4").page
    assert not page.locator("#triangle").is_visible()
    page.focus("#bars input >> nth=3")
    for _ in range(10):
        page.keyboard.press("ArrowRight")
    text = page.input_value("#text").split("\n")
    first = [float(x) for x in text[0].split(",")]
    assert_allclose(first, [0.444, 0.178, 0.178, 0.2], atol=3e-3)  # the others keep their ratios
    assert sum(first) == pytest.approx(1, abs=1e-9)
    members = [first, [float(x) for x in text[1].split(",")]]
    assert shown(page, "total") == pytest.approx(cl.total_uncertainty(members), abs=1e-9)
    page.click("#more")
    assert page.locator(".bar-row").count() == 5
    for _ in range(2):
        page.click("#fewer")
    assert page.locator("#triangle").is_visible()


def test_points_are_added_where_the_plot_is_double_clicked(open_page, explorer):
    page = open_page(explorer, "#example=clear").page
    box = page.locator(".simplex").bounding_box()
    page.mouse.dblclick(box["x"] + box["width"] / 2, box["y"] + 2 * box["height"] / 3)
    assert_allclose(members_of(page)[3], [1 / 3] * 3, atol=0.01)
    page.mouse.dblclick(*center(page, 0))
    assert page.locator(".handle").count() == 4


def test_what_is_drawn(open_page, explorer):
    page = open_page(explorer, "#p=.6,.3,.1;.2,.44,.36;.34,.58,.08").page
    measures = "all => all.map(e => e.dataset.measure)"
    drawn = page.eval_on_selector_all("[data-measure]", measures)
    assert drawn == ["total", "aleatoric", "epistemic"]
    values = page.locator("#layers .value").all_text_contents()
    assert values == ["0.700", "0.400", "0.622", "2 \u00d7 0.200"]
    page.click("[data-card=epistemic] button")
    assert page.locator(".faint").count() == 2
    page.click("[data-lens=entropy]")
    drawn = page.eval_on_selector_all("[data-measure]", measures)
    assert drawn == ["hartley", "lower-entropy", "upper-entropy", "mutual"]
    page.click("[data-lens=decisions]")
    assert page.locator(".region.admissible").count() == 2
    assert page.locator(".region.excluded").count() == 1
    # Each other class is worse than the second one for a model, but both never for a mixture.
    page.evaluate("Explorer.show([[.1, .2, .7], [.7, .2, .1]])")
    assert json.loads(page.get_attribute("#maximal", "data-value")) == [0, 1, 2]
    assert page.locator(".region.maximal").count() == 1
    assert page.locator("[data-class='1'] .region.maximal").count() == 1


def test_invalid_addresses_and_numbers(open_page, explorer):
    page = open_page(explorer, "#p=.5,.5;.5,.6").page
    assert page.inner_text("#problem") == "Line 2 sums to 1.1, not to 1."
    assert shown(page, "total") == pytest.approx(0.7)  # an example instead
    page.click("summary >> nth=0")
    for text, message in {
        "0.5 x": "Line 1: x is not a probability.",
        ".5,.5\n1": "Line 2 has 1 numbers, line 1 has 2; write one per class.",
        "": "There are no probabilities; write one line per model.",
    }.items():
        page.fill("#text", text)
        page.click("#edit button")
        assert page.inner_text("#problem") == message
    page.fill("#text", "0.25 0.75\n0.5, 0.5")
    page.click("#edit button")
    assert not page.locator("#problem").is_visible()
    assert shown(page, "total") == pytest.approx(0.5)
    assert "Q = cl.ConvexHull(members)" in page.inner_text("#python")


# ---------------------------------------------------------------- rows of files


def test_rows(open_page, tmp_path):
    P = np.random.default_rng(0).dirichlet(np.ones(3), (4, 2)).astype(np.float32)
    path = cl.explore.write(tmp_path / "e.html", P, ["x", "y", "z"], list("abcd"), names=["m", "n"])
    page = open_page(path, reduced_motion="reduce").page
    options = page.eval_on_selector_all("#row option", "all => all.map(e => e.text)")
    assert options[1:] == list("abcd")
    for i in (0, 1, 2, 3, 0):
        assert page.input_value("#row") == str(i)
        assert shown(page, "total") == pytest.approx(cl.total_uncertainty(P[i]), abs=1e-6)
        page.click("#next")
    assert page.get_attribute(".handle >> nth=1", "aria-label").startswith("n: x ")
    page = open_page(path, "#row=2").page
    assert shown(page, "epistemic") == pytest.approx(cl.epistemic_uncertainty(P[2]), abs=1e-6)


@pytest.mark.parametrize("K", [3, 5])
def test_hostile_names(open_page, tmp_path, K):
    P = np.random.default_rng(0).dirichlet(np.ones(K), (len(HOSTILE), K))
    for start in range(0, len(HOSTILE) - K, K):
        names = HOSTILE[start : start + K]
        path = cl.explore.write(tmp_path / f"{start}.html", P, names, HOSTILE, names=names,
                                title=HOSTILE[start])  # fmt: skip
        seen = open_page(path)
        page = seen.page
        for lens in ("entropy", "decisions", "distances"):
            page.click(f"[data-lens={lens}]")
        page.focus("#bars input >> nth=0")
        page.keyboard.press("ArrowRight")
        page.wait_for_function("() => location.hash.startsWith('#p=')")
        page.goto(page.url + "&")  # the names from the address
        page.reload()
        shown_names = page.locator(".bar-name").all_text_contents()
        assert (
            shown_names == [name.replace("\u2028", " ") for name in names] or shown_names == names
        )
        assert page.locator("img").count() == 0
        assert page.locator("script").count() == 2
        assert page.evaluate("window.hacked") is None
        assert page.title() == HOSTILE[start]
        assert page.evaluate("document.documentElement.scrollWidth") <= 1280
        assert seen.said == []


def test_other_scripts_do_not_run(open_page, explorer):
    seen = open_page(explorer)
    seen.page.evaluate(
        """() => { const script = document.createElement("script");
        script.textContent = "window.hacked = 1"; document.body.append(script); }"""
    )
    assert seen.page.evaluate("window.hacked") is None
    assert any("Content Security Policy" in text for _, text in seen.said)


# ---------------------------------------------------------------- looks


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_both_themes(open_page, explorer, scheme):
    seen = open_page(explorer, color_scheme=scheme)
    dark, light = "rgb(20, 24, 28)", "rgb(255, 255, 255)"
    before, after = (light, dark) if scheme == "light" else (dark, light)
    assert colour(seen.page, "body", "backgroundColor") == before
    seen.page.click("#theme")
    assert colour(seen.page, "body", "backgroundColor") == after
    assert seen.page.inner_text("#theme-name") == scheme.capitalize()
    seen.page.evaluate(
        f"postMessage({{theme: '{scheme}'}}, '*')"
    )  # a page with this one in a frame
    seen.page.wait_for_function(f"() => document.documentElement.dataset.theme === '{scheme}'")
    seen.silent_and_alone()


@pytest.mark.parametrize("width", [390, 320])
@pytest.mark.parametrize("fragment", ["#example=spoiler", "#p=.5,.2,.2,.1;.1,.2,.3,.4"])
def test_on_a_phone(open_page, explorer, width, fragment):
    seen = open_page(explorer, fragment, viewport={"width": width, "height": 844}, has_touch=True)
    for lens in ("entropy", "decisions", "distances"):
        seen.page.click(f"[data-lens={lens}]")
        assert seen.page.evaluate("document.documentElement.scrollWidth") <= width
    seen.silent_and_alone()


def test_motion_can_be_reduced(open_page, explorer):
    page = open_page(explorer, reduced_motion="reduce").page
    page.click("[data-example=unknown]")
    assert_allclose(members_of(page)[0], [0.9, 0.06, 0.04])  # at once
    page = open_page(explorer).page
    page.click("[data-example=unknown]")
    page.wait_for_function(
        "() => document.querySelector('[data-number=total]').dataset.value > 0.939"
    )
