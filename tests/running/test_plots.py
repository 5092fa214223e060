from html.parser import HTMLParser

import pytest

from attncourse.running import ledger, plots


class Cells(HTMLParser):
    """Every cell of the HTML as (tag, scope, text): what a browser makes of it."""

    def __init__(self, text):
        super().__init__()
        self.cells, self.open = [], False
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.open = tag in ("th", "td", "caption")
        if self.open:
            self.cells.append([tag, dict(attrs).get("scope"), ""])

    def handle_endtag(self, tag):
        self.open = False

    def handle_data(self, data):
        if self.open:
            self.cells[-1][2] += data


ROWS = [("RNN", 0.12345, 1234), ("a < b & c", ledger.proportion(9, 10), "–")]
SHOWN = [["RNN", "0.123", "1,234"], ["a < b & c", "0.90 [0.60, 0.98], n = 10", "–"]]


def test_a_table_says_the_same_in_a_browser_and_in_a_terminal():
    found = plots.table(ROWS, ("network", "accuracy", "steps"), "Who is right?")
    cells = Cells(found._repr_html_()).cells
    assert cells[0] == ["caption", None, "Who is right?"]
    assert cells[1:4] == [["th", "col", name] for name in ("network", "accuracy", "steps")]
    for row, start in zip(SHOWN, (4, 7), strict=True):
        assert cells[start : start + 3] == [["th", "row", row[0]], *(["td", None, cell] for cell in row[1:])]

    assert repr(found).splitlines() == [
        "Who is right?",
        "network                     accuracy  steps",
        "RNN                            0.123  1,234",
        "a < b & c  0.90 [0.60, 0.98], n = 10      –",
    ]


def test_a_row_that_does_not_fit_is_named():
    with pytest.raises(ValueError, match=r"2 columns \(name, share\), but the row \['RNN'\] has 1"):
        plots.table([("RNN",)], ("name", "share"))
