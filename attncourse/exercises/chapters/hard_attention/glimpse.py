"""A glimpse at any place, also at the border: bilinear, dark outside."""

import torch
import torch.nn.functional as F

from ...engine.core import Case, Exercise, Misconception, Output


def my_glimpse(images, place, size):
    rows, columns = images.shape[1:]
    step = torch.arange(size, device=place.device, dtype=place.dtype) - (size - 1) / 2  # (size,) pixels from the middle
    x = place[:, 0, None] + 2 * step / columns  # (B, size): two units are `columns` pixels
    y = place[:, 1, None] + 2 * step / rows
    grid = torch.stack([x[:, None].expand(-1, size, -1), y[..., None].expand(-1, -1, size)], -1)  # (B, size, size, 2)
    return F.grid_sample(images[:, None], grid, align_corners=False)[:, 0]


def _affine(images, place, size):
    B, rows, columns = images.shape
    zero = torch.zeros_like(place[:, 0])
    across, down = zero + size / columns, zero + size / rows
    theta = torch.stack([across, zero, place[:, 0], zero, down, place[:, 1]], 1).view(B, 2, 3)
    grid = F.affine_grid(theta, [B, 1, size, size], align_corners=False)
    return F.grid_sample(images.unsqueeze(1), grid, align_corners=False).squeeze(1)


def _loop(images, place, size):
    margin = max(images.shape) + size
    padded = F.pad(images, (margin,) * 4)
    found = []
    for image, (x, y) in zip(padded, place, strict=True):
        corner = []
        for at, n in ((y, images.shape[1]), (x, images.shape[2])):
            corner.append((at + 1) / 2 * n - 0.5 - (size - 1) / 2 + margin)
        (r, fr), (c, fc) = ((int(v.floor()), v - v.floor()) for v in corner)
        part = image[r : r + size + 1, c : c + size + 1]
        lines = (1 - fr) * part[:-1] + fr * part[1:]
        found.append((1 - fc) * lines[:, :-1] + fc * lines[:, 1:])
    return torch.stack(found)


def _variant(
    middle=True, half=0.5, swap=False, align=False, padding="zeros", mode="bilinear", inside=False, fraction=False,
    unit=2.0, last=0, turned=False,
):  # fmt: skip
    """The solution with one idea changed at a time."""

    def seen(images, place, size):
        rows, columns = images.shape[1:]
        if inside:  # pushed back until the window fits
            edge = 1 - size / place.new_tensor([columns, rows])
            place = torch.minimum(torch.maximum(place, -edge), edge)
        step = torch.arange(size, dtype=place.dtype)
        step = step - (size / 2 - half) if middle else step
        across, down = (step / size, step / size) if fraction else (step / (columns - last), step / (rows - last))
        x, y = place[:, 0, None] + unit * across, place[:, 1, None] + unit * down
        if swap:
            x, y = place[:, 1, None] + unit * across, place[:, 0, None] + unit * down
        grid = torch.stack([x[:, None].expand(-1, size, -1), y[..., None].expand(-1, -1, size)], -1)
        grid = grid.transpose(1, 2) if turned else grid
        return F.grid_sample(images[:, None], grid, mode, padding, align)[:, 0]

    return seen


def _square(images, place, size, side=2):
    """One side of the image taken for both."""
    step = (torch.arange(size, dtype=place.dtype) - (size - 1) / 2) * 2 / images.shape[side]
    y, x = torch.meshgrid(step, step, indexing="ij")
    grid = torch.stack([x, y], -1) + place[:, None, None]
    return F.grid_sample(images[:, None], grid, align_corners=False)[:, 0]


def _to_the_edges(images, place, size):
    """Points from edge to edge of the window, as linspace gives them."""
    rows, columns = images.shape[1:]
    step = torch.linspace(-1, 1, size, dtype=place.dtype) if size > 1 else place.new_zeros(1)
    y, x = torch.meshgrid(step * size / rows, step * size / columns, indexing="ij")
    grid = torch.stack([x, y], -1) + place[:, None, None]
    return F.grid_sample(images[:, None], grid, align_corners=False)[:, 0]


def _case(kind, seed, B=3, rows=12, columns=12, size=4, reach=0.5, place=None, dtype=torch.float32, gradients=()):
    rng = torch.Generator().manual_seed(seed)
    images = torch.rand(B, rows, columns, generator=rng, dtype=dtype)
    where = reach * (2 * torch.rand(B, 2, generator=rng, dtype=dtype) - 1)
    where = where if place is None else torch.tensor(place, dtype=dtype)
    return Case(kind, {"images": images, "place": where, "size": size}, gradients)


def _cases(seed):
    edges = [[-1.0, 0.21], [0.9, 1.0], [0.33, -0.97]]
    return [
        _case("places inside the image", seed),
        _case("images wider than high", seed + 1, rows=10, columns=17, size=5),
        _case("places at the border", seed + 2, place=edges),
        _case("places at the border of images higher than wide", seed + 3, rows=15, columns=9, place=edges),
        _case("a place beyond the image", seed + 4, B=1, place=[[1.6, -0.2]]),
        _case("a glimpse as large as the image", seed + 5, rows=6, columns=6, size=6, reach=0.2),
        _case("a single pixel", seed + 6, size=1),
        _case("float64 inputs", seed + 7, reach=1.0, dtype=torch.float64),
        _case("images whose gradient is asked", seed + 8, reach=1.0, gradients=("images",)),
    ]


