"""Where the 65 million sit: count a Transformer's parameters from its sizes."""

import torch
from torch import nn

from ....mechanisms.transformer import Transformer
from ...engine.core import Case, Exercise, Misconception, Output


def count_parameters(vocabulary, d_model, d_ff, layers, heads):
    attention = 4 * (d_model * d_model + d_model)  # W_q, W_k, W_v, W_o and their biases
    feed_forward = d_model * d_ff + d_ff + d_ff * d_model + d_model
    norm = 2 * d_model  # gain and bias
    encoder = attention + feed_forward + 2 * norm
    decoder = 2 * attention + feed_forward + 3 * norm
    return vocabulary * d_model + layers * (encoder + decoder)


def _by_building(vocabulary, d_model, d_ff, layers, heads):
    with torch.device("meta"):  # shapes without numbers
        table = nn.Embedding(vocabulary, d_model)
        model = Transformer(table, table, layers, heads, d_ff)
    return sum(p.numel() for p in model.parameters())


def _by_shapes(vocabulary, d_model, d_ff, layers, heads):
    square, wide, tall, vector = (d_model, d_model), (d_model, d_ff), (d_ff, d_model), (d_model,)
    look = 4 * [square, vector] + 2 * [vector]  # each sub-layer is closed by a norm
    think = [wide, (d_ff,), tall, vector, vector, vector]
    shapes = [(vocabulary, d_model), *(layers * (3 * look + 2 * think))]
    return sum(torch.Size(shape).numel() for shape in shapes)


def _case(kind, vocabulary, d_model, d_ff, layers, heads):
    sizes = {"vocabulary": vocabulary, "d_model": d_model, "d_ff": d_ff, "layers": layers, "heads": heads}
    return Case(kind, sizes)


def _cases(seed):
    odd = 1_000 + 7 * (seed % 100)
    return [
        _case("the paper's base model with 37,000 symbols", 37_000, 512, 2_048, 6, 8),
        _case("the translator of this chapter, with one table for both languages", 763, 128, 256, 2, 4),
        _case("another size", odd, 96, 160, 3, 6),
        _case("a single head", odd + 1, 64, 256, 2, 1),
        _case("a single layer", 50, 8, 24, 1, 2),
        _case("no layer at all", 100, 16, 32, 0, 4),
    ]


def _version(attention=4, biases=True, norms=(2, 3), looks=(1, 2), tables=1, per_head=False, stacks=(1, 1), more=0,
             hidden=True, gains=2, asked=True):  # fmt: skip
    """The count with one idea changed."""

    def version(vocabulary, d_model, d_ff, layers, heads):
        look = attention * (d_model**2 + (biases and asked) * d_model) * (heads if per_head else 1)
        think = 2 * d_model * d_ff + biases * (d_ff * hidden + d_model)
        encoder = looks[0] * look + think + norms[0] * gains * d_model
        decoder = looks[1] * look + think + norms[1] * gains * d_model
        table = tables * vocabulary * d_model + more * vocabulary
        return table + layers * (stacks[0] * encoder + stacks[1] * decoder)

    return version


def _with_positions(vocabulary, d_model, d_ff, layers, heads, places=512):
    return count_parameters(vocabulary, d_model, d_ff, layers, heads) + places * d_model


def _with_last_norms(vocabulary, d_model, d_ff, layers, heads):
    return count_parameters(vocabulary, d_model, d_ff, layers, heads) + 2 * 2 * d_model


def _layers_in_all(vocabulary, d_model, d_ff, layers, heads):
    half = count_parameters(0, d_model, d_ff, layers, heads)
    return vocabulary * d_model + half // 2


def _head_sized(vocabulary, d_model, d_ff, layers, heads):
    """Matrices D × Dh, but one head only."""
    small = d_model // heads
    look = 3 * (d_model * small + small) + d_model * d_model + d_model
    think = 2 * d_model * d_ff + d_ff + d_model
    return vocabulary * d_model + layers * (3 * look + 2 * think + 5 * 2 * d_model)


