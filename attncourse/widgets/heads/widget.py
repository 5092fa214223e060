"""The trained Transformer, live: write a sentence of the grammar, see where every head of every layer looks."""

import torch
import traitlets

from ...core.symbols import shift_right
from ...mechanisms.transformer import Maps
from .. import bundle
from ..base import ZooWidget

KINDS = ("encoder", "decoder", "cross")
EXAMPLES = [  # the first three are held out
    "the old black cat does not forget the beautiful houses",
    "all the japanese political answers are important",
    "the honest italian soldier sells her big english knife",
    "she rarely returns to the library",
    "the agreement on the european economic area was signed in august 1992",
]


class Heads(ZooWidget):
    """transformer-translation, decoding greedily in the browser, with the weights of all layers and heads.

    `text` is what is read and `output` what was written last; `kind` (encoder, decoder, cross), `layer`, `head` and
    `row` choose what is shown large. All may be set and watched from Python. The first screen shows `example`,
    computed here by PyTorch, so that it stands there before any weights are loaded.
    """

    _esm = bundle.esm("heads")
    _css = bundle.css("heads")

    challenge = traitlets.Unicode(
        "Find a head with a job that you can name, then change the sentence and see whether it keeps to it."
    ).tag(sync=True)
    zoo = traitlets.Unicode("transformer-translation", read_only=True).tag(sync=True)
    text = traitlets.Unicode(EXAMPLES[0]).tag(sync=True)
    output = traitlets.Unicode().tag(sync=True)
    kind = traitlets.Enum(KINDS, "cross").tag(sync=True)
    layer = traitlets.Int(1, min=0).tag(sync=True)
    head = traitlets.Int(0, min=0).tag(sync=True)
    row = traitlets.Int(1, min=0).tag(sync=True)
    example = traitlets.Dict().tag(sync=True)  # text, output, maps: {kind: (L, H, Tq, Tk)}
    examples = traitlets.List(EXAMPLES).tag(sync=True)
    english = traitlets.Unicode(read_only=True).tag(sync=True)  # the vocabularies, words between spaces
    french = traitlets.Unicode(read_only=True).tag(sync=True)
    layers = traitlets.Int(read_only=True).tag(sync=True)
    heads = traitlets.Int(read_only=True).tag(sync=True)
    trained_length = traitlets.Int(10, read_only=True).tag(sync=True)  # English words
    limit = traitlets.Int(16, read_only=True).tag(sync=True)  # further words are not read

    def __init__(self, **traits):
        from ... import zoo

        super().__init__(**traits)
        config = zoo.card(self.zoo)["config"]
        for name in ("english", "french", "layers", "heads"):
            self.set_trait(name, config[name])
        words = self.text.lower().split()
        if words and {*words} <= {*self.english.split()}:
            self.output, maps = self.run()
            rounded = {k: [[[[round(w, 3) for w in row] for row in head] for head in layer] for layer in m]
                       for k, m in zip(KINDS, (m[0].tolist() for m in maps), strict=True)}  # fmt: skip
            self.example = {"text": " ".join(words[: self.limit]), "output": self.output, "maps": rounded}

    @torch.no_grad()
    def run(self) -> tuple[str, Maps]:
        """By PyTorch what the page shows: the translation of `text`, and the weights while it was written."""
        from ... import zoo
        from ...zoo.translation import translate, words

        model, card = zoo.load(self.zoo)
        english, french = words(card["config"])
        sentence = self.text.lower().split()[: self.limit]
        [output], looked = translate(model, [sentence], card["config"])
        target, _ = french.encode([output.split()])  # closed by END
        steps = looked.shape[1]  # without END, if the model never wrote it
        return output, model.weights(*english.encode([sentence]), shift_right(target)[:, :steps])

    @traitlets.validate("layer", "head")
    def _check(self, proposal):
        name, value = proposal["trait"].name, proposal["value"]
        size = getattr(self, f"{name}s")
        if size and value >= size:
            raise traitlets.TraitError(f"this model has {name}s 0 to {size - 1}; this one is {value}")
        return value
