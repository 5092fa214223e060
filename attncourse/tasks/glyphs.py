"""Few-shot characters: the letters of fifteen scripts that matplotlib's DejaVu fonts truly have.

A class is a letter; a drawer is one of the font's styles (sans, serif, mono, bold, slanted), a small affine change,
a bend and a pen. The scripts of TEST are never trained on. As Omniglot (Lake et al. 2015), and without a download.
"""

import os
import unicodedata
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import NamedTuple

import matplotlib
import numpy as np
import torch
import torch.nn.functional as F
from matplotlib.ft2font import FT2Font
from safetensors.torch import load, save
from torch import Tensor

from .geometry import folder

# Split before any model was trained. Latin, Greek, Cyrillic, Coptic, Old Italic and Lisu share many shapes, so they
# stand on one side; so do Arabic's and the Canadian syllabics' many variants of one form, which make good practice.
TRAIN = "LATIN GREEK CYRILLIC COPTIC OLD_ITALIC LISU CANADIAN_SYLLABICS ARABIC TIFINAGH OGHAM".split()
TEST = "ARMENIAN GEORGIAN HEBREW LAO NKO".split()
SIDE, INK = 28, 20  # pixels of an image, and of the longer side of its letter
ALIKE = 0.9  # two letters whose blurred images have a larger cosine than this are one
VERSION = 1  # of the images: a new one makes the file on disk anew


class Glyphs(NamedTuple):
    """Letters in all styles, one after the other: those of letter c are images[first[c] : first[c] + styles[c]]."""

    images: Tensor  # (M, 28, 28) uint8, 0 = ground, 255 = ink; the letter fills 20 pixels and stands in the middle
    first: Tensor  # (C,)
    styles: Tensor  # (C,)
    codes: Tensor  # (C,) the letters' code points
    scripts: Tensor  # (C,) index into TRAIN + TEST


class Episodes(NamedTuple):
    """B small tasks: N·K labelled shots in random order, then queries, each of which is asked by itself."""

    images: Tensor  # (B, N·K + Q, 28, 28) float, 0 = ground, 1 = ink: the shots, then the queries
    labels: Tensor  # (B, N·K + Q) int below N: the labels are drawn afresh in each episode
    classes: Tensor  # (B, N) which letter has which label, an index into the Glyphs


def letters(font: FT2Font) -> dict[int, str]:
    """What the font really has: code point -> script. No accents, ligatures or presentation forms."""
    found = {}
    for code in sorted(code for code, glyph in font.get_charmap().items() if glyph):  # glyph 0 is the empty box
        char, name = chr(code), unicodedata.name(chr(code), "").replace(" ", "_")
        script = next((s for s in TRAIN + TEST if name.startswith(s + "_")), None)
        plain = unicodedata.category(char) in ("Lo", "Lu", "Ll") and unicodedata.normalize("NFKD", char) == char
        if script and plain:
            found[code] = script
    return found


def draw_letter(font: FT2Font, code: int) -> Tensor | None:
    """The letter, its longer side INK pixels, in the middle.    -> (28, 28) uint8, or None where nothing is drawn"""
    font.set_text(chr(code))
    font.draw_glyphs_to_bitmap(antialiased=True)
    ink = np.array(font.get_image())  # a copy: the font uses its bitmap again
    rows, columns = (np.flatnonzero(ink.any(axis)) for axis in (1, 0))
    if not len(rows):
        return None
    ink = torch.from_numpy(ink[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]).float()
    height, width = (max(1, round(n * INK / max(ink.shape))) for n in ink.shape)
    small = F.interpolate(ink[None, None], size=(height, width), mode="bilinear", antialias=True)[0, 0]
    image, top, left = small.new_zeros(SIDE, SIDE), (SIDE - height) // 2, (SIDE - width) // 2
    image[top : top + height, left : left + width] = small
    return image.round().clamp(0, 255).to(torch.uint8)


def distinct(images: Tensor) -> list[int]:
    """Which of these stay when whatever looks like an earlier one goes.    images (C, 28, 28) -> indices"""
    soft = F.avg_pool2d(images[:, None].float(), 3, 1, 1).flatten(1)  # (C, 784)
    alike = (F.normalize(soft) @ F.normalize(soft).mT > ALIKE).tril(-1)  # (C, C)
    kept: list[int] = []
    for c in range(len(images)):
        if not alike[c, kept].any():
            kept.append(c)
    return kept


def render() -> Glyphs:
    """All letters of the plain font that differ, in its style and all others that have them.

    Training scripts come first: of two letters that look alike (Latin O, Armenian Օ) the later one goes, so that
    no letter of a test script looks like one that was trained on.
    """
    path = Path(matplotlib.get_data_path(), "fonts", "ttf")
    fonts = [FT2Font(str(f), hinting_factor=1) for f in path.glob("DejaVuS*.ttf") if "Display" not in f.name]
    fonts.sort(key=lambda font: (font.family_name != "DejaVu Sans", font.style_name != "Book", font.postscript_name))
    for font in fonts:
        font.set_size(36, 72)
    script, order = letters(fonts[0]), TRAIN + TEST
    plain = {code: draw_letter(fonts[0], code) for code in sorted(script, key=lambda code: order.index(script[code]))}
    codes = [code for code, image in plain.items() if image is not None]
    codes = [codes[i] for i in distinct(torch.stack([plain[code] for code in codes]))]
    has = [font.get_charmap().keys() for font in fonts]
    drawn = [[draw_letter(f, code) for f, known in zip(fonts, has, strict=True) if code in known] for code in codes]
    drawn = [[image for image in styles if image is not None] for styles in drawn]
    styles = torch.tensor([len(images) for images in drawn])
    scripts = torch.tensor([order.index(script[code]) for code in codes])
    images = torch.stack([image for styles in drawn for image in styles])
    return Glyphs(images, styles.cumsum(0) - styles, styles, torch.tensor(codes), scripts)


