"""The family of attention: every mechanism of the course once, as data for the map; none is implemented here."""

from dataclasses import dataclass

import numpy as np

from . import course

LANES = ["before attention", "sequence to sequence", "looking", "self-attention", "memory", "beyond text"]
PROPERTIES = {  # a mechanism has none, one or several of each
    "read": {"soft": "an expectation over all", "hard": "a choice of one"},
    "looks at": {"items": "by what they hold", "places": "by where they are"},
    "reach": {"global": "everything", "local": "a part"},
    "score": {
        "content": r"$\beta \cos(q, k_j)$",
        "additive": r"$v^\top \tanh(W_q q + W_k k_j)$",
        "location": r"$(W q)_j$, no look at $k$",
        "general": r"$q^\top W k_j$",
        "dot": r"$q^\top k_j$",
        "scaled dot": r"$q^\top k_j / \sqrt{d_k}$",
    },
}
SOURCES = {  # score -> who, key in references.bib
    "content": ("Graves et al. 2014, with a strength β", "graves2014"),
    "additive": ("Bahdanau et al. 2015; Luong et al. call it concat", "bahdanau2015"),
    "location": ("Luong et al. 2015", "luong2015"),
    "general": ("Luong et al. 2015, also called multiplicative", "luong2015"),
    "dot": ("Luong et al. 2015, for equal sizes", "luong2015"),
    "scaled dot": ("Vaswani et al. 2017", "vaswani2017"),
}


@dataclass(frozen=True)
class Mechanism:
    """One node of the map. `when`: the first public version, in years; `row`: where it is drawn in its lane."""

    name: str
    short: str  # on the map
    when: float
    lane: int
    row: int
    cite: str  # key in references.bib
    home: str  # the name of its chapter
    section: str  # the anchor of a heading there
    adds: str
    kinds: str = ""  # any of the words in PROPERTIES, with commas
    took: tuple[tuple[str, str], ...] = ()  # (from whom, what)

    def has(self, property: str) -> list[str]:
        words = [word.strip() for word in self.kinds.split(",")]
        return [word for word in PROPERTIES[property] if word in words]

    @property
    def page(self) -> str:
        """Its chapter's notebook."""
        return course.read().chapter(self.home).id

    @property
    def chapter(self) -> int:
        return course.read().chapter(self.home).number


