"""Chapter 09: self-attention, LSTMN, hierarchical attention."""

from . import Numeric, Right, SingleChoice, Wrong

QUESTIONS = [
    SingleChoice(
        "which",
        "Which of these is self-attention?",
        [
            Wrong(
                "A caption's decoder looks at the regions of an image before every word",
                "Show, Attend and Tell is sometimes called that. The query is a decoder's state, keys and values are "
                "an image's: two different things.",
            ),
            Wrong(
                "A decoder looks at the source and at its own past, and adds the two",
                "That is described as self-attention in places. Only the second look is one; adding them is neither "
                "necessary nor the point.",
            ),
            Right(
                "The words of one sentence look at the words of the same sentence",
                "Query, keys and values are made from one sequence. Nothing else is needed: no decoder, no target, no "
                "recurrence.",
            ),
            Wrong(
                "A decoder's state looks at the annotations of the source",
                "That is Bahdanau's and Luong's attention, from one sequence to another.",
            ),
        ],
    ),
    Numeric(
        "causal",
        "A causal mask over 6 positions: how many of the 36 weights may differ from zero?",
        answer=21,
        tolerance=0,
        right="Position $t$ sees itself and all before it: 1 + 2 + … + 6.",
        wrong="Count row by row: how many positions does each one see?",
        traps={
            15: "That leaves the diagonal out. A position sees itself; it is LSTMN that looks strictly at the past.",
            18: "Half of 36; but the diagonal belongs to the past in full.",
            36: "That is without a mask.",
            30: "That leaves out the diagonal and nothing else.",
        },
    ),
    SingleChoice(
        "shuffle",
        "The words of a sentence are shuffled before a self-attention layer without positions and without a causal "
        "mask. What happens to its outputs?",
        [
            Right(
                "They are the same vectors, shuffled in the same way",
                "Equivariance: each word finds the same words with the same weights, wherever they stand. So "
                "*dog bites man* and *man bites dog* are the same to it.",
            ),
            Wrong(
                "Nothing: every position's output is as before",
                "That would be invariance. The output at position 0 belongs to whatever word stands there now.",
            ),
            Wrong(
                "They become other vectors, since other words are neighbours now",
                "Neighbours are nothing special to it: a score depends on two words and not on where they stand. For a "
                "convolution or a recurrent network the sentence is right.",
            ),
        ],
    ),
    Numeric(
        "layers",
        "Causal convolutions see $t$ and $t - r$, with dilations $r = 1, 2, 4, …$ from layer to layer. How many layers "
        "does it take until an output can depend on the input 63 steps before?",
        answer=6,
        tolerance=0,
        right="1 + 2 + 4 + 8 + 16 + 32 = 63. The path grows with the logarithm of the distance.",
        wrong="After $n$ layers the reach is $1 + 2 + … + 2^{n-1}$.",
        traps={
            63: "That is the path through a recurrent network, or through layers without dilation.",
            1: "One layer is enough for self-attention. A convolution sees two positions at a time.",
            7: "After six layers the reach is 63 already; the seventh would make it 127.",
            32: "That is the dilation of the last layer that is needed.",
        },
    ),
    SingleChoice(
        "question",
        "What does the sentence-level context vector $u_s$ of a hierarchical attention network depend on?",
        [
            Wrong(
                "On the document: it is computed from its sentences",
                "Its *weights* depend on the document. The question that they answer is the same for all of them.",
            ),
            Right(
                "On nothing: it is a parameter, learned once and asked of every document",
                "That is why the network cannot ask for *the sentence about whoever was named before*. A question that "
                "depends on what was read needs a second look; memory networks (chapter 12) take several.",
            ),
            Wrong(
                "On the word-level vector $u_w$",
                "The two levels have questions of their own; sharing one is a mistake that the exercise knows.",
            ),
            Wrong(
                "On the length of the document",
                "Padding is masked, and $u_s$ knows of no length.",
            ),
        ],
    ),
]
