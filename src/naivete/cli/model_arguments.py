"""What the commands share that put models side by side: which models, on which cases, and what is noted about them."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Final

from naivete.cli.output import note
from naivete.cli.tables import encoder_of, encoding_options, reading_options, resource_options, target_options

if TYPE_CHECKING:
    from naivete.variables import Name

__all__ = ["MODELS", "classifiers", "contest_options", "models_option", "note_unseen", "short_names"]

MODELS: Final = ("majority", "nb", "tan", "kdb:k=2")
"""The models that are put side by side unless others are given."""


def models_option(parser: ArgumentParser) -> None:
    """Which models."""
    parser.add_argument("--models", action="extend", metavar="MODEL", nargs="+", help=f"the models ({' '.join(MODELS)})")


def contest_options(parser: ArgumentParser) -> None:
    """What is told on the way, and how cases are read and encoded."""
    parser.add_argument("--progress", action="store_true", help="tell the progress although standard error is no terminal")
    target_options(parser)
    encoding_options(parser)
    reading_options(parser)
    resource_options(parser)


def classifiers(specs: Sequence[Any], args: Namespace, target: Name) -> dict[str, Any]:
    """The models by name, with what the options say of states and memory."""
    from naivete.classifiers.specification import classifier_of

    encoder = encoder_of(args, target)
    return {str(spec): classifier_of(spec, encoder=encoder, budget=args.budget) for spec in specs}


def short_names(paths: Sequence[str]) -> dict[str, str]:
    """Different paths by the names of their files, where these tell them apart."""
    own = list(dict.fromkeys(paths))
    names = [PurePath(path).name for path in own]
    return dict(zip(names if len(set(names)) == len(names) else own, own, strict=True))


def note_unseen(name: str, rounds: str) -> None:
    """Note that in some rounds, or what they are called, values were met that training did not have."""
    note(f"{name}: in some {rounds} values occurred that their training did not have; they were treated as --unseen says")
