"""Chapter 03: the encoder-decoder with one vector."""

from . import Numeric, Right, SingleChoice, Wrong

QUESTIONS = [
    SingleChoice(
        "fixed",
        "Which part of an encoder–decoder *without* attention grows when the source gets longer?",
        [
            Wrong(
                "The vector that the decoder is given",
                "It has the size of the encoder's state, chosen once when the model is built. That is the bottleneck.",
            ),
            Wrong(
                "The number of parameters",
                "The same cell is used at every step: a longer source needs more steps, not more weights.",
            ),
            Right(
                "The number of steps that the encoder takes",
                "And with it the way from the first symbol to the output. What is kept at the end has the same size "
                "as ever.",
            ),
            Wrong(
                "The number of steps that the decoder takes",
                "That follows the length of the *output*, and without attention the decoder does not even know how "
                "long the source was.",
            ),
        ],
    ),
    Numeric(
        "lag",
        "A source of ten symbols is read *reversed*, then ten symbols are written; output $i$ says what source symbol "
        "$i$ said. Reading and writing take one step each. What is the mean lag between reading a symbol and writing "
        "its counterpart?",
        answer=10.0,
        right="The lags are 1, 3, 5 … 19, and their mean is 10: the same as without reversal, where each is 10. "
        "Reversal makes no distance shorter on average. It makes the *first* ones very short, and that is where "
        "learning can begin.",
        wrong="Symbol $i$ (from 0) is read at step $9 - i$ and written at step $10 + i$. Take the mean of the ten "
        "differences.",
        tolerance=0.05,
        traps={
            1.0: "That is the lag of the first symbol alone. The last one now has to wait for 19 steps.",
            9.0: "Close: from step 9 to step 10 is one step, not none. The lags are 1, 3, 5 …",
            5.5: "That is the mean place of a symbol in the source. The lag ends where its output is written.",
            9.5: "That is half of the longest lag, 19. The shortest is 1, not 0.",
        },
    ),
    SingleChoice(
        "padding",
        "Two batches hold the same sentences, but in the second one of them is much longer, so the others are padded. "
        "The loss is the mean over *all* places of the padded batch, with zeros on padding. What happens?",
        [
            Wrong(
                "Nothing: the padded places add zero",
                "They add zero to the sum, and one each to the number that it is divided by.",
            ),
            Right(
                "The loss and its gradient shrink with the amount of padding",
                "The same mistakes look smaller, and the step is smaller. Divide by the number of real symbols.",
            ),
            Wrong(
                "The model learns to write padding",
                "That happens when padding is counted as a target. Here its terms are zero, and so is their gradient.",
            ),
            Wrong(
                "The loss becomes NaN",
                "Zeros do no such harm. The numbers look fine, which is why this goes unnoticed.",
            ),
        ],
    ),
    SingleChoice(
        "teacher",
        "A model gets 98% of all symbols right under teacher forcing. Sentences have 20 symbols. What does that say "
        "about whole sentences when it runs free?",
        [
            Wrong(
                "98% of the sentences are right",
                "A sentence is right only if all twenty symbols are.",
            ),
            Wrong(
                "At least 98% of the symbols are right",
                "Running free, it sees its own mistakes. After the first one it reads a beginning that it never met "
                "in training.",
            ),
            Right(
                "About two thirds are right if mistakes fall independently; the rest may go wrong from there on",
                r"$0.98^{20} \approx 0.67$. A sentence without any mistake under teacher forcing is also right when "
                "running free; all others leave the true path at their first mistake.",
            ),
            Wrong(
                "Nothing: the two have nothing to do with each other",
                "As long as no mistake has been made, both see the same symbols. They part at the first one.",
            ),
        ],
    ),
    SingleChoice(
        "probe",
        "A linear probe reads the fourth digit from the fixed vector with chance accuracy. What follows?",
        [
            Wrong(
                "The vector holds nothing about the fourth digit",
                "Nothing that a *linear* map can read. A digit may be there in a form that needs the decoder's "
                "non-linear steps.",
            ),
            Right(
                "The digit is not there in a form that a linear map can read",
                "A probe gives a lower bound: high accuracy proves that something is there, low accuracy little.",
            ),
            Wrong(
                "The decoder cannot write the fourth digit",
                "It is not linear, and by then it has written three digits that may help. Measure that directly.",
            ),
            Wrong(
                "The probe was trained on too few examples",
                "Possible, and worth checking on its training set; but it does not follow.",
            ),
        ],
    ),
]
