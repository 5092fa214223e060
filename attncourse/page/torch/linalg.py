"""torch.linalg: norms, powers and inverses, singular values and eigenvalues of small matrices."""

import math
from collections import namedtuple
from math import prod

from . import dtypes
from .graph import record
from .pointwise import where
from .reduce import amax, amin, rows, spread, sum_
from .shapes import axes
from .tensor import FUNCTIONS, both, flat, make
from .unknown import getter, refuse, sentence

__getattr__ = getter("torch.linalg")


# --- norms -----------------------------------------------------------------------------------------


def vector_norm(x, ord=2, dim=None, keepdim=False, *, dtype=None):
    x = x if dtype is None else x.to(dtype)
    if not x.dtype.is_floating_point:
        raise RuntimeError(
            "linalg.vector_norm: Expected a floating point or complex tensor as input. Got " + dtypes.shown(x.dtype)
        )
    dims = axes(dim, x.ndim)
    if ord == math.inf:
        return amax(x.abs(), dims or None, keepdim)
    if ord == -math.inf:
        return amin(x.abs(), dims or None, keepdim)
    if ord == 0:
        return sum_((x != 0).to(x.dtype), dims or None, keepdim)
    values = [_length(row, ord) for row in rows(x, dims)]
    out = make(values, _shape(x, dims, keepdim), x.dtype)

    def back(g):
        g, long = spread(g, x, dims, keepdim), spread(out, x, dims, keepdim)
        if ord == 1:
            return g * x.sgn()
        if ord == 2:
            return where(long == 0, 0.0, x * (g / long))  # at 0 there is no slope: 0, as torch has it
        return where(long == 0, 0.0, x * x.abs() ** (ord - 2) * (g / long ** (ord - 1)))

    return record(out, (x, back, x, out))


def _length(row, p):
    if p == 2:
        return math.sqrt(sum(v * v for v in row))
    return sum(abs(v) ** p for v in row) ** (1 / p)


def _shape(x, dims, keepdim):
    from .reduce import shape_after

    return shape_after(x, dims, keepdim)


def matrix_norm(A, ord="fro", dim=(-2, -1), keepdim=False, *, dtype=None):
    if A.ndim < 2:
        raise RuntimeError("linalg.matrix_norm: The input tensor A must have at least 2 dimensions.")
    if ord == "fro":
        return vector_norm(A, 2, dim, keepdim)
    a, b = axes(tuple(dim), A.ndim)
    if ord in (1, -1, math.inf, -math.inf):
        inner, outer = (a, b) if abs(ord) == 1 else (b, a)
        sums = sum_(A.abs(), inner, True)
        found = (amax if ord > 0 else amin)(sums, outer, True)
    else:
        refuse("torch.linalg.matrix_norm(ord", ord, (2, -2, "nuc"))
        values = svdvals(A.movedim((a, b), (-2, -1)))
        found = sum_(values, -1) if ord == "nuc" else (amax if ord > 0 else amin)(values, -1)
        found = found.unsqueeze(min(a, b)).unsqueeze(max(a, b))
    return found if keepdim else found.squeeze((a, b))


def norm(A, ord=None, dim=None, keepdim=False, *, dtype=None):
    if ord is not None and ((dim is None and A.ndim == 2) or (isinstance(dim, (tuple, list)) and len(dim) == 2)):
        return matrix_norm(A, ord, dim or (-2, -1), keepdim)
    return vector_norm(A, 2 if ord is None else ord, dim, keepdim)


def _norm(input, p="fro", dim=None, keepdim=False, dtype=None):
    """torch.norm and x.norm"""
    if p == "fro" and isinstance(dim, (tuple, list)) and len(dim) > 2:
        raise RuntimeError(f"linalg.matrix_norm: dim must be a 2-tuple. Got {' '.join(map(str, dim))}")
    return vector_norm(input, 2 if p in ("fro", None) else p, dim, keepdim, dtype=dtype)


_norm.__name__ = "norm"
both(_norm)


# --- powers and inverses ---------------------------------------------------------------------------


def _square(A, name):
    if A.ndim < 2:
        raise RuntimeError(f"linalg.{name}: The input tensor A must have at least 2 dimensions.")
    if A.shape[-1] != A.shape[-2]:
        raise RuntimeError(
            f"linalg.{name}: A must be batches of square matrices, but they are {A.shape[-2]} by {A.shape[-1]} matrices"
        )


def matrix_power(A, n):
    _square(A, "matrix_power")
    if n < 0:
        A, n = inv(A), -n
    if n == 0:
        return A * 0 + FUNCTIONS["eye"](A.shape[-1], dtype=A.dtype)
    result = None
    while n:
        if n % 2:
            result = A if result is None else result @ A
        n //= 2
        A = A @ A if n else A
    return result


