"""Numbers, markup and choices of the report."""

from credalens._html import script_data
from credalens.report.data import choose_measures
from credalens.report.markup import tag
from credalens.report.summary_text import SPACE, measure, percent, span


def test_percentages_are_exact_or_bounds():
    shown = [percent(count, 10_000).replace(SPACE, " ") for count in (0, 1, 1250, 9_999, 10_000)]
    assert shown == ["0 %", "< 0.1 %", "12.5 %", "> 99.9 %", "100 %"]


def test_numbers():
    assert [measure(x) for x in (0.12345, 0.0, 1.5e-7, 12.3456)] == ["0.123", "0", "0.000", "12.3"]
    assert (span(0.25, 0.5), span(0.25, 0.25)) == ("0.250 to 0.500", "0.250")


def test_markup_escapes_text():
    element = tag("p", "a < b", tag("b", "!"), _class="note", data_x=1, hidden=True, title=None)
    assert element == '<p class="note" data-x="1" hidden>a &lt; b<b>!</b></p>'
    assert script_data({"id": "</script>"}) == '{"id":"\\u003c/script>"}'


def test_hartley_is_computed_if_it_is_fast():
    assert choose_measures(None, (100_000, 10, 10)) == ("tv", "entropy", "hartley")
    assert choose_measures(None, (10_000, 10, 1000)) == ("tv", "entropy")
