"""Chapter 07: hard attention and policy gradients."""

from . import Numeric, Right, SingleChoice, Wrong

QUESTIONS = [
    SingleChoice(
        "gradient",
        "RAM looks at a place, and the glimpse is read by a bilinear `grid_sample`, which is differentiable in the "
        "place. Why not train the places by that gradient?",
        [
            Right(
                "It only knows what lies within a pixel of the window; a digit further off contributes exactly zero",
                "The derivative says how the glimpse would change if the window moved a little. On a dark ground it is "
                "zero, and where it is not, it points to the nearest improvement, not to the right place.",
            ),
            Wrong(
                "`grid_sample` has no gradient with respect to its grid",
                "It has one; the spatial transformer lives on it.",
            ),
            Wrong(
                "It would be unbiased but too noisy",
                "It is the other way round: there is no noise in it, and it is not the gradient of the expected "
                "reward.",
            ),
            Wrong(
                "It would make the network too slow",
                "The backward pass of one glimpse costs next to nothing. The trouble is what it says.",
            ),
        ],
    ),
    Numeric(
        "by-hand",
        r"Two places, $\pi = (0.5, 0.5)$, rewards $1$ and $0$, baseline $b = 0.5$. The *first* place is drawn. What is "
        r"REINFORCE's estimate of the gradient with respect to the first place's score?",
        answer=0.25,
        tolerance=0.005,
        right=r"$(R - b)\,(1 - \pi_1) = 0.5 \cdot 0.5$. If the second is drawn, it is $(0 - 0.5)(0 - 0.5) = 0.25$ as "
        r"well: with this baseline the estimate has no variance at all.",
        wrong=r"$(R - b)\,\partial \log \pi_1 / \partial e_1$, and $\partial \log \pi_1/\partial e_1 = 1 - \pi_1$.",
        traps={
            0.5: r"That is without the baseline: $R\,(1 - \pi_1)$.",
            -0.25: r"The sign: a place that paid more than expected becomes more probable.",
            0.125: r"That is $(R - b)\,\pi_1 (1 - \pi_1)$: the derivative of $\pi$, not of $\log \pi$.",
        },
    ),
    SingleChoice(
        "baseline",
        r"Somebody replaces the baseline $b$ by a constant 100, far above any reward. What happens to the *mean* of "
        r"the estimator, and to its variance?",
        [
            Wrong(
                "Both become wrong: every place is discouraged",
                r"Each single estimate discourages what was drawn. But frequent places are discouraged often and rare "
                r"ones seldom, and on the mean it cancels: $\mathbb E\,\nabla\log\pi = 0$.",
            ),
            Right(
                "The mean stays exactly the same; the variance becomes enormous",
                r"$\mathbb E[b\,\nabla \log \pi] = b\,\nabla \sum_l \pi(l) = 0$ for any number $b$ that does not "
                r"depend on what was drawn. Only the noise changes.",
            ),
            Wrong(
                "The mean changes, the variance stays",
                "It is the other way round.",
            ),
            Wrong(
                "Nothing changes: a constant has no derivative",
                r"True of the loss's value, but $b$ multiplies $\nabla \log \pi$ in every single estimate.",
            ),
        ],
    ),
    SingleChoice(
        "last",
        r"RAM takes $T$ looks and answers after the last. How many of its location network's outputs are credited?",
        [
            Wrong(
                r"$T$: one after each look",
                r"The place chosen after look $T$ is never looked at. Crediting it pushes the policy towards whatever "
                r"it happened to draw there, for a reward that it had no part in.",
            ),
            Right(
                r"$T - 1$: the first place is given, and nobody chooses one after the last look",
                "A choice may only be credited for a reward that comes after it.",
            ),
            Wrong(
                "1: only the last one saw the reward",
                "All choices led to the answer; the reward that follows each of them counts for it.",
            ),
        ],
    ),
    SingleChoice(
        "q",
        "“Hard attention is trained by Q-learning.” What do RAM and the hard variant of Show, Attend and Tell really "
        "use?",
        [
            Right(
                "A policy gradient (REINFORCE): no value of a single action is ever estimated",
                "They need the log-probability of what was drawn and the reward that followed. The baseline is a "
                "value of the *state*, and serves against noise only.",
            ),
            Wrong(
                "Q-learning, with the places as actions",
                "Q-learning would need the value of every place and the maximum over them. A place is two real "
                "numbers; there is no list to take the maximum of.",
            ),
            Wrong(
                "Backpropagation through the sampled place",
                "That would be the pathwise gradient, which a jump from place to place does not have.",
            ),
        ],
    ),
]