def _matrices(A):
    """Each matrix of a batch as a list of rows."""
    n, m = A.shape[-2:]
    values = flat(A)
    return [[values[(b * n + i) * m : (b * n + i + 1) * m] for i in range(n)] for b in range(prod(A.shape[:-2]))]


def _eliminate(matrix, right):
    """Gauss, with the largest pivot. -> the solution, and the determinant"""
    n, det = len(matrix), 1.0
    work = [[*row, *extra] for row, extra in zip(matrix, right, strict=True)]
    for i in range(n):
        pivot = max(range(i, n), key=lambda r: abs(work[r][i]))
        if pivot != i:
            work[i], work[pivot], det = work[pivot], work[i], -det
        det *= work[i][i]
        if work[i][i] == 0:
            return None, 0.0
        work[i] = [v / work[i][i] for v in work[i]]
        for r in range(n):
            if r != i and work[r][i] != 0:
                factor = work[r][i]
                work[r] = [v - factor * w for v, w in zip(work[r], work[i], strict=True)]
    return [row[n:] for row in work], det


def inv(A):
    _square(A, "inv")
    n, values = A.shape[-1], []
    unit = [[float(i == j) for j in range(n)] for i in range(n)]
    for matrix in _matrices(A):
        found, _ = _eliminate(matrix, unit)
        if found is None:
            raise RuntimeError("linalg.inv: The diagonal element is zero, the inversion could not be completed because "
                               "the input matrix is singular.")  # fmt: skip
        values += [v for row in found for v in row]
    out = make(values, A.shape, A.dtype)
    return record(out, (A, lambda g: -(out.mT @ g @ out.mT), out))


def det(A):
    _square(A, "det")
    n = A.shape[-1]
    values = [_eliminate(matrix, [[] for _ in range(n)])[1] for matrix in _matrices(A)]
    out = make(values, A.shape[:-2], A.dtype)
    return record(out, (A, lambda g: (g * out)[..., None, None] * inv(A).mT, A, out))


def solve(A, B, *, left=True):
    return inv(A) @ B if left else B @ inv(A)


for _function in (inv, det):
    both(_function)
FUNCTIONS["inverse"] = inv
FUNCTIONS["matrix_power"] = matrix_power


# --- singular values -------------------------------------------------------------------------------


def _decompose(matrix):
    """One-sided Jacobi: turn pairs of columns until all are at right angles. -> columns u, values, columns v"""
    n = len(matrix[0])
    u = [[row[j] for row in matrix] for j in range(n)]  # columns
    v = [[float(i == j) for i in range(n)] for j in range(n)]
    for _ in range(60):
        turned = False
        for p in range(n):
            for q in range(p + 1, n):
                a, b, c = (sum(x * y for x, y in zip(s, t, strict=True))
                           for s, t in ((u[p], u[p]), (u[q], u[q]), (u[p], u[q])))  # fmt: skip
                if abs(c) <= 1e-15 * math.sqrt(a * b) or c == 0:
                    continue
                turned = True
                zeta = (b - a) / (2 * c)
                t = math.copysign(1.0, zeta) / (abs(zeta) + math.sqrt(1 + zeta * zeta))
                cos = 1 / math.sqrt(1 + t * t)
                for w in (u, v):
                    w[p], w[q] = (
                        [cos * x - cos * t * y for x, y in zip(w[p], w[q], strict=True)],
                        [cos * t * x + cos * y for x, y in zip(w[p], w[q], strict=True)],
                    )
        if not turned:
            break
    sizes = [math.sqrt(sum(x * x for x in column)) for column in u]
    order = sorted(range(n), key=lambda j: -sizes[j])
    units = [[x / sizes[j] if sizes[j] else 0.0 for x in u[j]] for j in order]
    return units, [sizes[j] for j in order], [v[j] for j in order]


def _parts(A):
    """U (…, n, k), S (…, k), V (…, m, k) without gradients, k = min(n, m)"""
    n, m = A.shape[-2:]
    tall = n >= m
    found = [_decompose(matrix if tall else [list(c) for c in zip(*matrix, strict=True)]) for matrix in _matrices(A)]
    batch, k = A.shape[:-2], min(n, m)

    def stacked(columns, size):  # columns of each matrix -> (…, size, k)
        return make([x for one in columns for column in one for x in column], (*batch, k, size), A.dtype).mT

    left, right = stacked([f[0] for f in found], max(n, m)), stacked([f[2] for f in found], k)
    values = make([x for f in found for x in f[1]], (*batch, k), A.dtype)
    return (left, values, right) if tall else (right, values, left)


