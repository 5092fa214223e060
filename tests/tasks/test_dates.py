"""Dates: what is written is what Babel writes, and the spans point at it."""

import datetime

import torch
from babel.dates import format_date

from attncourse.core.symbols import END, UNKNOWN, shift_right
from attncourse.tasks import dates
from attncourse.tasks.text import Vocabulary


def test_text_equals_babel():
    day = datetime.date(2024, 3, 5)
    for locale in dates.LOCALES:
        wanted = dates.normalise(format_date(day, "long", locale))
        assert wanted in {dates.write(day, locale, p).text for p in dates.patterns(locale)}


def test_spans_point_at_their_fields():
    for e in dates.sample(2000, seed=0):
        year, month, day = e.iso.split("-")
        text = {field: e.text[slice(*span)] for field, span in e.spans.items()}
        assert text["y"] == year
        assert int(text["d"]) == int(day)
        assert not text["M"].isdigit() or int(text["M"]) == int(month)


def test_no_text_has_two_readings():
    """Across all languages and formats, the same text never means two dates."""
    meaning = {}
    for e in dates.sample(30_000, seed=1):
        assert meaning.setdefault(e.text, e.iso) == e.iso, e


def test_same_seed_same_dates_and_splits_are_disjoint():
    assert dates.sample(50, seed=7) == dates.sample(50, seed=7)
    assert dates.sample(50, seed=7) != dates.sample(50, seed=8)
    train = {e.iso for e in dates.sample(5000, seed=0)}
    test = {e.iso for e in dates.sample(5000, seed=0, held_out=True)}
    assert not train & test


def test_at_least_twelve_locales_and_no_unknown_symbol():
    assert len(dates.LOCALES) >= 12
    source, lengths, target = dates.tensors(dates.sample(3000, seed=3), dates.source_vocabulary())
    assert (source != UNKNOWN).all()
    assert target.shape == (3000, 11)
    assert (source.gather(1, lengths[:, None] - 1) == END).all()


def test_alignment_marks_the_right_characters():
    [example] = [e for e in dates.sample(200, seed=0) if e.text == "woensdag 6 juli 1949"]
    gold, digits = dates.alignment([example], 21)
    assert [example.text[i] for i in gold[0, 5].nonzero()] == list("juli")
    assert [example.text[i] for i in gold[0, 9].nonzero()] == ["6"]
    assert digits.tolist() == [c.isdigit() for c in "1949-07-06"]
    assert not gold[0, 4].any()


def test_normalise_is_what_the_model_reads():
    assert dates.normalise("  5 März\u202f2024 ") == "5 märz 2024"


def test_vocabulary_round_trip_and_odd_input():
    vocabulary = Vocabulary("abc")
    ids, lengths = vocabulary.encode(["cab", "", "a☃"])
    assert vocabulary.decode(ids) == ["cab", "", "a\N{REPLACEMENT CHARACTER}"]
    assert lengths.tolist() == [4, 1, 3]
    assert shift_right(torch.tensor([[5, 6, END]])).tolist() == [[1, 5, 6]]
