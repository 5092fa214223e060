"""Chapter 15: SNAIL."""

from . import Numeric, Right, SingleChoice, Wrong

QUESTIONS = [
    Numeric(
        "padding",
        "A causal convolution with three taps and dilation 4 shall give as many answers as it has inputs. How many "
        "zeros stand *before* the sequence?",
        answer=8,
        right="Between three taps there are two gaps of four. All eight zeros stand on the left, none on the right.",
        wrong="How far back does the first tap look when the last one is on the present?",
        tolerance=0.01,
        traps={
            4: "That is one gap. Three taps have two. (Or half of the zeros: then the other half stands on the right, "
            "and the model sees the future.)",
            12: "Between three taps there are two gaps, not three.",
            2: "That is kernel − 1, the padding for a dilation of 1.",
            16: "Eight on each side would give eight answers too many.",
        },
    ),
    Numeric(
        "odd",
        "A block stacks three causal convolutions with two taps each and dilations 2, 4, 8, as the paper's pseudo-code "
        "counts them. Of the 15 inputs from $x_{t-14}$ to $x_t$, how many can the answer at $t$ depend on?",
        answer=8,
        right="Each path adds 0 or 2, 0 or 4, 0 or 8: eight even distances, 0 to 14. It cannot know $x_{t-1}$.",
        wrong="Write down all sums that you can make of 2, 4 and 8, each taken once or not at all.",
        tolerance=0.01,
        traps={
            15: "That is the stretch from the furthest one. All sums of 2, 4 and 8 are even, so every second input is "
            "missed.",
            7: "The present counts, too: distance 0.",
            16: "With dilations 1, 2, 4, 8 it would be sixteen; here the first of them is missing.",
        },
    ),
    SingleChoice(
        "leak",
        "In a causal attention, the masked scores go through `softmax(dim=1)`, over the queries. All masked weights "
        "are exactly zero. What is wrong?",
        [
            Wrong("Nothing: the mask hides the future", "The mask hides *values* of the future. Look at the sums."),
            Right(
                "A later query changes the weights of an earlier one",
                "Each column is shared out among all queries that may see its key, and most of those come later. "
                "Change one of them, and the earlier ones' weights change: the future has leaked through the sum.",
            ),
            Wrong(
                "The gradient does not flow",
                "It flows, and even to places where it should not: from an early answer to a late input.",
            ),
        ],
    ),
    SingleChoice(
        "learning",
        "The trained SNAIL meets five letters of a script that it has never seen, and names a sixth image. Where was "
        "*this* task learned?",
        [
            Wrong(
                "In its weights, by a few steps of gradient descent on the five images",
                "No weight changes. That would be another family: learning a start from which a few steps are enough.",
            ),
            Right(
                "In its activations, while it read the sequence",
                "The weights hold *how to learn* from labelled images; what these five mean is in the keys and values "
                "that the query looks back at, and is gone with the sequence.",
            ),
            Wrong(
                "In training: these letters were among the classes",
                "The scripts of the test are disjoint from those of training, and labels are dealt afresh in every "
                "episode: a letter's number means nothing outside it.",
            ),
        ],
    ),
    SingleChoice(
        "regret",
        "Why does the bandit player not just pull the arm with the best record so far?",
        [
            Right(
                "A pull also brings knowledge, which is worth something while pulls are left",
                "With many pulls left, an untried arm may be worth more than a known 0.6. With one pull left, the best "
                "record is all that counts. With ten pulls the difference is small: greedy play with a fair prior is "
                "close to the optimum.",
            ),
            Wrong("Because rewards are random", "So is everything here. But does a pull bring reward only?"),
            Wrong(
                "Because the arms change while it plays",
                "They do not: each arm's chance is drawn once for a bandit and stays.",
            ),
        ],
    ),
]
