"""Chapter 14: pointer networks."""

from . import Numeric, Right, SingleChoice, Wrong

QUESTIONS = [
    Numeric(
        "share",
        r"Three items have the scores $u = (0, \ln 2, \ln 5)$, and the first has been chosen already, so the rule "
        r"forbids it. With which probability does the network point at the second?",
        answer=2 / 7,
        right=r"The forbidden item leaves the softmax: $e^{\ln 2} = 2$ against $e^{\ln 5} = 5$, so $\frac{2}{7}$.",
        wrong=r"Take the forbidden item out *before* the softmax, then share out the rest: $e^u$ over the sum of "
        r"$e^u$.",
        tolerance=0.005,
        traps={
            0.25: "That is with the first item still in the sum: it was set to zero after the softmax, or not at all.",
            0.4: r"That is $2 / 5$: the sum below has to hold both items that are left, $2 + 5$.",
            0.301: r"Scores were divided by their sum, without the exponential: $\ln 2 / (\ln 2 + \ln 5)$.",
        },
    ),
    SingleChoice(
        "vocabulary",
        "An attention decoder with a fixed vocabulary was trained on hulls of ten points. What happens at eleven?",
        [
            Wrong(
                "Its attention has no weight for the eleventh point",
                "Attention reads eleven annotations as gladly as ten: its weights are computed from the keys that "
                "there are.",
            ),
            Right(
                "It reads all eleven points, and has no symbol with which to name the last",
                "The weights spread over any number of keys, but the answer comes from a matrix with a row for each "
                "symbol, and those were counted when it was built.",
            ),
            Wrong(
                "Nothing special, if the network was trained for long enough",
                "No training adds a row to the output layer. Points 1 to 10 can be named, point 11 cannot.",
            ),
        ],
    ),
    SingleChoice(
        "order",
        "Why must there be one canonical order in which a hull is written?",
        [
            Right(
                "Otherwise the same input has many right answers, and the loss never says which was meant",
                r"With $m$ corners there are $2m$ ways round. Teacher forcing marks all but one of them wrong, and at "
                r"the first step not even a perfect network could do better than $1/m$.",
            ),
            Wrong(
                "Because the LSTM can only count upwards",
                "The indices of the corners come in any order along the hull. The decoder is fed what it pointed at, "
                "and counts nothing.",
            ),
            Wrong(
                "So that accuracy can be measured",
                "The measure accepts any start and either direction. It is the *training* that needs one answer.",
            ),
        ],
    ),
    SingleChoice(
        "one-call",
        "Bahdanau's decoder must be trained step by step, a pointer network's in one call of the LSTM. Why?",
        [
            Wrong(
                "Because pointing needs no softmax during training",
                "It does: the loss is the logarithm of one. But all softmaxes can be taken at once.",
            ),
            Wrong(
                "Because its encoder looks at all items at once",
                "That speeds up the encoder, whichever decoder follows it. Here the decoder is meant.",
            ),
            Right(
                "The next state depends on the true symbols alone, not on a context read with the weights",
                "Chapter 4's context goes into the next state, so step $i$ needs the weights of step $i - 1$. Here "
                "nothing is read with the weights: under teacher forcing all inputs are known, and so are all states.",
            ),
        ],
    ),
]
