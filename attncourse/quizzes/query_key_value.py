"""Chapter 05: score, normalise, read."""

from . import Numeric, Right, SingleChoice, Wrong

QUESTIONS = [
    Numeric(
        "temperature",
        r"Two keys have the scores $0$ and $\ln 3$ and hold the values $0$ and $8$. What is read at temperature "
        r"$\tau = \frac12$?",
        answer=7.2,
        right=r"Dividing by $\frac12$ doubles the scores: $\exp(2 \ln 3) = 9$ against 1, so the weights are "
        r"$\frac{1}{10}$ and $\frac{9}{10}$, and $\frac{9}{10} \cdot 8 = 7.2$.",
        wrong=r"Divide each score by $\tau$ *before* the exponential, then take the shares, then mix the values.",
        tolerance=0.02,
        traps={
            6.0: r"That is the read at $\tau = 1$: weights $\frac14$ and $\frac34$.",
            8 * 3**0.5 / (1 + 3**0.5): r"Here the scores were *multiplied* by the temperature: heat would sharpen. "
            r"It is the other way round.",
            12.0: r"Here the weights were divided by the temperature, after the softmax: they sum to 2.",
            8.0: r"That is the limit $\tau \to 0$, or $e_j / \sum_l e_l$ without $\exp$.",
        },
    ),
    SingleChoice(
        "scale",
        r"A model of size $D = 512$ attends with 8 heads over sentences of 30 words. By what are the dot products "
        r"divided before the softmax?",
        [
            Wrong(
                r"By $\sqrt{512}$, the model's size",
                r"A score is a sum over the features of *one head*. With $\sqrt{512}$ the scores would have a standard "
                r"deviation of $\frac{1}{\sqrt 8}$: too flat.",
            ),
            Right(
                r"By $\sqrt{64} = 8$, a head's size",
                r"Each head has $512 / 8 = 64$ features; a sum of 64 products of variance 1 has standard deviation 8.",
            ),
            Wrong(
                r"By $\sqrt{30}$, the length",
                r"The length decides how many scores there are, not how large each is. Some texts use $n$ for both "
                r"and lead into this trap.",
            ),
            Wrong(
                "By 64",
                r"64 is the *variance* of a score. Dividing by it would leave a standard deviation of $\frac18$.",
            ),
        ],
    ),
    SingleChoice(
        "order",
        "The keys and their values are shuffled together. Under which score does the context change?",
        [
            Wrong(
                "content",
                "It compares the query with each key on its own; a key takes its weight and its value along.",
            ),
            Wrong(
                "additive",
                r"$v^\top \tanh(W_q q + W_k k_j)$ depends on $k_j$, not on $j$: the weights are shuffled likewise, "
                r"and the sum is the same.",
            ),
            Right(
                "location",
                "Its weights belong to places and stay there; after the shuffle another value stands in each place. "
                "It is the only one of the six that sees order, and it sees nothing else.",
            ),
            Wrong(
                "scaled dot",
                "A sum over pairs (weight, value) does not depend on the order of the pairs.",
            ),
        ],
    ),
    SingleChoice(
        "estimator",
        r"A hard read draws $j \sim a$ and pays $f(v_j)$. One trains by the gradient of $f(v_j) \log(a_j)$ with "
        r"respect to the scores. What is wrong with the argmax of $a$ in place of the draw?",
        [
            Wrong(
                "Nothing: it has the least noise",
                "It has no noise at all, and its mean is not the gradient of the expected cost: keys that are never "
                "chosen never show what they would have paid.",
            ),
            Wrong(
                r"$\log(a_j)$ has no gradient for the largest weight",
                r"It has: $\nabla_{e_l} \log(a_j) = [l = j] - a_l$. What is missing is the drawing.",
            ),
            Right(
                r"The identity $\mathbb{E}[f\, \nabla \log(a_j)] = \nabla\, \mathbb{E} f$ needs a draw $j \sim a$",
                "The expectation runs over draws in proportion to their weights. A choice that is always the same "
                "estimates something else.",
            ),
            Wrong(
                "The argmax has no gradient, and a draw has one",
                r"Neither has one. The gradient goes through $\log(a_j)$ in both cases.",
            ),
        ],
    ),
    SingleChoice(
        "jacobian",
        r"A look puts practically all its weight on key 3: $a_3 \approx 1$. To what does the context react most?",
        [
            Wrong(
                r"To key 3: it has all the weight",
                r"$\partial c / \partial k_3 = a_3 (v_3 - c)\, q^\top / \sqrt d$, and $c \approx v_3$: the factor "
                r"$v_3 - c$ is nearly zero. A small step of the key changes nothing.",
            ),
            Right(
                r"To value 3: $\partial c / \partial v_3 = a_3 I \approx I$",
                "For the values, weights and Jacobian are the same thing. For the keys they part, the more so the "
                "sharper the look.",
            ),
            Wrong(
                r"To the query: it decides what is read",
                r"All gradients of scores pass through the softmax, and that is flat where one weight is nearly 1. "
                r"The query's, too, is nearly zero.",
            ),
            Wrong(
                r"To the other keys: they could still win",
                r"Their weights are nearly 0, and $\partial c / \partial k_j$ has $a_j$ as a factor.",
            ),
        ],
    ),
]
