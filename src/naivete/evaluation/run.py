"""Experiments: all models on all data sets by one protocol, in several processes, resumed after an interruption."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import numpy as np

from naivete import __version__
from naivete._kernels.threads import cores
from naivete.cases.sources import plain_settings
from naivete.classifiers.base import NetworkClassifier
from naivete.data.labelled_table import LabelledTable
from naivete.errors import NaiveteWarning, ParameterError, quoted, warn
from naivete.evaluation.data_sets import Data, cases_by_name, lacking, warn_about_columns
from naivete.evaluation.held_out_predictions import Prediction, held_out_predictions
from naivete.evaluation.measures import measures
from naivete.evaluation.outcomes import confusion
from naivete.evaluation.protocol_text import protocol_of
from naivete.evaluation.protocols import Protocol, Split
from naivete.evaluation.records import Key, Record, Results, Store, data_hash, write_split

__all__ = ["RunProgress", "run"]

RunProgress = Callable[[int, int, str], object]
"""Called with the number of finished splits, the number of all splits, and the name of the last one."""

WORTH: Final = 20.0
"""Other processes are started if at least this many seconds of work remain."""
MOST: Final = 2
"""The number of processes that are started by default."""


@dataclass(frozen=True, eq=False)
class _Task:
    """Splits of one data set that are run together; `position` is that of the data set."""

    position: int
    name: str
    cases: LabelledTable
    splits: tuple[Split, ...]

    def divided(self, count: int) -> list[_Task]:
        """Return the splits in `count` tasks, neighbors together."""
        bounds = np.linspace(0, len(self.splits), min(count, len(self.splits)) + 1).astype(int).tolist()
        return [_Task(self.position, self.name, self.cases, self.splits[lo:hi]) for lo, hi in pairwise(bounds)]


def run(
    models: Mapping[str, Any],
    data: Data,
    protocol: Protocol | str,
    *,
    folder: str | os.PathLike[str] | None = None,
    jobs: int | None = None,
    progress: RunProgress | None = None,
    loss: Any = None,
    restart: bool = False,
) -> Results:
    """Return the records of all models on all splits of all data sets.

    Cut points, states and structures are learned in each training set. The classifiers of this library share the counts of the
    rows. Results are identical for any number of processes, and after a run was interrupted and resumed.

    Parameters
    ----------
    models : dict of {str: classifier}
        Classifiers that are not fitted yet, by name.
    data : LabelledTable, tuple (X, y), or dict of these
        Data sets by name, or one data set, which is then called "data"; each is the result of `label_table`, or (X, y): rows in any
        form that `fit` takes, and their labels. There is a warning if a class is absent from training sets.
    protocol : Protocol or str
        How to divide the data, or a text for `protocol_of`, such as "10x10-fold".
    folder : str, path-like or None, default=None
        The folder for finished splits; a run that was killed resumes from there when started again with the same arguments. By
        default splits are not saved.
    jobs : int or None, default=None
        The number of processes; by default one, and a second one if much work remains.
    progress : callable or None, default=None
        Called with the number of finished splits, the number of all splits, and the name of the last one.
    loss : Loss, array-like, dict or None, default=None
        The losses of wrong decisions, as for `measures`.
    restart : bool, default=False
        Whether to begin again and delete what is in the folder.

    Returns
    -------
    Results
        The records.

    Examples
    --------
    >>> from naivete import NaiveBayes, TAN
    >>> from naivete.data.generated import corral
    >>> from naivete.evaluation import label_table, run
    >>> results = run({"nb": NaiveBayes(), "tan": TAN()}, label_table(corral(), "class"), "2-fold")
    >>> results.models, len(results.records)
    (('nb', 'tan'), 4)
    """
    if jobs is not None and (type(jobs) is not int or jobs < 1):
        raise ParameterError(f"jobs={quoted(jobs)}: a whole number, at least 1")
    _check_models(models)
    division = protocol_of(protocol) if isinstance(protocol, str) else protocol
    sets = cases_by_name(data)
    with ExitStack() as stack:
        done: dict[Key, list[Record]] = {}
        if folder is not None:
            done = stack.enter_context(Store(folder, _fingerprint(models, sets, division, loss), restart=restart)).finished()
        for cases in sets.values():
            warn_about_columns(models.values(), cases)
        keys, tasks = _planned(sets, division, done)
        work = _Work(models, loss, None if folder is None else Path(folder))
        _report(progress, len(done), len(keys), "")
        for key, records in _done(work, tasks, jobs):
            done[key] = records
            _report(progress, len(done), len(keys), _split_name(records[0]))
    ordered = (record for key in keys for record in done[key])
    return Results(tuple(ordered), {name: tuple(cases.classes.tolist()) for name, cases in sets.items()})


def _check_models(models: object) -> None:
    if not isinstance(models, Mapping):
        raise ParameterError(f'models: pass classifiers by name, as in {{"nb": NaiveBayes()}}, not {quoted(models)}')
    if not models:
        raise ParameterError("models: at least one classifier is needed")
    for name, model in models.items():
        if not (hasattr(model, "fit") and hasattr(model, "predict_proba")):
            raise ParameterError(f"models: {quoted(name)}: {quoted(model)} is no classifier; it needs fit and predict_proba")


def _fingerprint(models: Mapping[str, Any], data: Mapping[str, LabelledTable], protocol: Protocol, loss: Any) -> dict[str, Any]:
    return {
        "version": __version__,
        "models": {name: _settings(model) for name, model in models.items()},
        "data": {name: data_hash(cases) for name, cases in data.items()},
        "protocol": repr(protocol),
        "loss": plain_settings({"loss": loss})["loss"],
    }


def _settings(model: Any) -> dict[str, Any]:
    kind = f"{type(model).__module__}.{type(model).__qualname__}"
    settings = plain_settings(model.get_params(deep=False)) if hasattr(model, "get_params") else {}
    return {"kind": kind, **settings}


def _planned(data: Mapping[str, LabelledTable], protocol: Protocol, done: Mapping[Key, Any]) -> tuple[list[Key], list[_Task]]:
    """Return the keys of all splits, and tasks for those that are not finished; splits with the same parts share a task."""
    keys: list[Key] = []
    tasks: list[_Task] = []
    for position, (name, cases) in enumerate(data.items()):
        groups: dict[int, list[Split]] = {}
        splits = list(protocol.splits(cases))
        if (message := lacking(name, cases, splits)) is not None:
            warn(message, NaiveteWarning)
        for split in splits:
            keys.append((position, split.repeat, split.fold))
            if keys[-1] not in done:
                groups.setdefault(split.repeat, []).append(split)
        tasks += [_Task(position, name, cases, tuple(group)) for group in groups.values()]
    return keys, tasks


@dataclass(frozen=True, eq=False)
class _Work:
    """Runs a task: fits and tests all models, and saves the records if there is a folder."""

    models: Mapping[str, Any]
    loss: Any
    folder: Path | None

    def __call__(self, task: _Task) -> Iterator[tuple[Key, list[Record]]]:
        """Yield the records of the task, split by split, each saved as soon as it is finished."""
        records: list[Record] = []
        for prediction in held_out_predictions(self.models, task.cases, task.splits):
            records.append(_record(prediction, task, self.loss))
            if len(records) == len(self.models):
                key = task.position, prediction.split.repeat, prediction.split.fold
                if self.folder is not None:
                    write_split(self.folder, key, records)
                yield key, records
                records = []

    def all_of(self, task: _Task) -> list[tuple[Key, list[Record]]]:
        """Return all records of the task, for use in another process."""
        return list(self(task))


def _record(prediction: Prediction, task: _Task, loss: Any) -> Record:
    split, cases = prediction.split, task.cases
    truth, weight = cases.labels[split.test], None if cases.weight is None else cases.weight[split.test]
    weighted = weight is None or bool(weight.any())
    scores = measures(truth, prediction.posterior, cases.classes, loss=loss, weight=weight) if weighted else {}
    table = confusion(truth, prediction.posterior.argmax(axis=1), len(cases.classes), weight=weight) if weighted else None
    cells = np.zeros((len(cases.classes),) * 2) if table is None else table
    return Record(
        task.name,
        prediction.model,
        split.repeat,
        split.fold,
        len(split.train),
        len(split.test),
        scores,
        tuple(map(tuple, cells.tolist())),
        prediction.unseen,
        prediction.fit_seconds,
        prediction.predict_seconds,
    )


def _done(work: _Work, tasks: Sequence[_Task], jobs: int | None) -> Iterator[tuple[Key, list[Record]]]:
    """Yield the records of all tasks, from this process, or from others if `jobs` is above 1 or much work remains."""
    waiting = list(tasks)
    if jobs is None or jobs == 1:
        ours = jobs is None and all(isinstance(model, NetworkClassifier) for model in work.models.values())
        started, total = time.monotonic(), sum(len(task.splits) for task in tasks)
        remaining = total
        while waiting:
            if (
                ours
                and remaining < total
                and (time.monotonic() - started) / (total - remaining) * remaining > WORTH
                and cores() > 1
            ):
                break
            for finished in work(waiting.pop(0)):
                remaining -= 1
                yield finished
    if waiting:
        yield from _elsewhere(work, waiting, min(MOST, cores()) if jobs is None else jobs)


def _elsewhere(work: _Work, tasks: Sequence[_Task], jobs: int) -> Iterator[tuple[Key, list[Record]]]:
    """Yield the records of all tasks from several processes, each with one thread."""
    from joblib import Parallel, delayed, parallel_config  # type: ignore[import-untyped]

    pieces = [piece for task in tasks for piece in task.divided(-(-jobs // len(tasks)))]
    with parallel_config(backend="loky", inner_max_num_threads=1):
        parallel = Parallel(n_jobs=jobs, return_as="generator_unordered", batch_size=1)
        for records in parallel(delayed(work.all_of)(piece) for piece in pieces):
            yield from records


def _report(progress: RunProgress | None, done: int, total: int, name: str) -> None:
    if progress is not None:
        progress(done, total, name)


def _split_name(record: Record) -> str:
    return f"{record.data}, repetition {record.repeat + 1}, fold {record.fold + 1}"
