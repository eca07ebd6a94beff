"""The inner loops: counting, bit planes and prediction, each in numpy and, where it was compiled, in C.

Counting (`scatter`) writes where prediction (`gather`) reads: a `Layout` gives every family its place in one flat array,
and a row's cell in the table of a family is found by the same mixed-radix address in both. All pairs of features are
counted at once by bit planes: `pack` makes one bitmap of every state, `gram` counts the ones that two bitmaps share.
Of a table with few ones, `sparse_planes` keeps only those, for the same `gram`.

Both tiers give the same integers, and `gather` the same floats to the bit. The environment variable NAIVETE_KERNELS
chooses one (`numpy` or `c`); otherwise C is used where the library was built.
"""

from naivete._kernels.counting import scatter, seen
from naivete._kernels.descent import descend
from naivete._kernels.door import tier, use
from naivete._kernels.layout import Codes, Layout
from naivete._kernels.planes import Planes, gram, margins, pack
from naivete._kernels.prediction import gather, posterior
from naivete._kernels.sparse import SparsePlanes, sparse_planes
from naivete._kernels.threads import run_parallel, threads

__all__ = [
    "Codes",
    "Layout",
    "Planes",
    "SparsePlanes",
    "descend",
    "gather",
    "gram",
    "margins",
    "pack",
    "posterior",
    "run_parallel",
    "scatter",
    "seen",
    "sparse_planes",
    "threads",
    "tier",
    "use",
]
