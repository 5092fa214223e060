"""The small world: an independent reader that knows only the sentences finds the same answers and the same facts."""

from collections import Counter

import pytest
import torch

from attncourse.core.symbols import PAD
from attncourse.tasks import stories as task

N = 400
KINDS = pytest.mark.parametrize("kind", task.KINDS)


def told(story):
    """Sentence by sentence: (verb, who, object or place, recipient), by the words alone."""
    kinds = {"go": task.GO, "take": task.TAKE, "drop": task.DROP, "give": task.GIVE}
    verb = {text.split()[0]: kind for kind, texts in kinds.items() for text in texts}
    for words in story.sentences:
        kind = verb[words[1]]
        yield kind, words[0], words[4 if kind == "go" else 3], words[5] if kind == "give" else None


def replay(story):
    """After each sentence: where everybody and everything is. Complains about what could not have happened."""
    place, holder, lies, states = {}, {}, {}, []
    for kind, who, what, other in told(story):
        if kind == "go":
            assert place.get(who) != what, "one goes somewhere else"
            place[who] = what
        elif kind == "take":
            assert what not in holder and lies.get(what, place[who]) == place[who]
            holder[what] = who
        else:
            assert holder[what] == who
            if kind == "give":
                assert place[other] == place[who] and other != who
                holder[what] = other
            else:
                lies[what] = place[who]
                del holder[what]
        things = {**lies, **{thing: place[by] for thing, by in holder.items()}}
        states.append({**place, **things})
    return states


def answer(story):
    states, question = replay(story), story.question
    if question[1] == "is":
        return states[-1][question[-1]]
    thing, after = question[3], question[6]
    stays = [state[thing] for state in states if thing in state]
    stays = [a for a, b in zip(stays, [None, *stays], strict=False) if a != b]
    assert stays.count(after) == 1, "the question has one answer"
    return stays[stays.index(after) - 1]


@KINDS
def test_a_reader_of_the_sentences_alone_finds_the_answer(kind):
    for story in task.sample(N, seed=3, kind=kind):
        assert answer(story) == story.answer
        assert len(story.facts) == len({*story.facts}) == kind


def last(sentences, before, **wanted):
    """The last sentence before `before` that has these: how, who, what."""
    columns = {"how": 0, "who": 1, "what": 2}
    return max(i for i, s in enumerate(sentences[:before]) if all(s[columns[k]] == v for k, v in wanted.items()))


@KINDS
def test_the_facts_are_the_ones_that_settle_it(kind):
    for story in task.sample(N, seed=4, kind=kind):
        sentences, (first, *rest) = list(told(story)), story.facts
        how, who, what, other = sentences[first]
        end = len(sentences)
        if kind == 1:
            assert (how, who, what) == ("go", story.question[-1], story.answer)
            assert first == last(sentences, end, how="go", who=who)
            continue
        who = other or who
        assert how != "go" and what == story.question[3]
        if kind == 2:
            assert first == last(sentences, end, what=what)
            assert rest == [last(sentences, first if how == "drop" else end, how="go", who=who)]
        else:
            arrived, before = rest
            assert sentences[arrived] == ("go", who, story.question[6], None)
            assert first == last(sentences, arrived, what=what) and how != "drop"
            assert before == last(sentences, arrived, how="go", who=who)
        assert sentences[rest[-1]][2] == story.answer


@KINDS
def test_the_same_for_a_seed_and_never_in_both_parts(kind):
    train, held = (task.sample(200, 5, kind, held_out=h) for h in (False, True))
    task.sample.cache_clear()
    assert task.sample(200, 5, kind) == train
    assert not {s.sentences for s in train} & {s.sentences for s in held}
    assert all(task.is_held_out(s.sentences) for s in held)
    assert len({(s.sentences, s.question) for s in train}) == 200


@KINDS
def test_every_answer_is_about_as_frequent_and_the_last_place_is_no_shortcut(kind):
    stories = task.sample(1_200, 6, kind)
    counts = Counter(s.answer for s in stories)
    assert {*counts} == {*task.PLACES} and max(counts.values()) < 0.22 * len(stories)
    assert sum(task.last_place(s) != s.answer for s in stories) > 0.5 * len(stories)


def test_all_that_can_happen_does():
    verbs = Counter(kind for s in task.sample(200, 7, 2) for kind, *_ in told(s))
    assert {*verbs} == {"go", "take", "drop", "give"} and min(verbs.values()) > 50
    kinds = Counter(list(told(s))[s.facts[0]][0] for s in task.sample(400, 7, 2))
    assert min(kinds[kind] for kind in ("take", "drop", "give")) > 20


def test_tensors_and_back():
    stories, words = task.sample(30, 8, 3), task.vocabulary()
    sentences, count, question, answers = task.tensors(stories, words)
    names = ["", "", "", "", *words.characters]
    for i, story in enumerate(stories):
        rows = [tuple(names[w] for w in row if w != PAD) for row in sentences[i]]
        assert tuple(rows[: count[i]]) == story.sentences and not any(rows[count[i] :])
        assert tuple(names[w] for w in question[i] if w != PAD) == story.question
        assert names[answers[i]] == story.answer
    text = task.end_to_end(sentences)
    for row, story in zip(text, stories, strict=True):
        assert [names[w] for w in row if w != PAD] == [w for s in story.sentences for w in s]
        assert (row == PAD).int().diff().ge(0).all()  # no word after padding
    assert (text != PAD).sum(1).max() == text.shape[1]
    assert torch.equal(task.end_to_end(sentences[:, :, :4]).bool().sum(1), sentences[:, :, :4].bool().sum((1, 2)))
