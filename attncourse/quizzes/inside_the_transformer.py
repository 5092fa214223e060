"""Chapter 11: inside the Transformer."""

from . import Right, SingleChoice, Wrong

QUESTIONS = [
    SingleChoice(
        "heads",
        "A Transformer's number of heads is doubled, everything else stays. What happens to its parameters?",
        [
            Wrong(
                "They double in every attention",
                r"Each head projects to $D/H$ features. Twice as many heads of half the size are the same matrices.",
            ),
            Right(
                "Nothing",
                r"$W_q, W_k, W_v, W_o$ stay $D \times D$; only the place where they are cut changes. What a head pays "
                r"with is its size: scores are made of fewer features.",
            ),
            Wrong(
                "They halve, each head is smaller",
                "Each is smaller, and there are twice as many.",
            ),
        ],
    ),
    SingleChoice(
        "silenced",
        "You silence one head of a trained Transformer, and all test sentences are still translated right. What have "
        "you shown?",
        [
            Right(
                "That the other heads make up for it, on these sentences",
                "Silencing measures what nobody else can replace. Two heads that do the same can each be spared, and "
                "both together cannot.",
            ),
            Wrong(
                "That the head does nothing",
                "A neighbour may do the same thing: then either can go, and the work is still done. To see it, silence "
                "both.",
            ),
            Wrong(
                "That training would have gone as well without it",
                "That is another experiment: train without the head. What a finished model can spare, it may have "
                "needed on the way.",
            ),
        ],
    ),
    SingleChoice(
        "cache",
        "A decoder-only model writes its 257th symbol. What does a cache of keys and values save?",
        [
            Right(
                "The projections and position-wise networks of the 256 symbols before, in every layer",
                "Only the new position goes through the layers. Its look still runs over 257 keys: that part grows, "
                "but it is the small one.",
            ),
            Wrong(
                "The look at the 256 symbols before",
                "The new query has to be compared with every key; no earlier query can do it for it.",
            ),
            Wrong(
                "Nothing, if the model is causal",
                "It is the other way round: because the model is causal, earlier positions do not change when a symbol "
                "is added, and what was computed for them may be kept.",
            ),
        ],
    ),
]
