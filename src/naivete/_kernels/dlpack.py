"""Arrays in the memory of a GPU, of any library that has DLPack; torch is imported only to read them."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

from naivete.errors import ParameterError

__all__ = ["host_copy", "in_device_memory", "tensor_of", "torch_module"]


@cache
def torch_module() -> Any:
    """Return torch; raise an error that names the next step where it is not installed."""
    try:
        return import_module("torch")
    except ImportError as error:
        raise ParameterError(
            "the kernels for a GPU need torch, which is not installed; pip install 'naivete[gpu]', or unset NAIVETE_KERNELS"
        ) from error


def in_device_memory(array: object) -> bool:
    """Return whether an array of another library is in the memory of a device, as its DLPack method says."""
    place = getattr(array, "__dlpack_device__", None)
    return place is not None and int(place()[0]) not in (1, 3)  # 1 and 3: ordinary and page-locked memory of the host


def host_copy(array: Any) -> Any:
    """Return a NumPy copy of an array in the memory of a device; anything else as it is."""
    return tensor_of(array).cpu().numpy() if in_device_memory(array) else array


def tensor_of(array: Any) -> Any:
    """Return an array in the memory of a device as a tensor that shares this memory."""
    return torch_module().from_dlpack(array)
