"""Chapter 08: show, attend and tell."""

from . import Numeric, Right, SingleChoice, Wrong

QUESTIONS = [
    SingleChoice(
        "kind",
        "A decoder writes a caption and looks at the 144 places of an image before each word. Which kind of attention "
        "is this?",
        [
            Right(
                "A sequence attends to an image: queries from the one, keys and values from the other",
                "The query is a state of the decoder, keys and values are annotations of places. Queries and keys come "
                "from two different things, as in chapter 4; only the source is a picture.",
            ),
            Wrong(
                "Self-attention: image and caption belong to one model",
                "Self-attention relates the positions of *one* sequence to each other. Here no word looks at a word "
                "and no place at a place. Some notes on this paper get that wrong.",
            ),
            Wrong(
                "Implicit attention, as in chapter 1",
                "There is a softmax in the design that says where to look; that is what makes it explicit.",
            ),
        ],
    ),
    Numeric(
        "penalty",
        r"Two words, three places. The first word's weights are $(1, 0, 0)$, the second's $(0.5, 0.5, 0)$. What is "
        r"$\sum_i (1 - \sum_t \alpha_{ti})^2$?",
        answer=1.5,
        tolerance=0.01,
        right=r"The places got $1.5$, $0.5$ and $0$ in all: $0.25 + 0.25 + 1 = 1.5$.",
        wrong=r"First add up, for each *place*, what both words gave it; then $(1 - \cdot)^2$, then the sum.",
        traps={
            0: "That is the sum over places inside: it is one for every word, so nothing is left to penalise.",
            1.625: r"That is the mean over the words, $(0.75, 0.25, 0)$, in place of their sum.",
            2.5: r"That is $\sum_i c_i^2$ without the one: $2.25 + 0.25$.",
            0.5: "That is the mean over the three places; the formula sums.",
        },
    ),
    SingleChoice(
        "constant",
        r"A caption has $T = 12$ words, the image $L = 144$ places. Can the penalty become zero?",
        [
            Wrong(
                "Yes, if every place is looked at once",
                r"Each word has one unit of weight to give, so all places together get $T = 12$. To give each of 144 "
                r"places a one, the caption would need 144 words.",
            ),
            Right(
                r"No: it is $L - 2T + \sum_i c_i^2$, and only the last term depends on the weights",
                r"Multiply out, with $c_i = \sum_t \alpha_{ti}$ and $\sum_i c_i = T$. What is left to learn from is "
                r"$\sum_i c_i^2$: do not come back to the same place, do not put it all on one. The even spread "
                r"$c_i = T/L$ is its minimum.",
            ),
            Wrong(
                "Yes, for a model that reads hard",
                "A hard read gives its one unit to one place; the sums stay the same.",
            ),
        ],
    ),
    SingleChoice(
        "gradient",
        r"The hard model reads $a_s$ with $s$ drawn from $\alpha$. Which path brings a gradient to the score's $W_q$?",
        [
            Wrong(
                r"From the caption's likelihood through $z = a_s$ to $\alpha$",
                r"$a_s$ is one row of the annotations, picked by an index. It depends on the *values* (they do get a "
                r"gradient), but the index has none to pass on.",
            ),
            Right(
                r"$(R - b)\,\nabla \log \alpha_s$, and for images read by expectation $\sum_i \alpha_i a_i$",
                "The first is REINFORCE, unbiased and noisy. The second is there because some images of the batch are "
                "read softly, and is what makes the training start at all.",
            ),
            Wrong(
                r"The baseline $b$",
                "The baseline is subtracted from the reward to make the estimate less noisy; no gradient passes it.",
            ),
            Wrong(
                "None: hard attention is trained by Q-learning",
                "It is a policy gradient. No value of a place is learned.",
            ),
        ],
    ),
    SingleChoice(
        "pointing",
        "A captioner's annotations each see the whole image. Its weights put 0.9 inside the right region. What does "
        "that show?",
        [
            Wrong(
                "That it looks at the right shape",
                "A vector that has seen everything can be read anywhere. The weights say which *vector* was read, and "
                "that vector may speak of a shape at the other end of the image.",
            ),
            Right(
                "Less than it seems: where a vector stands and what it knows are two things then",
                "Chapter 6 met this with annotations that had read their neighbours. Here the fields are 14 pixels "
                "wide, on purpose, so that reading a place means seeing it.",
            ),
            Wrong(
                "That the caption is right",
                "Pointing is measured while the true caption is dictated; it says nothing about what would have been "
                "written.",
            ),
        ],
    ),
]