@cache
def glyphs() -> Glyphs:
    """`render`, once a machine: kept on disk. A damaged file is made anew, a folder that is read-only done without."""
    file = folder() / f"glyphs-v{VERSION}-matplotlib-{matplotlib.__version__}.safetensors"
    try:
        return Glyphs(**load(file.read_bytes()))
    except Exception:  # not there, cut short, or made by something else: all the same
        made = render()
    with suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        temporary = file.with_name(f"{file.name}.{os.getpid()}.tmp")
        temporary.write_bytes(save(made._asdict()))
        os.replace(temporary, file)
    return made


def classes(test: bool = False) -> Tensor:
    """The letters of the training scripts, or of the test scripts.    -> (C,) indices into the Glyphs"""
    return torch.nonzero((glyphs().scripts >= len(TRAIN)) == test)[:, 0]


def name(c: int) -> str:
    """Letter c by its Unicode name: "GEORGIAN LETTER AN"."""
    return unicodedata.name(chr(int(glyphs().codes[c])))


def by_hand(images: Tensor, rng: torch.Generator, strength: float = 1.0) -> Tensor:
    """Another drawer for every image: turned, sheared, stretched, moved and bent a little, with a wider or finer pen.

    images (N, 28, 28) in [0, 1] -> (N, 28, 28)
    """
    n, one = len(images), torch.eye(2).flatten()

    def even(*shape: int) -> Tensor:
        return (torch.rand(n, *shape, generator=rng) * 2 - 1) * strength

    angle = 0.25 * even()  # radians
    turn = torch.stack([angle.cos(), -angle.sin(), angle.sin(), angle.cos()], 1).view(n, 2, 2)
    stretch = (one + even(4) * torch.tensor([0.15, 0.2, 0.1, 0.15])).view(n, 2, 2)
    theta = torch.cat([turn @ stretch, 0.12 * even(2, 1)], 2)  # (N, 2, 3)
    bend = F.interpolate(0.1 * even(2, 4, 4), size=(SIDE, SIDE), mode="bicubic", align_corners=True)
    grid = F.affine_grid(theta, [n, 1, SIDE, SIDE], align_corners=False) + bend.permute(0, 2, 3, 1)
    moved = F.grid_sample(images[:, None], grid, align_corners=False)  # (N, 1, 28, 28)
    wide, fine = F.max_pool2d(moved, 3, 1, 1), -F.max_pool2d(-moved, 3, 1, 1)
    pen = 0.6 * even(1, 1, 1)
    return torch.lerp(moved, torch.where(pen > 0, wide, fine), pen.abs())[:, 0].clamp(0, 1)


def episodes(
    n: int, seed: int | torch.Generator, ways: int = 5, shots: int = 1, queries: int = 1, test: bool = False,
    among: Tensor | None = None,
) -> Episodes:  # fmt: skip
    """n tasks of `ways` letters with `shots` examples each; `queries` more are asked, of different letters.

    `test` draws from the test scripts, `among` (C,) from these letters. In training an episode may lie on its side,
    stand on its head or look into a mirror: eight times the letters to learn from, as the paper turns Omniglot's. All
    letters of an episode together: turned one by one, they could be told apart by how they lie.
    """
    rng = seed if isinstance(seed, torch.Generator) else torch.Generator().manual_seed(seed)
    pool, data = classes(test) if among is None else among, glyphs()
    if queries > ways or ways > len(pool):
        raise ValueError(
            f"{ways} letters of {len(pool)}, {queries} of them asked: there are not as many, "
            "or more are asked than were shown"
        )
    chosen = pool[torch.rand(n, len(pool), generator=rng).topk(ways).indices]  # (n, ways), no letter twice
    shown = torch.arange(ways).repeat_interleave(shots).expand(n, -1)  # (n, ways · shots)
    order = torch.rand(n, ways * shots, generator=rng).argsort(1)
    asked = torch.rand(n, ways, generator=rng).argsort(1)[:, :queries]
    labels = torch.cat([shown.gather(1, order), asked], 1)  # (n, ways · shots + queries)
    wanted = chosen.gather(1, labels)
    style = (torch.rand(wanted.shape, generator=rng) * data.styles[wanted]).long()
    images = data.images[data.first[wanted] + style].flatten(0, 1) / 255
    if not test and among is None:
        images = pose(images, torch.randint(8, (n,), generator=rng).repeat_interleave(labels.shape[1]))
    return Episodes(by_hand(images, rng).unflatten(0, labels.shape), labels, chosen)


def pose(images: Tensor, poses: Tensor) -> Tensor:
    """The eight ways to lay a square on itself.    images (N, 28, 28), poses (N,) 0 … 7 -> (N, 28, 28)"""
    for bit, change in ((1, lambda x: x.flip(1)), (2, lambda x: x.flip(2)), (4, lambda x: x.mT)):
        images = torch.where((poses & bit > 0)[:, None, None], change(images), images)
    return images


def stream(images: int, seed: int, ways: int = 5, shots: tuple[int, ...] = (1, 5)) -> Iterator[Episodes]:
    """Training episodes without end, one number of shots a batch, each with about `images` images and every letter
    asked once: that many losses for the price of one set of shots.
    """
    rng = torch.Generator().manual_seed(seed)
    while True:
        k = shots[int(torch.randint(len(shots), (), generator=rng))]
        yield episodes(max(1, images // (ways * (k + 1))), rng, ways, k, ways)
