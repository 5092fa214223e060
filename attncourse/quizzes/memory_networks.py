"""Chapter 12: memory networks."""

from . import Numeric, Right, SingleChoice, Wrong

QUESTIONS = [
    SingleChoice(
        "second",
        "What does the second hop of a memory network ask the memory with?",
        [
            Right(
                "With the question plus what the first hop read",
                "$u^2 = u^1 + o^1$. That is the whole idea: *where is the ball* becomes *where is the ball, which anna "
                "has*, and the second look can be for anna.",
            ),
            Wrong(
                "With the question again",
                "Then the second hop could find nothing that the first did not; it would be another head, side by side "
                "with the first, not a second step.",
            ),
            Wrong(
                "With what the first hop read, and nothing else",
                "The question is kept: the hop adds. Otherwise *who has it* and *where is it* would go on alike.",
            ),
            Wrong(
                "With a learned vector, the same for every story",
                "That is the context vector of a hierarchical attention network (chapter 9), and the reason why it "
                "cannot chain facts.",
            ),
        ],
    ),
    Numeric(
        "encoding",
        "Position encoding, $l_{kj} = (1 - j/J) - (k/d)(1 - 2j/J)$: what is the weight of the last word of a sentence "
        "of 5 words in feature 3 of 12?",
        answer=0.25,
        tolerance=0.001,
        right="For the last word $j = J$: the first bracket is 0, the second −1, and $k/d = 3/12$ is left.",
        wrong="Both $j$ and $k$ count from 1, so here $j = J = 5$ and $k = 3$.",
        traps={
            0.35: "That counts the words from 0: the last one would have $j = 4$.",
            0.3: "That counts words and features from 0, as `arange` does.",
            0.65: "That is the first word's weight, $j = 1$.",
            -0.25: "$1 - 2j/J = -1$, and it is subtracted.",
            0.1667: "That counts the features from 0: $2/12$.",
        },
    ),
    SingleChoice(
        "time",
        "Why is a sentence's age counted from the question, and not from the beginning of the story?",
        [
            Wrong(
                "Because the beginning of a story is not important",
                "It may be; the last move of somebody who never moved again can be the first sentence.",
            ),
            Right(
                "Because *the last thing told* then has the same vector in a story of any length",
                "What questions ask for is recent: *is* means *after the last move*. Counted from the beginning, the "
                "last sentence has another number in every story.",
            ),
            Wrong(
                "Because padding would be counted otherwise",
                "Padding is masked either way.",
            ),
            Wrong(
                "Because the softmax needs positive numbers",
                "The softmax sees scores; the age is an index of a table of vectors.",
            ),
        ],
    ),
    SingleChoice(
        "bag",
        "In a sentence vector without position encoding, what is lost of *anna gave the ball to bruno*?",
        [
            Wrong(
                "That a ball was given",
                "The words are all there; a bag knows them.",
            ),
            Right(
                "Who gave it to whom",
                "*bruno gave the ball to anna* has the same words, so the same sum, so the same key and the same "
                "value in every hop.",
            ),
            Wrong(
                "When it was given",
                "Time is a vector of its own, added to the sentence.",
            ),
        ],
    ),
    SingleChoice(
        "write",
        "A story goes on for a thousand sentences. What does an end-to-end memory network do with the memory while it "
        "reads?",
        [
            Wrong(
                "It replaces what is no longer true: one slot for each person",
                "It has no way to write. That everybody has one current place is nowhere in it; each question has to "
                "find the latest sentence anew.",
            ),
            Right(
                "Nothing: each sentence becomes a slot of its own, and stays as it is",
                "Memory is written once, by position. A thousand sentences are a thousand slots, and every hop of "
                "every question looks at all of them. Chapter 13's machine decides itself what to write and where.",
            ),
            Wrong(
                "It updates the memory at every hop",
                "A hop changes the *question*. Keys and values are computed from the sentences alone.",
            ),
        ],
    ),
]
