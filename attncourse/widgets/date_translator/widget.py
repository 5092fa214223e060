"""Type a date in one of seventeen languages; the trained RNNsearch writes it as ISO 8601 in the page itself."""

import traitlets

from .. import bundle
from ..base import ZooWidget

EXAMPLES = [  # language tag, button, date
    ("de", "Deutsch", "Dienstag, 14. März 1995"),
    ("ja", "日本語", "2031年8月27日水曜日"),
    ("el", "Ελληνικά", "Κυριακή 20 Ιουλίου 1969"),
    ("ru", "Русский", "12 апреля 1961 г."),
    ("pt", "Português", "quinta-feira, 25 de abril de 1974"),
    ("hu", "Magyar", "1989. október 23., hétfő"),
]


class DateTranslator(ZooWidget):
    """bahdanau-dates, decoding greedily in the browser, with its alignment.

    `text` is what is read and `output` what was written last; both may be watched from Python. The first
    screen shows `example`, computed here by PyTorch, so that it stands there before any weights are loaded.
    """

    _esm = bundle.esm("date_translator")
    _css = bundle.css("date_translator")

    challenge = traitlets.Unicode("Make it fail: write a date that it misreads.").tag(sync=True)
    zoo = traitlets.Unicode("bahdanau-dates", read_only=True).tag(sync=True)
    text = traitlets.Unicode("mardi 5 mars 2024").tag(sync=True)
    output = traitlets.Unicode().tag(sync=True)
    example = traitlets.Dict().tag(sync=True)  # text as the model reads it, output, weights (T, S)
    examples = traitlets.List([list(e) for e in EXAMPLES]).tag(sync=True)
    alphabet = traitlets.Unicode().tag(sync=True)
    target = traitlets.Unicode().tag(sync=True)
    trained_length = traitlets.Int(39).tag(sync=True)  # the longest date of the training data
    limit = traitlets.Int(80).tag(sync=True)  # further characters are not read

    def __init__(self, **traits):
        from ... import zoo
        from ...tasks import dates
        from ...zoo.dates import translate

        super().__init__(**traits)
        model, card = zoo.load(self.zoo)
        self.alphabet, self.target = card["config"]["alphabet"], dates.TARGET.characters
        text = dates.normalise(self.text)[: self.limit]
        if text:
            outputs, weights = translate(model, [text], self.alphabet)
            rounded = [[round(w, 4) for w in row] for row in weights[0].tolist()]
            self.example = {"text": text, "output": outputs[0], "weights": rounded}
            self.output = outputs[0]