EXERCISE = Exercise(
    id="transformer.parameters",
    title="Count the parameters",
    points=2,
    task=r"""
How many numbers does a Transformer learn? Count, from its sizes, those of the model as the paper builds it:

- one table of `vocabulary` × `d_model`, shared by source, target and output, which has no bias of its own;
- `layers` encoder layers: self-attention, position-wise network, a layer norm after each of the two;
- `layers` decoder layers: self-attention, cross-attention, position-wise network, a layer norm after each of the three;
- an attention has $W_q, W_k, W_v, W_o$ with biases; `heads` heads share `d_model` among them;
- the position-wise network has two layers with biases, `d_model` → `d_ff` → `d_model`;
- a layer norm has a gain and a bias for each feature. Position encodings are sinusoids.

| argument | |
|---|---|
| `vocabulary`, `d_model`, `d_ff`, `layers`, `heads` | int |
| returns | int |
""",
    stub="""
def count_parameters(vocabulary, d_model, d_ff, layers, heads):
    ...  # your code: a whole number
""",
    hints=(
        "Count one attention, one position-wise network and one norm. The rest is adding up: how many of each has an "
        "encoder layer, how many a decoder layer?",
        "$H$ matrices of $D \\times D_h$ side by side are one matrix of $D \\times D$. So what does the number of "
        "heads do to the count?",
        "attention $4(D^2 + D)$, network $2 D D_{ff} + D_{ff} + D$, norm $2D$. Encoder 1, 1, 2 of them; decoder 2, 1, "
        "3. Plus one table.",
    ),
    solution=count_parameters,
    spellings=(_by_building, _by_shapes),
    axes={},
    returns=(Output("parameters", ""),),
    cases=_cases,
    wrong=(
        Misconception(
            "every head has matrices of full size",
            "Your count grows with the number of heads. The heads *share* d_model: each projects to "
            "$D_h = D/H$ features, and H such matrices side by side are one of $D \\times D$. Heads cost nothing.",
            (_version(per_head=True),),
        ),
        Misconception(
            "one head is counted for all",
            "Your count shrinks as heads are added: you counted the $D \\times D_h$ matrices of one head. There are H "
            "heads, so together they are $D \\times D$ again.",
            (_head_sized,),
        ),
        Misconception(
            "the decoder has no cross-attention",
            "Your decoder layer holds one attention. It has two, one over what is written and one over the source, "
            "and a norm after each.",
            (_version(looks=(1, 1)), _version(looks=(1, 1), norms=(2, 2))),
        ),
        Misconception(
            "biases are left out",
            "You counted matrices only. Every linear layer here has a bias, also the hidden one of the position-wise "
            "network. It is little, but a count is exact.",
            (
                _version(biases=False),
                _version(biases=False, norms=(0, 0)),
                _version(asked=False),
                _version(asked=False, norms=(0, 0)),
                _version(hidden=False),
            ),
        ),
        Misconception(
            "layer norms are left out",
            "A norm learns a gain and a bias for each feature, $2D$ numbers; there are two in an encoder layer and "
            "three in a decoder layer.",
            (_version(norms=(0, 0)),),
        ),
        Misconception(
            "a norm closes each stack",
            "You have one norm more in each stack. That is the *pre-norm* arrangement, where nothing normalises the "
            "last residual; in the paper's every layer ends in a norm already.",
            (_with_last_norms,),
        ),
        Misconception(
            "a norm learns a gain only",
            "You counted $D$ numbers a norm. It has a gain *and* a bias, $2D$.",
            (_version(gains=1),),
        ),
        Misconception(
            "the table is counted more than once",
            "Source, target and output share one table here. Counting it two or three times adds as much as several "
            "layers: with 37,000 symbols and 512 features a table holds 19 million.",
            (_version(tables=2), _version(tables=3), _version(tables=2, more=1), _version(tables=3, more=1)),
        ),
        Misconception(
            "the table is left out",
            "You counted the layers only. The table of embeddings is nearly a third of the base model.",
            (_version(tables=0),),
        ),
        Misconception(
            "$W_o$ is left out",
            "An attention has four matrices: three that project before the look, and $W_o$, which mixes the heads "
            "after it.",
            (_version(attention=3),),
        ),
        Misconception(
            "positions are counted",
            "Sinusoids are computed, not learned: they have no parameters. (Models that learn a vector for each "
            "position do.)",
            (_with_positions, lambda **sizes: _with_positions(**sizes, places=5_000)),
        ),
        Misconception(
            "`layers` is taken for both stacks together",
            "There are `layers` encoder layers *and* `layers` decoder layers: the base model's 6 are 12 in all.",
            (_layers_in_all,),
        ),
        Misconception(
            "one stack only",
            "You counted the encoder, or the decoder. A translator has both.",
            (_version(stacks=(1, 0)), _version(stacks=(0, 1))),
        ),
        Misconception(
            "the output has a bias",
            "You added one number for each symbol. The output layer here is the table itself, without a bias.",
            (_version(more=1),),
        ),
    ),
)
