"""Players against what can be computed: posteriors, brute force over all plays, and the exact optimum."""

from itertools import product

import pytest
import torch
from scipy import stats
from torch.testing import assert_close

from attncourse.tasks import bandits
from attncourse.zoo import bandits as zoo_bandits


def always(arm):
    return lambda actions, rewards, arms, rng: torch.full((len(actions),), arm)


def test_an_arm_pays_with_its_chance():
    played = bandits.play(always(2), 400, 0, pulls=400)
    assert (played.actions == 2).all()
    assert_close(played.rewards.mean(1), played.chances[:, 2], atol=0.12, rtol=0)
    assert_close(played.rewards.mean(), played.chances[:, 2].mean(), atol=0.01, rtol=0)


def test_regret_by_loop():
    played = bandits.play(bandits.thompson, 20, 1)
    found = bandits.regret(played)
    for b in range(20):
        total = 0.0
        for t in range(10):
            total += (played.chances[b].max() - played.chances[b, played.actions[b, t]]).item()
            assert found[b, t].item() == pytest.approx(total, abs=1e-5)


def test_counts_and_what_is_observed():
    actions, rewards = torch.tensor([[1, 1, 0]]), torch.tensor([[1.0, 0.0, 1.0]])
    wins, losses = bandits.counts(actions, rewards, 3)
    assert wins.tolist() == [[1, 1, 0]] and losses.tolist() == [[0, 1, 0]]
    x = bandits.observe(actions, rewards, 3)
    assert x.tolist() == [[[0, 0, 0, 0], [0, 1, 0, 1], [0, 1, 0, 0], [1, 0, 0, 1]]]
    assert bandits.observe(actions[:, :0], rewards[:, :0], 3).tolist() == [[[0, 0, 0, 0]]]


def test_thompson_draws_from_the_posterior():
    rng = torch.Generator().manual_seed(0)
    found = bandits._beta(torch.full((4000,), 3.0), torch.full((4000,), 5.0), rng)
    assert stats.kstest(found.numpy(), stats.beta(3, 5).cdf).pvalue > 0.01


def test_greedy_takes_the_largest_posterior_mean():
    actions, rewards = torch.tensor([[0, 0, 1]]).expand(300, 3), torch.tensor([[1.0, 0.0, 0.0]]).expand(300, 3)
    found = bandits.greedy(actions, rewards, 4, torch.Generator().manual_seed(0))  # means 1/2, 1/3, 1/2, 1/2
    assert set(found.tolist()) == {0, 2, 3}


def test_the_optimum_by_brute_force():
    """Two arms and three pulls: every deterministic plan there is, each arm's chance integrated exactly."""

    def expected(plan):
        total = 0.0
        for outcome in product((0, 1), repeat=3):
            chance, state, paid = 1.0, {0: (0, 0), 1: (0, 0)}, 0
            for t, reward in enumerate(outcome):
                arm = plan[outcome[:t]]
                wins, losses = state[arm]
                p = (wins + 1) / (wins + losses + 2)
                chance *= p if reward else 1 - p
                state[arm] = (wins + reward, losses + 1 - reward)
                paid += reward
            total += chance * paid
        return total

    seen = [(), (0,), (1,), (0, 0), (0, 1), (1, 0), (1, 1)]
    best = max(expected(dict(zip(seen, choice, strict=True))) for choice in product((0, 1), repeat=7))
    assert bandits.best_reward(2, 3) == pytest.approx(best)
    assert bandits.best_reward(5, 1) == pytest.approx(0.5)
    assert bandits.least_regret(5, 1) == pytest.approx(5 / 6 - 0.5)


def test_nobody_beats_the_optimal_play_and_it_reaches_its_value():
    players = {"optimal": bandits.optimal(), "greedy": bandits.greedy, "thompson": bandits.thompson}
    players["uniform"] = bandits.uniform
    found = {name: bandits.regret(bandits.play(p, 4000, 5))[:, -1] for name, p in players.items()}
    assert found["optimal"].mean().item() == pytest.approx(bandits.least_regret(), abs=0.07)  # 3 standard errors
    assert found["optimal"].mean() < found["thompson"].mean() < found["uniform"].mean()
    assert found["optimal"].mean() < found["greedy"].mean() + 0.07


def test_lessons_hold_what_the_optimal_player_would_do():
    config = zoo_bandits.CONFIG | {"games": 300}
    x, best = zoo_bandits.lessons(config, 0)
    assert x.shape == (300, 10, 6) and best.shape == (300, 10)
    actions, rewards = x[:, 1:, :5].argmax(-1), x[:, 1:, 5]  # what the next situation tells of the last pull
    strayed = (actions != best[:, :-1]).float().mean()
    assert 0.1 < strayed < 0.22  # one pull in five is any arm, and one of the five is the best
    for b in range(0, 300, 29):
        for t in (1, 4, 9):
            wins, losses = (z.int().tolist() for z in bandits.counts(actions[b : b + 1, :t], rewards[b : b + 1, :t], 5))
            state = tuple(zip(wins[0], losses[0], strict=True))
            worth = [bandits._worth(state, i, 10 - t) for i in range(5)]
            assert worth[best[b, t]] == pytest.approx(max(worth), abs=1e-5)


def test_one_pass_gives_the_answers_to_all_situations():
    torch.manual_seed(0)
    model = zoo_bandits.build(zoo_bandits.CONFIG)
    x, _ = zoo_bandits.lessons(zoo_bandits.CONFIG | {"games": 20}, 0)
    together = model(x)[0]
    for t in range(10):
        assert_close(model(x[:, : t + 1])[0][:, -1], together[:, t], atol=1e-5, rtol=1e-4)
    played = bandits.play(zoo_bandits.player(model), 20, 3)
    again = model(bandits.observe(played.actions[:, :-1], played.rewards[:, :-1], 5))[0].argmax(-1)
    assert torch.equal(again, played.actions)
