"""Chapter 16: SAGAN."""

from . import Numeric, Right, SingleChoice, Wrong

QUESTIONS = [
    SingleChoice(
        "axis",
        r"In your block the softmax goes along the other axis of the map. What will you see in training?",
        [
            Wrong(
                "An error about shapes",
                "The map is square, N×N: it can be normalised along either axis and multiplied from either side, and "
                "nothing complains.",
            ),
            Wrong(
                "A loss that does not fall",
                "The block still mixes positions and the rest of the network learns around it. Several public SAGANs "
                "had this bug, and their images looked fine.",
            ),
            Right(
                "Nothing; a row of the map that does not sum to one tells",
                "Each position then sends a total of one and receives whatever comes. One line of test shows it: sum a "
                "row. No loss curve does.",
            ),
        ],
    ),
    SingleChoice(
        "swap",
        r"Somebody has written the block with $f$ at the position that reads and $g$ at the one that is read, and "
        r"takes the softmax over the positions that are read. What is wrong with it?",
        [
            Right(
                "Nothing, $f$ and $g$ are two names",
                "Both are learned. Whatever the one block computes, the other computes with the two matrices "
                "exchanged. What counts is that the softmax goes over what is read.",
            ),
            Wrong(
                "The map is transposed, so every position receives what it should send",
                "It would be, had the softmax stayed on the old axis. Here it goes over what is read, as it should.",
            ),
            Wrong(
                "It trains, but to other images in the long run",
                "From exchanged initial weights, both would make the same images, number for number.",
            ),
        ],
    ),
    Numeric(
        "gamma",
        r"A position has $x_j = 3$ and reads $v(\sum_i \beta_{j,i} h(x_i)) = -2$. The gate stands at $\gamma = 0.25$. "
        r"What leaves the block?",
        answer=2.5,
        right=r"$\gamma o + x = 0.25 \cdot (-2) + 3 = 2.5$.",
        wrong="The gate is on what was read, and the input is added whole.",
        tolerance=0.005,
        traps={
            1.75: r"That is $\gamma o + (1 - \gamma) x$. The gate does not mix: the input stays whole.",
            1.0: "That is without the gate: all of what was read, added.",
            -0.5: "That is what was read alone. The input is added to it.",
            -1.25: "The gate is on the input there. It belongs to what was read.",
        },
    ),
    SingleChoice(
        "first",
        r"On the very first step $\gamma = 0$. Which parameters of the block change?",
        [
            Wrong(
                "All, slowly",
                r"The gradient of everything inside is multiplied by $\gamma$. Zero times anything is zero, exactly.",
            ),
            Right(
                r"$\gamma$ alone",
                r"The slope of the output along $\gamma$ is what was read, and that is not zero. From the second step "
                r"on $\gamma$ is not 0 and the rest begins to move.",
            ),
            Wrong(
                r"None: with $\gamma = 0$ the block is not part of the network",
                r"It is: $\partial y / \partial \gamma = o$, and $o$ does not depend on $\gamma$.",
            ),
        ],
    ),
    Numeric(
        "map",
        r"A block works on 32×32 positions of one image. How many times larger is its map on 64×64?",
        answer=16,
        right="Four times as many positions, and each has a weight for each: $4^2 = 16$. With keys and values pooled "
        "2×2 both maps are four times smaller, and the ratio is the same.",
        wrong="How many positions are there in each case, and how many pairs of them?",
        tolerance=0.01,
        traps={
            4: "That is the ratio of the positions. The map has an entry for every *pair*.",
            2: "That is the ratio of the sides. The map has an entry for every pair of positions.",
            8: "Positions grow by 4, so pairs by 4 times 4.",
        },
    ),
]
