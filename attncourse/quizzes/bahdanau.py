"""Chapter 04: additive attention."""

from . import Numeric, Right, SingleChoice, Wrong

QUESTIONS = [
    SingleChoice(
        "query",
        r"The decoder is about to write $y_i$. Which vector asks the question, that is, which one is the query "
        r"in $e_{ij} = v^\top\,\tanh(W_q\,q + W_k h_j)$?",
        [
            Wrong(
                r"$s_i$, the state that belongs to $y_i$",
                r"$s_i$ is computed *from* the context $c_i$, and $c_i$ from the weights: with $s_i$ as the query the "
                r"definition would go in a circle. Luong's model does use the current state, but there the context "
                r"enters only after the recurrent step.",
            ),
            Right(
                r"$s_{i-1}$, the state after writing $y_{i-1}$",
                r"It is all that the decoder knows before it looks. Then $c_i$ follows, then $s_i$, then $y_i$.",
            ),
            Wrong(
                r"$h_S$, the encoder's last state",
                r"It is the same at every step, so the weights would be too: one fixed summary of the source, "
                r"which is the bottleneck that attention was made to remove.",
            ),
            Wrong(
                r"$y_{i-1}$, the symbol just written",
                r"The symbol alone does not say where in the sentence we are: both zeros of 2024-05-07's month and "
                r"day would ask the same question. The state has read all symbols before it.",
            ),
        ],
    ),
    SingleChoice(
        "padding",
        "A short sentence stands in a batch beside a long one and is padded with symbols whose annotations are zero "
        "vectors. What happens to it if the softmax runs over the padded positions too?",
        [
            Wrong(
                "Nothing: a zero vector adds nothing to the context",
                r"It adds nothing to the sum, but it takes its share of the weight. A score of "
                r"$v^\top\,\tanh(W_q s + W_k 0)$ is an ordinary score, and $\exp$ of it is positive.",
            ),
            Wrong(
                "Its weights become NaN",
                r"NaN comes from a row in which *everything* is masked with $-\infty$, from $0/0$. Here every score is "
                r"finite, the numbers look fine, and that is why this mistake goes unnoticed.",
            ),
            Right(
                "Padding takes part of the weight, so the same sentence gets another context in another batch",
                "The weights of the real symbols no longer sum to one, and by how much depends on the neighbours "
                "in the batch. The mask sets the padded weights to exactly zero before anything is shared out.",
            ),
            Wrong(
                "It only costs time; training teaches the model to give padding no weight",
                "It can learn to give it little, never none, and only for the amounts of padding it has seen. "
                "A mask costs one line and is exact.",
            ),
        ],
    ),
    Numeric(
        "context",
        r"By hand: three positions have the scores $e = (0,\ \ln 3,\ \ln 9)$ and the annotations $h = (4,\ 8,\ 100)$. "
        r"The third position is padding and is masked. What is the context $c = \sum_j a_j h_j$?",
        answer=7.0,
        right=r"$\exp$ of the two real scores is 1 and 3, so the weights are $\frac14$ and $\frac34$, "
        r"and $\frac14 \cdot 4 + \frac34 \cdot 8 = 7$.",
        wrong=r"Take $\exp$ of each score that may be attended, divide by the sum of those, "
        r"then weigh the annotations. All three steps work without a calculator here.",
        tolerance=0.02,
        traps={
            928 / 13: r"That is the context *without* the mask: the padded position holds $\frac{9}{13}$ "
            r"of the weight.",
            28 / 13: r"Here the padded weight was set to zero *after* the softmax: the rest sums to $\frac{4}{13}$ "
            r"instead of 1. The mask belongs before the softmax.",
            8.0: r"That is $e_j / \sum_k e_k$, without $\exp$: the score 0 would get no weight at all.",
            6.0: r"That is the plain mean of 4 and 8, as if both scores were equal.",
        },
    ),
    SingleChoice(
        "projection",
        r"A source of 30 symbols is translated into 40. How many products $W_k h_j$ does the decoder need if it "
        r"computes them as early as it can?",
        [
            Right(
                "30",
                r"$W_k h_j$ does not depend on the step $i$: once for each source symbol, kept for the whole sentence.",
            ),
            Wrong(
                "40", r"That is the number of products $W_q s_{i-1}$: the query is new at every step, the keys are not."
            ),
            Wrong(
                "70",
                r"30 products $W_k h_j$ and 40 products $W_q s_{i-1}$ are 70 in all; the question was about the keys.",
            ),
            Wrong(
                "1200",
                r"So many *scores* there are, one for each pair, each with its own $\tanh$ and product with $v$. "
                r"But the matrix product inside repeats the same 30 results at every step.",
            ),
        ],
    ),
    SingleChoice(
        "jacobian",
        r"While writing $y_i$ the model gives source symbol $x_j$ the weight $a_{ij} = 0$. "
        r"Can a change of $x_j$ still change $y_i$?",
        [
            Wrong(
                r"No: the context is $\sum_j a_{ij} h_j$, and the term of $x_j$ vanishes",
                r"The term of $h_j$ vanishes. But $x_j$ is not only in $h_j$: the recurrent encoder "
                r"has carried it into its neighbours' annotations.",
            ),
            Wrong(
                r"No: where a weight is zero, its gradient is zero",
                r"The gradient *through that weight* is. The Jacobian $\partial y_i / \partial x_j$ "
                r"adds up all paths, and others remain.",
            ),
            Right(
                r"Yes: the encoder has carried $x_j$ into the annotations of other symbols, and into $s_{i-1}$",
                r"The weights say which *annotation* was read, the Jacobian which *input* mattered. "
                r"They often agree, and need not.",
            ),
            Wrong(
                r"Yes, but only during training, by way of the gradient",
                r"This is about the forward pass: change the letter, run the trained model again, "
                r"and the output may differ.",
            ),
        ],
    ),
]