ITEM = "soft, items, global"
MECHANISMS = [
    Mechanism("Kernel smoothing", "kernel smoothing", 1964, 1, 0, "nadaraya1964", "query_key_value",
        "attention-is-kernel-smoothing", "a mean of values, weighed by how near their keys are", ITEM),
    Mechanism("Sequential Jacobian", "sequential Jacobian", 2012.0, 0, 1, "graves2012", "sequential_jacobian",
        "the-equation-and-its-names-in-the-code", "how strongly each output reacts to each input; nothing is built in"),
    Mechanism("Saliency maps", "saliency", 2013.95, 0, 0, "simonyan2013", "implicit_attention", "one-row-is-enough",
        "the derivative of a score at every pixel"),
    Mechanism("Encoder–decoder", "encoder–decoder", 2014.45, 1, 1, "cho2014", "bottleneck",
        "the-equations-and-their-names-in-the-code", "a whole sentence in one vector; nobody looks at anything"),
    Mechanism("Recurrent attention model", "RAM", 2014.45, 2, 0, "mnih2014", "hard_attention",
        "the-model-and-its-names-in-the-code", "glimpses at places that are drawn, trained by REINFORCE",
        "hard, places, local"),
    Mechanism("RNNsearch", "Bahdanau", 2014.7, 1, 0, "bahdanau2015", "bahdanau",
        "the-equations-and-their-names-in-the-code", "a look at all annotations before every symbol",
        f"{ITEM}, additive",
        (("Encoder–decoder", "the encoder and the decoder"), ("Kernel smoothing", "the weighted mean"))),
    Mechanism("Neural Turing Machine", "NTM", 2014.8, 4, 0, "graves2014", "ntm", "the-four-stages-one-at-a-time",
        "a memory that is written, too; addressed by content and by steps", f"{ITEM}, places, content"),
    Mechanism("Show, attend and tell, soft", "Show Attend Tell", 2015.12, 2, 2, "xu2015", "show_attend_tell",
        "the-equations-and-their-names-in-the-code", "a gated look at the places of an image before every word",
        f"{ITEM}, additive", (("RNNsearch", "the additive look before every symbol"),)),
    Mechanism("Show, attend and tell, hard", "…, hard", 2015.12, 2, 3, "xu2015", "show_attend_tell",
        "hard-the-same-decoder-with-another-read", "one place is drawn instead of a mixture of all",
        "hard, items, global, additive",
        (("Show, attend and tell, soft", "all but the read"), ("Recurrent attention model", "REINFORCE"))),
    Mechanism("DRAW's read", "DRAW", 2015.15, 2, 1, "gregor2015", "hard_attention", "four-kinds-on-the-same-image",
        "a grid of Gaussians: where to look, softly", "soft, places, local",
        (("Neural Turing Machine", "reading and writing that can be differentiated"),)),
    Mechanism("End-to-end memory networks", "MemN2N", 2015.25, 4, 1, "sukhbaatar2015", "memory_networks",
        "one-hop-then-several", "several looks in a row: what is read changes the next question", f"{ITEM}, dot",
        (("RNNsearch", "the soft look, though not its score"),)),
    Mechanism("Reinforcement-learning NTM", "RL-NTM", 2015.35, 4, 0, "zaremba2015", "ntm", "a-head-that-jumps",
        "a head that stands on one cell and moves", "hard, places, local",
        (("Neural Turing Machine", "a memory with heads"), ("Recurrent attention model", "REINFORCE"))),
    Mechanism("Attentive reader", "attentive reader", 2015.45, 4, 2, "hermann2015", "memory_networks",
        "the-one-hop-cousin", "a question looks at every word of a text, once", f"{ITEM}, additive",
        (("RNNsearch", "the additive look"),)),
    Mechanism("Spatial transformer", "spatial transformer", 2015.45, 2, 0, "jaderberg2015", "hard_attention",
        "four-kinds-on-the-same-image", "a window that is turned and scaled, read by bilinear weights",
        "soft, places, local"),
    Mechanism("Pointer networks", "pointer networks", 2015.45, 5, 0, "vinyals2015pointer", "pointer_networks",
        "the-equation-and-its-names-in-the-code",
        "the weights are the answer; nothing is read", "items, global, additive",
        (("RNNsearch", "the additive score"),)),
    Mechanism("Luong, global", "Luong, global", 2015.6, 1, 1, "luong2015", "luong", "the-score-a-loop-first",
        "dot, general and location beside the additive score; the current state asks",
        f"{ITEM}, places, dot, general, additive, location", (("RNNsearch", "the look at every step"),)),
    Mechanism("Luong, local", "Luong, local", 2015.6, 1, 0, "luong2015", "luong", "the-scope-a-window-that-moves",
        "a window: its centre is chosen, inside it the look is soft", "soft, hard, items, places, local, dot, general",
        (("Luong, global", "the scores"),)),
    Mechanism("LSTMN", "LSTMN", 2016.07, 3, 0, "cheng2016", "self_attention",
        "self-attention-inside-a-recurrent-network", "a recurrent network looks back at its own states",
        f"{ITEM}, additive", (("RNNsearch", "the additive look"),)),
    Mechanism("Hierarchical attention", "HAN", 2016.45, 3, 1, "yang2016", "self_attention",
        "levels-words-sentences-documents", "a learned query; first over words, then over sentences",
        f"{ITEM}, additive", (("RNNsearch", "weights over the states of a bidirectional GRU"),)),
    Mechanism("Grad-CAM", "Grad-CAM", 2016.77, 0, 0, "selvaraju2017", "implicit_attention",
        "grad-cam-ask-the-features-not-the-pixels", "the derivative at a feature map instead of the pixels", "",
        (("Saliency maps", "the derivative of a class's score"),)),
    Mechanism("WaveNet", "WaveNet", 2016.7, 0, 2, "oord2016", "sequential_jacobian",
        "four-architectures-four-pictures", "causal convolutions whose taps lie further apart in every layer",
        "soft, places, local"),
    Mechanism("ByteNet", "ByteNet", 2016.83, 0, 1, "kalchbrenner2016", "sequential_jacobian",
        "four-architectures-four-pictures", "translation by dilated convolutions, whose weights ignore the content",
        "soft, places, local", (("WaveNet", "dilated causal convolutions"),
                                ("Encoder–decoder", "one network that reads and one that writes"))),
    Mechanism("Transformer", "Transformer", 2017.45, 3, 0, "vaswani2017", "transformer", "heads-a-loop-first",
        "several scaled looks side by side, stacked, and no recurrence", f"{ITEM}, scaled dot",
        (("RNNsearch", "a decoder that looks at the whole source"), ("Luong, global", "the dot product"),
         ("LSTMN", "a sequence that looks at itself"), ("ByteNet", "an encoder and a decoder without recurrence"),
         ("End-to-end memory networks", "keys and values that are made apart, and several looks in a row"))),
    Mechanism("SNAIL", "SNAIL", 2017.53, 5, 0, "mishra2018", "snail",
        "picking-an-attention-that-does-not-leak",
        "causal looks between dilated convolutions, to learn from a few examples", f"{ITEM}, scaled dot",
        (("WaveNet", "dilated causal convolutions"), ("Transformer", "the causal scaled look"))),
    Mechanism("Non-local block", "non-local", 2017.9, 5, 1, "wang2018", "sagan", "the-same-in-the-package",
        "every place of an image looks at all others", f"{ITEM}, dot", (("Transformer", "self-attention"),)),
    Mechanism("SAGAN", "SAGAN", 2018.4, 5, 0, "zhang2019", "sagan",
        "the-equation-and-its-names-in-the-code",
        "a non-local block in generator and discriminator, behind a gate that starts at zero", f"{ITEM}, dot",
        (("Non-local block", "the block"),)),
]  # fmt: skip


