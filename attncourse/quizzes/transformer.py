"""Chapter 10: the parts of the Transformer."""

from . import Numeric, Right, SingleChoice, Wrong

QUESTIONS = [
    Numeric(
        "scale",
        r"$D = 512$, $H = 8$. A head's query and key have independent entries of mean 0 and variance 1. By what number "
        r"are the scores divided?",
        answer=8.0,
        tolerance=0.01,
        right=r"$\sqrt{D_h} = \sqrt{512/8} = \sqrt{64} = 8$: a score is a sum over the features of *one* head.",
        wrong="Over how many features does one head's dot product run, and what is the standard deviation of that sum?",
        traps={
            22.63: r"That is $\sqrt{512}$, the model's size. A head sees 64 of the 512 features.",
            64.0: "That is the variance of a score. Divide by its square root.",
            512.0: "A score is a sum over one head's 64 features, and the square root of its variance is asked.",
        },
    ),
    SingleChoice(
        "leak",
        r"A decoder is trained without the causal mask. What does one see?",
        [
            Wrong(
                "The training loss stays high",
                "The opposite: with the next symbol in sight, the loss falls towards zero in no time.",
            ),
            Right(
                "A wonderful training loss, and nonsense when it writes",
                "Position $t$ learns to copy what stands at $t + 1$ of its own input. When it writes, nothing stands "
                "there. A loss that is too good is the symptom.",
            ),
            Wrong(
                "Nothing: the residual connections carry the past anyway",
                "They carry each position's own past. The attention beside them would carry the future.",
            ),
        ],
    ),
    SingleChoice(
        "shift",
        r"$PE(p + k) = M_k\,PE(p)$ with one matrix $M_k$ for all $p$. What follows?",
        [
            Wrong(
                "The model translates sentences of any length alike",
                "The chapter measured it: it does not. The property makes it *easy to express* attention by distance; "
                "nothing forces the trained matrices to do so.",
            ),
            Right(
                r"A head could look $k$ places back with one fixed $W_q$ and $W_k$, whatever the position",
                r"$M_k$ is a rotation in each pair of features, so $PE(p)^\top M_k^\top PE(p')$ is largest at "
                r"$p' = p + k$. Whether training finds that is another question.",
            ),
            Wrong(
                "Positions need no parameters",
                "True, but it follows from computing them. A learned table would have parameters and no such matrix.",
            ),
        ],
    ),
]
