"""The inner loops: counting, bit planes and prediction, each implemented in NumPy and, if it was compiled, in C.

Counting (`scatter`) and prediction (`gather`) use the same `Layout`, which stores the tables of all families in one flat
array; the cell of a row in the table of a family is computed by the same mixed-radix address in both. All pairs of features
are counted with bit planes: `pack` builds one bitmap for each state, and `gram` counts the bits that two bitmaps share.
For sparse tables, `sparse_planes` stores only the bits that are set, for the same `gram`.

A third implementation of these functions uses a GPU, by torch and Triton (`device`, `device_counting`, `device_planes`,
`device_triton`); torch is imported only if it is selected.

All implementations ("tiers") give the same integers, and `gather` gives bitwise identical floats. The environment variable
NAIVETE_KERNELS selects one (`numpy`, `c` or `gpu`); by default C is used if the library was built.
"""

from naivete._kernels.counting import scatter, seen
from naivete._kernels.descent import descend
from naivete._kernels.dispatch import compiled, on_gpu, tier, use, use_kernels
from naivete._kernels.layout import ArrayLayout, Codes, FamilyArray, Layout
from naivete._kernels.planes import AnyPlanes, Planes, gram, margins, pack
from naivete._kernels.prediction import gather, log_sum_exp, posterior
from naivete._kernels.sparse import SparsePlanes, sparse_planes
from naivete._kernels.threads import run_parallel, threads

__all__ = [
    "AnyPlanes",
    "ArrayLayout",
    "Codes",
    "FamilyArray",
    "Layout",
    "Planes",
    "SparsePlanes",
    "compiled",
    "descend",
    "gather",
    "gram",
    "log_sum_exp",
    "margins",
    "on_gpu",
    "pack",
    "posterior",
    "run_parallel",
    "scatter",
    "seen",
    "sparse_planes",
    "threads",
    "tier",
    "use",
    "use_kernels",
]
