"""Chapter 01: attention that nobody wrote down."""

from . import Numeric, Right, SingleChoice, Wrong

QUESTIONS = [
    Numeric(
        "slope",
        r"By hand: $S = \mathrm{relu}(2x_1 - x_2) + 3\,\mathrm{relu}(x_2 - 4)$ at $x = (3, 2)$. "
        r"What is the gradient × input of $x_1$, that is $x_1 \cdot \partial S / \partial x_1$?",
        answer=6.0,
        right=r"The first unit is on ($6 - 2 > 0$), the second off ($2 - 4 < 0$), so $\partial S/\partial x_1 = 2$, "
        r"and $3 \cdot 2 = 6$.",
        wrong=r"Which of the two units is switched on at this $x$? Only it passes a slope; then multiply by $x_1$.",
        tolerance=0.02,
        traps={
            2.0: r"That is $\partial S/\partial x_1$ itself, the saliency of $x_1$. Gradient × input multiplies by "
            r"$x_1 = 3$.",
            4.0: r"That is the score $S$, the value of the unit that is on: $2 \cdot 3 - 2$.",
            -2.0: r"That belongs to $x_2$: $x_2 \cdot \partial S/\partial x_2 = 2 \cdot (-1)$; the second unit is off.",
        },
    ),
    SingleChoice(
        "passes",
        "A network reads images of 1,600 pixels and gives 10 scores. You want the whole Jacobian of one image. "
        "What is the fewest passes that get it?",
        [
            Right(
                "10, in reverse mode",
                r"One backward pass gives $J^\top u$; with a unit vector $u$ that is a row, and there are ten rows.",
            ),
            Wrong(
                "1,600, in forward mode",
                "Forward mode gives a column at a time, one for each input. It is the right choice where there are "
                "fewer inputs than outputs.",
            ),
            Wrong(
                "1: one call of `backward()`",
                "One call gives one row, or with `scores.sum()` the sum of all rows. The rows cannot be told apart "
                "afterwards.",
            ),
            Wrong(
                "16,000, one for each entry",
                "So many finite differences one would need if the network could only be asked for scores, and even "
                "then 1,601 questions would do: one moved pixel moves all ten scores at once.",
            ),
        ],
    ),
    SingleChoice(
        "score",
        r"The network gives a 3 the probability 0.9999. Somebody computes the saliency map of the *probability* "
        r"instead of the score. What do they see?",
        [
            Wrong(
                "The same map: softmax keeps the order of the scores",
                "It keeps the order of the classes, not the slopes. Each pixel's slope is multiplied and mixed with "
                "those of the other nine scores.",
            ),
            Right(
                "Nearly nothing: where the network is certain, its probability is flat",
                r"$\partial p_c = p_c\,(\partial S_c - \sum_k p_k\,\partial S_k)$, and with $p_c \approx 1$ the two "
                r"terms cancel. What remains is about the other classes.",
            ),
            Wrong(
                "The same map, but brighter",
                r"The factor in front is $p_c (1 - p_c)$ where only two classes compete: at most a quarter, here one "
                r"in ten thousand.",
            ),
        ],
    ),
    SingleChoice(
        "gradcam",
        "What does a Grad-CAM map show, and at which resolution?",
        [
            Wrong(
                "The gradient of the score at each input pixel",
                "That is a saliency map. Grad-CAM never goes below the layer that it is asked at.",
            ),
            Right(
                "Features of a layer, each weighted by the mean slope of the score over its places; at the layer's "
                "resolution",
                "The slopes say which features matter for the class, the features say where they were found. Enlarging "
                "the map adds pixels, not knowledge.",
            ),
            Wrong(
                "How far the score falls when a place is covered",
                "That is occlusion: it needs no gradient and as many forward passes as there are windows.",
            ),
            Wrong(
                "The attention weights of the layer, summing to one",
                "There are none. The map is cut off at zero and sums to whatever it sums to.",
            ),
        ],
    ),
    SingleChoice(
        "sanity",
        "A new kind of map points at the digit in 100% of lonely digits on a dark ground. What follows?",
        [
            Wrong(
                "It shows what the network looks at",
                "The image itself, used as a map, also points at the digit in 100%, and no network is in it.",
            ),
            Wrong(
                "The network is accurate",
                "An untrained network gets the same score with gradient × input: the ground is zero, whatever it is "
                "multiplied by.",
            ),
            Right(
                "Nothing yet: see what it does among clutter, and what becomes of it when the weights are random",
                "A map has to do better than one that ignores the network, and has to change when the network does.",
            ),
            Wrong(
                "It is better than saliency, which points at the digit less often",
                "On a task that an edge detector solves, the order says nothing about the maps.",
            ),
        ],
    ),
]
