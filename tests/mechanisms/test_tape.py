"""A hard head on a tape: where it goes is what it drew, and its gradient is REINFORCE's."""

import torch
from torch.testing import assert_close

from attncourse.core import hard
from attncourse.mechanisms import tape


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def plan(moves):
    """A policy that makes these moves, whatever it sees."""
    rest = iter(moves)

    def policy(scores):
        index = torch.full_like(scores[:, 0], next(rest) + 1, dtype=torch.long)
        return hard.Choice(index, scores.log_softmax(-1).gather(1, index[:, None])[:, 0])

    return policy


def test_the_task():
    tapes, asked, targets = tape.reverse(5, 4, generator())
    assert tapes.shape == (5, 6) and not tapes[:, [0, -1]].any() and (tapes[:, 1:-1] >= 1).all()
    assert torch.equal(targets, torch.stack([row[1:5].flip(0) for row in tapes]))
    assert asked.tolist() == [False] * 4 + [True] * 5


def test_there_and_back_says_the_word_backwards():
    tapes, asked, targets = tape.reverse(7, 3, generator())
    run = tape.Head()(tapes, asked, plan([1, 1, 1, -1, -1, -1, -1]))
    assert run.places[0].tolist() == [1, 2, 3, 4, 3, 2, 1]
    assert torch.equal(run.said, tapes.gather(1, run.places))
    assert torch.equal(run.said[:, -3:], targets)


def test_the_head_stays_on_the_tape():
    tapes, asked, _ = tape.reverse(2, 2, generator())
    assert tape.Head()(tapes, asked, plan([-1] * 5)).places[0].tolist() == [1, 0, 0, 0, 0]
    assert tape.Head()(tapes, asked, plan([1] * 5)).places[0].tolist() == [1, 2, 3, 3, 3]


def test_the_loss_is_reinforce_by_a_loop():
    torch.manual_seed(0)
    tapes, asked, targets = tape.reverse(40, 3, generator())
    run = tape.Head(8)(tapes, asked)
    total = 0.0
    for b in range(40):
        right, rewards = True, [0.0] * 7
        for u in range(3):
            right = right and bool(run.said[b, 4 + u] == targets[b, u])
            rewards[4 + u] = right / 3
        for t in range(7):
            advantage = sum(rewards[t + 1 :]) - run.baseline[b, t]
            moved = run.log_prob[b, t] * advantage.detach() + 0.1 * run.entropy[b, t]
            total = total + advantage**2 - moved
    assert_close(tape.loss(run, targets, 0.1), total / 40)


def test_the_estimate_is_unbiased():
    """Its mean over draws is the gradient of the expected reward, summed over every way to move."""
    torch.manual_seed(0)
    head = tape.Head(2)
    tapes, asked, targets = tape.reverse(1, 1, generator(), symbols=2)
    expected = 0.0
    for a in range(-1, 2):
        for b in range(-1, 2):
            run = head(tapes, asked, plan([a, b, 0]))
            expected = expected + run.log_prob[0, :2].sum().exp() * float(run.said[0, 2] == targets[0, 0])
    [exact] = torch.autograd.grad(expected, head.move.weight)
    run = head(tapes.expand(60_000, -1), asked)
    [estimate] = torch.autograd.grad(-tape.loss(run, targets.expand(60_000, -1), 0.0), head.move.weight)
    assert_close(estimate, exact, atol=0.01, rtol=0.05)
    assert exact.abs().max() > 0.05


def test_best_takes_the_most_probable():
    scores = torch.tensor([[0.0, 3.0, 1.0]])
    choice = tape.best(scores)
    assert choice.index.item() == 1
    assert_close(choice.log_prob, scores.log_softmax(-1)[:, 1])