def column(when: float) -> float:
    """The years before 2014 are few and far between, and most of the family is from 2014 and 2015."""
    return float(np.interp(when, [1964, 2012, 2014, 2016, 2018.6], [0, 0.8, 1.5, 6, 10]))


YEARS = [(year, column(year)) for year in (1964, 2012, 2014, 2015, 2016, 2017, 2018)]


def tops() -> list[float]:
    """The first row of each lane, from the top of the map, and where the last one ends; some space between them."""
    high = [1.6 + max(m.row for m in MECHANISMS if m.lane == lane) for lane in range(len(LANES))]
    return [sum(high[:lane]) for lane in range(len(LANES) + 1)]


def height(m: Mechanism) -> float:
    return tops()[m.lane] + m.row


def address(m: Mechanism) -> str:
    """The section that builds the mechanism, as notebooks link to it."""
    return f"{m.page}.ipynb#{m.section}"


def draw(ax) -> None:
    """The map for paper: a name at its time and in its lane, an arrow to it from each that it took something from."""
    from .running import plots

    colours = {"items": plots.COLOURS[0], "places": plots.COLOURS[1], "": plots.COLOURS[6]}
    at = {m.name: (column(m.when), height(m), 0.16 + 0.038 * len(m.short)) for m in MECHANISMS}  # x, y, half its width
    for m in MECHANISMS:
        for giver, _ in m.took:
            line = {"arrowstyle": "-|>", "color": "#8a8f98", "lw": 0.8, "shrinkA": 0, "shrinkB": 0}
            start, end, style = _ends(at[giver], at[m.name])
            ax.annotate("", end, start, arrowprops=line | {"connectionstyle": style}, zorder=1)
    for m in MECHANISMS:
        look = {"ec": colours["".join(m.has("looks at")[:1])], "ls": "--" if "hard" in m.has("read") else "-"}
        box = {"boxstyle": "round,pad=0.28", "fc": "white", "lw": 1.4} | look
        ax.text(*at[m.name][:2], m.short, ha="center", va="center", fontsize=7.2, bbox=box)
    for name, top in zip(LANES, tops(), strict=False):
        ax.text(-0.9, top - 0.55, name, fontsize=7, color="#565c68", style="italic")
    ax.set_xticks([x for _, x in YEARS], [year for year, _ in YEARS], fontsize=7)
    ax.set(xlim=(-0.9, 10.4), ylim=(tops()[-1] - 0.8, -0.9), yticks=[], title="Who took what from whom?")
    ax.spines["left"].set_visible(False)


def _ends(start: tuple[float, float, float], end: tuple[float, float, float]):
    """From box to box, sideways if they are side by side, else from below or above.    -> point, point, style"""
    (x1, y1, half1), (x2, y2, half2) = start, end
    if abs(y1 - y2) < 1.2 and x2 - half2 > x1 + half1:
        return (x1 + half1, y1), (x2 - half2, y2), "arc3,rad=0"
    down = 0.3 if y2 > y1 else -0.3
    return (x1, y1 + down), (x2, y2 - down), "arc3,rad=0.12"
