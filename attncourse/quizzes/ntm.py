"""Chapter 13: the Neural Turing Machine."""

from . import Numeric, Right, SingleChoice, Wrong

QUESTIONS = [
    Numeric(
        "walk",
        r"Four slots, one head, and its last final weighting was $(0, 0, 0, 1)$. Now content points to slot 0 alone, "
        r"$w^c = (1, 0, 0, 0)$; the gate is $g = \frac14$; all of the shift goes one slot on; $\gamma = 2$. Slots "
        r"count from 0. How much weight is on slot 0 afterwards?",
        answer=0.9,
        right=r"Mix: $\frac14$ on slot 0, $\frac34$ on slot 3. Shift: slot 3 leads round the end to slot 0, slot 0 to "
        r"slot 1. Sharpen: $\frac{9}{16}$ against $\frac{1}{16}$, so $\frac{9}{10}$.",
        wrong="Do the four stages in turn: mix with the gate, move each weight one slot on (round the end), square, "
        "divide by the sum.",
        tolerance=0.005,
        traps={
            0.75: r"That is before the sharpening: $\gamma = 2$ squares the weights, and then they are divided by "
            r"their sum.",
            0.5625: r"Squared, but not divided by the sum: $\frac{9}{16} + \frac{1}{16}$ is not 1.",
            0.1: "Either $g$ and $1 - g$ have changed places, or the shift is missing: slot 0 has to receive what was "
            "on slot 3.",
            0.25: "That is after the mix alone: the shift and the sharpening are still to come.",
            0.0: "The slots form a ring: from slot 3, one on is slot 0. Nothing falls off the end, and *on* is not "
            "*back*.",
            1.0: "That is where a gate of 0 would lead. Here a quarter of the weight goes where content points.",
        },
    ),
    Numeric(
        "scalar",
        r"The other way to say a shift is one real number, split between the two whole moves beside it. A head is on "
        r"slot 0 of 128 with all its weight, and the shift is $6.7$. How much weight does slot 6 get?",
        answer=0.3,
        right="6.7 is 0.7 of the way from 6 to 7: slot 7, the nearer one, gets 0.7, and slot 6 the remaining 0.3.",
        wrong="Which two slots lie beside 6.7, and which of them is nearer?",
        tolerance=0.01,
        traps={
            0.7: "That is slot 7's. 6.7 is nearer to 7, so slot 7 gets the larger share.",
            0.5: "The share depends on the distance: 6.7 does not lie half-way.",
            0.0: "Rounded to 7. Then the shift would have no gradient; the split is what gives it one.",
            1.0: "Cut off to 6. Then the shift would have no gradient; the split is what gives it one.",
        },
    ),
    SingleChoice(
        "sharpen",
        r"Why is there a sharpening, $\gamma \ge 1$, after the shift?",
        [
            Wrong(
                "To make the weights sum to one again",
                "They do already: weights and moves are distributions, and their circular convolution is one, too.",
            ),
            Right(
                "A shift that is not quite certain spreads the weight a little in every step",
                r"Moves of $(0.05, 0.9, 0.05)$ leave 0.9 of the weight in its place after one step; the rest is on the "
                r"neighbours, and it grows from step to step. A power above 1 gathers it again, before it is carried "
                r"into the next step.",
            ),
            Wrong(
                r"Because $\beta$ is not enough to make content addressing sharp",
                r"$\beta$ can be as large as it likes. But with a closed gate content takes no part, and the blur of "
                r"the shift is still there.",
            ),
            Wrong(
                "To choose one slot, as an argmax would",
                r"Only as $\gamma \to \infty$. A finite power leaves every slot some weight, and with it a gradient.",
            ),
        ],
    ),
    SingleChoice(
        "size",
        "A machine was trained with 128 slots. Can it run with 256?",
        [
            Wrong(
                "No: the layer that makes the weights has 128 outputs",
                r"No layer has. A head puts out $k$, $\beta$, $g$, $s$, $\gamma$: a key as wide as a slot, a few "
                r"moves, three numbers. The weights come from comparing and shifting.",
            ),
            Wrong(
                "Only if the new slots are trained, too",
                "A slot has no parameters. What it holds is written while the machine runs, and begins anew with every "
                "sequence.",
            ),
            Right(
                "Yes: no parameter's size depends on the number of slots",
                "The parameters depend on the width of a slot and on the number of moves. Whether it then also *works* "
                "is another matter, and has to be measured: over more slots the same $\\beta$ gives a flatter softmax, "
                "and a way round the ring is longer.",
            ),
            Wrong(
                "Yes, and the slots may be wider, too",
                "The width is built in: keys, erase and add vectors are as wide as a slot, and the controller's input "
                "holds what was read.",
            ),
        ],
    ),
    SingleChoice(
        "alone",
        "The slots hold the items of a list and nothing else. A head has only one of the two ways to address them. "
        "Which is true?",
        [
            Wrong(
                "By content alone it cannot complete an item of which it knows a part",
                "That is what content is good for: a key with the known part, and zeros elsewhere, resembles the items "
                "that agree there, and the whole item is read.",
            ),
            Right(
                "By content alone it cannot read the first of two equal items without the second",
                "Equal slots have equal cosines, and so equal weights, whatever the key. Only their place tells them "
                "apart. (A mark of the place could be written beside each item; then content does the work of "
                "location.)",
            ),
            Wrong(
                "By location alone it cannot read the list in order",
                "It can: one slot on in every step. That is the loop with which copying is done.",
            ),
            Wrong(
                "By location alone it cannot reach a slot that lies further than its moves",
                "It can, in several steps. What it cannot do is go *at once* to an item that resembles something: it "
                "would have to know how far away that lies.",
            ),
        ],
    ),
]
