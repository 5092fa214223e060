"""Chapter 02: the sequential Jacobian."""

from . import Numeric, Right, SingleChoice, Wrong

QUESTIONS = [
    Numeric(
        "power",
        r"By hand: $h_t = W h_{t-1} + U x_t$, $y_t = V h_t$ with $W = \mathrm{diag}(\frac12, 1)$, $U = (2, 1)^\top$, "
        r"$V = (1, 1)$. What is $\partial y_5 / \partial x_3$?",
        answer=1.5,
        right=r"Distance 2: $V W^2 U = \frac14 \cdot 2 + 1 \cdot 1 = 1.5$. One half of the state fades, the other "
        r"holds for ever.",
        wrong=r"Count the steps between $x_3$ and $y_5$, raise each diagonal entry to that power, multiply with $U$, "
        r"and let $V$ add the two halves.",
        tolerance=0.01,
        traps={
            1.25: r"That is $V W^3 U$, one power too many: $x_3$ enters $h_3$ without passing through $W$.",
            2.0: r"That is $V W U$, distance 1. From $h_3$ to $h_5$ it takes two steps.",
            3.0: r"That is $V U$, the influence of $x_5$ on $y_5$.",
        },
    ),
    SingleChoice(
        "copies",
        r"All rows of $J$ are wanted for one sequence of $T = 50$ steps with $K = 4$ output features. The input is "
        r"copied 200 times into one batch, and *one* backward pass starts from the sum of 200 numbers, the $n$-th "
        r"taken from copy $n$. Why do the gradients not get mixed up?",
        [
            Right(
                "Each copy's output depends on its own input only, so its gradient holds one term of the sum",
                "Rows of a batch do not touch one another. With batch normalisation they do, and the trick breaks.",
            ),
            Wrong(
                "Autograd keeps the terms of a sum apart",
                "It does not: for a single input, the gradient of a sum is the sum of the gradients, and 200 of them "
                "would be added up beyond recovery. It is the copies that keep them apart.",
            ),
            Wrong(
                "The Jacobian of a causal network is triangular",
                "The trick works for any network, bidirectional ones too. It needs independent rows, nothing else.",
            ),
            Wrong(
                "They do, but the norm does not notice",
                r"The norm of a sum is not the sum of the norms. Mixed gradients would give wrong numbers.",
            ),
        ],
    ),
    SingleChoice(
        "zero",
        r"In a map $J$ of an unknown network the entry for distance 25 is exactly 0 in every row, the one for distance "
        r"24 never. What made it?",
        [
            Wrong(
                "An RNN with a small spectral radius",
                r"Its influence shrinks by a factor a step and becomes tiny. It does not stop from one distance to "
                r"the next in every row at once.",
            ),
            Wrong(
                "An RNN whose state is detached every 25 steps",
                "A detach cuts at a place, not at a distance: right behind the cut even the step before is not seen, "
                "and at the end of a piece 24 steps are.",
            ),
            Right(
                "Causal convolutions that reach 24 steps back",
                "The end of a receptive field moves along with the output: the same distance in every row, "
                "and the zero is exact.",
            ),
            Wrong(
                "A bidirectional LSTM",
                "It reaches everything, in both directions, however faintly.",
            ),
        ],
    ),
    SingleChoice(
        "faint",
        r"A trained RNN names a letter that it read 60 steps ago, always rightly. The Jacobian for that letter is "
        r"a thousandth of what it was at first. What follows?",
        [
            Wrong(
                "The network guesses: without a derivative there is no information",
                "It is always right, so the information is there. Exchange the letter, and the answer changes.",
            ),
            Wrong(
                "The Jacobian was computed wrongly",
                "It answers another question: what a *small* change does. The network has settled into a state that "
                "absorbs small changes.",
            ),
            Wrong(
                "The letter can be forgotten without harm",
                "The answer depends on it entirely. Only small changes of it do nothing.",
            ),
            Right(
                "It has latched: small changes are absorbed, large ones still decide the answer",
                "A stable memory is flat. That protects it from noise, and leaves gradient descent hardly "
                "anything to learn from.",
            ),
        ],
    ),
]
