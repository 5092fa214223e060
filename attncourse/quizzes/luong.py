"""Chapter 06: Luong's family."""

from . import Numeric, Right, SingleChoice, Wrong

QUESTIONS = [
    SingleChoice(
        "state",
        r"Luong's decoder is about to write $y_t$. In which order do things happen?",
        [
            Right(
                r"new state $h_t$, look with $h_t$, combine to $\tilde h_t$, predict",
                r"The look comes *after* the recurrent step, with the current state, and its context goes straight to "
                r"the prediction. So the recurrence itself does not wait for the attention, unless input feeding "
                r"makes it.",
            ),
            Wrong(
                r"look with $h_{t-1}$, new state $h_t$ from the context, predict",
                r"That is Bahdanau's order: there the context is part of the input of the recurrent step, so the query "
                r"can only be the state before it.",
            ),
            Wrong(
                r"new state $h_t$, look with $h_{t-1}$, combine, predict",
                r"Nothing forbids it, but nobody wants it: the newest state knows one word more about where we are.",
            ),
            Wrong(
                r"look with $\tilde h_{t-1}$, new state, predict",
                r"$\tilde h_{t-1}$ is the input that input feeding gives to the recurrent step. The query is $h_t$.",
            ),
        ],
    ),
    Numeric(
        "edge",
        r"Local-p with $D = 4$: a word at the very edge of the window, $|s - p_t| = D$, has the weight 0.5 after the "
        r"softmax. What is its weight after the Gaussian?",
        answer=0.068,
        tolerance=0.003,
        right=r"$\sigma = D/2 = 2$, so the factor is $\exp(-16/8) = e^{-2} = 0.135$, whatever $D$ is.",
        wrong=r"The factor is $\exp(-(s-p_t)^2 / 2\sigma^2)$ with $\sigma = D/2$.",
        traps={
            0.303: r"That is $\sigma = D$: $0.5\,e^{-1/2}$. The paper sets $\sigma = D/2$.",
            0.5: "The Gaussian is 1 only at the centre of the window.",
            0.135: "That is the factor alone; it multiplies the weight 0.5.",
        },
    ),
    SingleChoice(
        "gaussian",
        r"Somebody removes the Gaussian from local-p and keeps the window. What happens to $W_p$ and $v_p$?",
        [
            Wrong(
                "They learn more slowly",
                "They do not learn at all: slowly would need a gradient that is small.",
            ),
            Right(
                "Their gradient is exactly zero: they stay as they were drawn",
                r"Inside the window the weights do not depend on $p_t$, and where a word enters or leaves they jump. A "
                r"step function has the derivative zero or none. The Gaussian is the only smooth way from $p_t$ to the "
                r"output.",
            ),
            Wrong(
                "They learn through the mask",
                "A mask is made of comparisons; no gradient passes a comparison.",
            ),
            Wrong(
                "They learn to put the window on the whole sentence",
                r"The window's width is $2D + 1$ and fixed; $p_t$ only moves it.",
            ),
        ],
    ),
    SingleChoice(
        "location",
        r"The location score $a_t = \mathrm{softmax}(W_a h_t)$ never looks at the source. How can it translate at all?",
        [
            Right(
                r"The state knows how far it has come, and the words it reads there are the right ones often enough",
                r"$W_a h_t$ names a *position*. Which word stands there enters through the values only. So it can "
                r"follow a fixed pattern, and a sentence longer than any of the training asks for rows of $W_a$ that "
                r"were never trained.",
            ),
            Wrong(
                "It cannot: its weights are the same for every sentence",
                r"They depend on $h_t$, which has read the sentence's start state and all words written so far.",
            ),
            Wrong(
                "The softmax looks at the source",
                "A softmax only normalises; here it sees the numbers that the query alone has produced.",
            ),
        ],
    ),
    SingleChoice(
        "aer",
        "A model's attention has an AER of 0.3, another's 0.1. Which conclusion is safe?",
        [
            Wrong(
                "The second one translates better",
                "The paper's own table says otherwise: the best system in BLEU did not have the best alignment. The "
                "words around a position carry its information, so a model may read the right thing next door.",
            ),
            Right(
                "The second one's largest weights are more often where people would draw a link",
                "That is all AER measures: an argmax against links drawn by hand, under forced decoding.",
            ),
            Wrong(
                "A third of the first one's translation is wrong",
                "AER is measured while the reference is dictated to the model; it says nothing about what it would "
                "have written.",
            ),
        ],
    ),
]