def svdvals(A):
    U, S, V = _parts(A.detach())
    out = S.clone()
    return record(out, (A, lambda g: U * g.unsqueeze(-2) @ V.mT))


def svd(A, full_matrices=True):
    if A.requires_grad:
        raise NotImplementedError(sentence("the gradient of torch.linalg.svd"))
    if full_matrices and A.shape[-1] != A.shape[-2]:
        raise NotImplementedError(sentence("torch.linalg.svd(full_matrices=True) of a matrix that is not square"))
    U, S, V = _parts(A)
    return namedtuple("linalg_svd", ["U", "S", "Vh"])(U, S, V.mT)


# --- eigenvalues -----------------------------------------------------------------------------------


def _times(a, b):
    return [[sum(x * y for x, y in zip(row, column, strict=True)) for column in zip(*b, strict=True)] for row in a]


def _orthogonal(matrix):
    """QR of a complex matrix, by Gram and Schmidt."""
    n, q, r = len(matrix), [], [[0j] * len(matrix) for _ in matrix]
    for j in range(n):
        column = [row[j] for row in matrix]
        for _ in range(2):  # twice is enough
            for i, unit in enumerate(q):
                share = sum(x.conjugate() * y for x, y in zip(unit, column, strict=True))
                r[i][j] += share
                column = [y - share * x for x, y in zip(unit, column, strict=True)]
        size = math.sqrt(sum(abs(x) ** 2 for x in column))
        r[j][j] = complex(size)
        q.append([x / size for x in column] if size > 1e-300 else [complex(i == j) for i in range(n)])
    return [list(row) for row in zip(*q, strict=True)], r


def _eigenvalues(matrix):
    """QR with shifts; a last row that has become zero gives one value and is cut off."""
    work, found, tries = [[complex(v) for v in row] for row in matrix], [], 0
    while len(work) > 1:
        n = len(work)
        if sum(abs(v) for v in work[-1][:-1]) < 1e-14 * (abs(work[-1][-1]) + 1e-300) or tries > 800:
            found.append(work[-1][-1])
            work, tries = [row[:-1] for row in work[:-1]], 0
            continue
        tries += 1
        a, b, c, d = work[-2][-2], work[-2][-1], work[-1][-2], work[-1][-1]
        root = ((a - d) ** 2 / 4 + b * c) ** 0.5
        shift = min(((a + d) / 2 + root, (a + d) / 2 - root), key=lambda x: abs(x - d))
        shift += (0.1 + 0.1j) * abs(d) if tries % 20 == 10 else 0
        q, r = _orthogonal([[v - shift * (i == j) for j, v in enumerate(row)] for i, row in enumerate(work)])
        work = [[v + shift * (i == j) for j, v in enumerate(row)] for i, row in enumerate(_times(r, q))]
        assert len(work) == n
    return [*found, *(row[0] for row in work)]


def _vector(matrix, value):
    """The eigenvector to an eigenvalue, by inverse iteration."""
    near = value + 1e-10 * (abs(value) + 1)
    shifted = [[v - near * (i == j) for j, v in enumerate(row)] for i, row in enumerate(matrix)]
    vector = [[complex(1 + i % 3)] for i in range(len(matrix))]
    for _ in range(3):
        vector, _ = _eliminate(shifted, vector)
        size = max(abs(x[0]) for x in vector)
        vector = [[x[0] / size] for x in vector]
    return [x[0] for x in vector]


def eigvals(A):
    _square(A, "eigvals")
    kind = dtypes.complex128 if A.dtype is dtypes.float64 else dtypes.complex64
    if A.ndim > 2:
        raise NotImplementedError(sentence("torch.linalg.eigvals of several matrices"))
    matrix, n = _matrices(A)[0], A.shape[-1]
    values = _eigenvalues(matrix)

    def back(g):
        """dλ = wᵀ dA v / wᵀ v, with w the eigenvector of Aᵀ."""
        slope = [[0.0] * n for _ in range(n)]
        for value, part in zip(values, flat(g), strict=True):
            v, w = _vector(matrix, value), _vector([list(c) for c in zip(*matrix, strict=True)], value)
            scale = part / sum(x * y for x, y in zip(v, w, strict=True)).conjugate()
            for i in range(n):
                for j in range(n):
                    slope[i][j] += (scale * (w[i] * v[j]).conjugate()).real
        return make([x for row in slope for x in row], A.shape, A.dtype)

    return record(make(values, (n,), kind), (A, back, A))