EXERCISE = Exercise(
    id="hard_attention.glimpse",
    title="A glimpse at the border",
    points=2,
    task=r"""
Cut a window of `size` × `size` pixels around a place of each image, all images at once. A place is real: a window that
falls between pixels is read bilinearly. Outside the image it is dark.

Places are $(x, y)$, in units that do not depend on the image's size: $x = -1$ is the image's left *edge* (not the
middle of its first pixel), $x = 1$ the right edge; $y = -1$ is the top. The middle of the window lies on the place, and
neighbouring points of the window are one pixel apart.

| argument | |
|---|---|
| `images` | (B, rows, columns) |
| `place` | (B, 2): $x$, $y$ |
| `size` | a number |
| returns `seen` | (B, size, size) |

`F.grid_sample` (from `torch.nn.functional`) reads an image at any points; everything lies in the points.
""",
    stub="""
def my_glimpse(images, place, size):
    ...  # your code: (B, size, size)
""",
    hints=(
        "One dimension first. 12 pixels between -1 and 1: how wide is one of them in these units? A window of 4 around "
        "0: at which four places are the middles of its pixels?",
        "The points are $-\\tfrac{3}{2}, -\\tfrac12, \\tfrac12, \\tfrac32$ pixels from the middle, and a pixel is "
        "`2 / columns` wide. `grid_sample(..., align_corners=False)` uses just these units, and is dark outside.",
        "Build `x` (B, size) and `y` (B, size), then `grid = torch.stack([x[:, None].expand(-1, size, -1), "
        "y[..., None].expand(-1, -1, size)], -1)`: the last axis is $(x, y)$, columns first.",
    ),
    solution=my_glimpse,
    spellings=(_affine, _loop),
    axes={"images": "B rows columns", "place": "B two"},
    returns=(Output("seen", "B size size"),),
    cases=_cases,
    wrong=(
        Misconception(
            "the window is pushed back into the image",
            "Near the border your window moves inwards until it fits. Then the network is told one place and shown "
            "another: it could never find out where the edge of the image is. The window stays where it was asked for; "
            "what lies outside is 0.",
            (_variant(inside=True),),
        ),
        Misconception(
            "the border is repeated outside",
            "Beyond the image you repeat its outermost pixels, or mirror them. A stroke that touches the border would "
            "become a bar. Outside it is dark: `padding_mode='zeros'`.",
            (_variant(padding="border"), _variant(padding="reflection")),
        ),
        Misconception(
            "-1 and 1 are the middles of the outermost pixels",
            "Your units end at the *middles* of the first and the last pixel (`align_corners=True`, or a pixel of `2 "
            "/ (columns - 1)`). Asked is edge to edge: then a pixel is `2 / columns` wide, and a place means the same "
            "in an image of any resolution.",
            (_variant(align=True), _variant(align=True, last=1), _variant(last=1)),
        ),
        Misconception(
            "x and y are exchanged",
            "Your windows lie at $(y, x)$. In a place, $x$, across the columns, comes first; in a tensor the rows come "
            "first. `grid_sample` wants $(x, y)$.",
            (_variant(swap=True),),
        ),
        Misconception(
            "the window is turned",
            "Your windows lie at the right places, but rows and columns inside them are exchanged. Axis 1 of the grid "
            "counts the window's rows: $y$ changes along it, $x$ along axis 2.",
            (_variant(turned=True),),
        ),
        Misconception(
            "the place is the window's corner",
            "Your windows begin at the place and extend to the right and down. The place is the window's middle.",
            (_variant(middle=False),),
        ),
        Misconception(
            "half a pixel off",
            "Your windows are shifted by half a pixel, and blurred by it. A window of 4 has its points at "
            "-1.5, -0.5, 0.5, 1.5 pixels from its middle; `arange(size) - size / 2` begins at -2.",
            (_variant(half=0.0), _variant(half=1.0)),
        ),
        Misconception(
            "the window is the whole image",
            "Your points are spread by `2 / size`: the window covers the whole image, shrunk. A glimpse has the "
            "image's own resolution; one step is one pixel, `2 / columns`.",
            (_variant(fraction=True),),
        ),
        Misconception(
            "the image is one unit wide",
            "A step of yours is `1 / columns`, half a pixel: from -1 to 1 there are *two* units. Your windows are "
            "half as wide as they should be.",
            (_variant(unit=1.0),),
        ),
        Misconception(
            "the image is taken as square",
            "Right for square images, wrong for others: a step across is `2 / columns`, a step down `2 / rows`. In an "
            "image that is wider than high a pixel is narrower in these units than it is high.",
            (_square, lambda images, place, size: _square(images, place, size, 1)),
        ),
        Misconception(
            "the points run from edge to edge of the window",
            "Your points run from one edge of the window to the other, as `linspace(-1, 1, size)` does: `size` points, "
            "`size - 1` steps, so each step is a little more than a pixel. The outermost points are the *middles* of "
            "the window's outermost pixels.",
            (_to_the_edges,),
        ),
        Misconception(
            "the nearest pixel is taken",
            "You round to whole pixels. It is a good first version, and the place of a look that was drawn at random "
            "is never whole: read bilinearly, the mean of the four pixels around a point, weighted by nearness.",
            (_variant(mode="nearest"),),
        ),
    ),
)
