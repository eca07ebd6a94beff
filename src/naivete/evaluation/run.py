"""Running an experiment: all models on all data by one protocol, in parallel, and resumed where it was killed."""

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
from naivete.cases.sources import plain_settings
from naivete.classifiers.base import NetworkClassifier
from naivete.data.labelled_table import LabelledTable
from naivete.errors import NaiveteWarning, ParameterError, quoted, warn
from naivete.evaluation.data_sets import Data, cases_by_name, lacking
from naivete.evaluation.held_out_predictions import Prediction, held_out_predictions
from naivete.evaluation.measures import confusion, measures
from naivete.evaluation.protocols import Protocol, Split, protocol_of
from naivete.evaluation.records import Key, Record, Results, Store, data_hash, write_split

__all__ = ["Told", "run"]

Told = Callable[[int, int, str], object]
"""Told how many splits are done, how many there are, and which one it was."""

WORTH: Final = 20.0
"""Seconds of work that have to be left before it is worth starting other processes."""
MOST: Final = 2
"""How many processes are started unless the caller says otherwise."""


@dataclass(frozen=True, eq=False)
class _Task:
    """Splits that belong together, on one data set."""

    place: int
    name: str
    cases: LabelledTable
    splits: tuple[Split, ...]

    def halves(self, count: int) -> list[_Task]:
        """The same splits in so many tasks, neighbours together."""
        bounds = np.linspace(0, len(self.splits), min(count, len(self.splits)) + 1).astype(int).tolist()
        return [_Task(self.place, self.name, self.cases, self.splits[lo:hi]) for lo, hi in pairwise(bounds)]


def run(
    models: Mapping[str, Any],
    data: Data,
    protocol: Protocol | str,
    *,
    folder: str | os.PathLike[str] | None = None,
    jobs: int | None = None,
    progress: Told | None = None,
    loss: Any = None,
    restart: bool = False,
) -> Results:
    """The records of all models on all splits of all data; the same whatever the number of processes, and after any crash.

    Cut points, states and structures are learned in every training set. The classifiers of this library share the counts of
    the rows, which changes no bit of any result.

    Parameters
    ----------
    models : classifiers that are not fitted yet, by name.
    data : cases by name, or one set of cases, which is then called "data"; cases are what `labelled` returns, or (X, y): rows in
        any form that `fit` takes, and their labels. A class that is absent from training sets is warned of, once.
    protocol : how to divide them, or a text for `protocol_of`, such as "10x10-fold".
    folder : where every finished split is kept, so that a run that was killed, and is started again with the same arguments,
        repeats none; by default nowhere.
    jobs : how many processes; by default one, and a second one as soon as much work turns out to be left.
    progress : is told how many splits are done, how many there are, and which one it was.
    loss : the costs of wrong decisions, as for `measures`.
    restart : begin again, whatever the folder holds.
    """
    if jobs is not None and (type(jobs) is not int or jobs < 1):
        raise ParameterError(f"jobs={quoted(jobs)}: a whole number, at least 1")
    _check_models(models)
    how = protocol_of(protocol) if isinstance(protocol, str) else protocol
    sets = cases_by_name(data)
    with ExitStack() as stack:
        done: dict[Key, list[Record]] = {}
        if folder is not None:
            done = stack.enter_context(Store(folder, _fingerprint(models, sets, how, loss), restart=restart)).finished()
        keys, tasks = _planned(sets, how, done)
        work = _Work(models, loss, None if folder is None else Path(folder))
        _tell(progress, len(done), len(keys), "")
        for key, records in _done(work, tasks, jobs):
            done[key] = records
            _tell(progress, len(done), len(keys), _called(records[0]))
    found = (own for key in keys for own in done[key])
    return Results(tuple(found), {name: tuple(cases.classes.tolist()) for name, cases in sets.items()})


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
    """All splits, and those that are left, in tasks of those that share their counts."""
    keys: list[Key] = []
    tasks: list[_Task] = []
    for place, (name, cases) in enumerate(data.items()):
        groups: dict[int, list[Split]] = {}
        splits = list(protocol.splits(cases))
        if (told := lacking(name, cases, splits)) is not None:
            warn(told, NaiveteWarning)
        for split in splits:
            keys.append((place, split.repeat, split.fold))
            if keys[-1] not in done:
                groups.setdefault(split.repeat, []).append(split)
        tasks += [_Task(place, name, cases, tuple(own)) for own in groups.values()]
    return keys, tasks


@dataclass(frozen=True, eq=False)
class _Work:
    """What has to be done with every task."""

    models: Mapping[str, Any]
    loss: Any
    folder: Path | None

    def __call__(self, task: _Task) -> Iterator[tuple[Key, list[Record]]]:
        """The records of the task, split by split, each kept as soon as it is there."""
        records: list[Record] = []
        for prediction in held_out_predictions(self.models, task.cases, task.splits):
            records.append(_record(prediction, task, self.loss))
            if len(records) == len(self.models):
                key = task.place, prediction.split.repeat, prediction.split.fold
                if self.folder is not None:
                    write_split(self.folder, key, records)
                yield key, records
                records = []

    def all_of(self, task: _Task) -> list[tuple[Key, list[Record]]]:
        """The same at once, for another process."""
        return list(self(task))


def _record(prediction: Prediction, task: _Task, loss: Any) -> Record:
    split, cases = prediction.split, task.cases
    truth, weight = cases.labels[split.test], None if cases.weight is None else cases.weight[split.test]
    counts = weight is None or bool(weight.any())
    found = measures(truth, prediction.posterior, cases.classes, loss=loss, weight=weight) if counts else {}
    table = confusion(truth, prediction.posterior.argmax(axis=1), len(cases.classes), weight=weight) if counts else None
    cells = np.zeros((len(cases.classes),) * 2) if table is None else table
    return Record(
        task.name,
        prediction.model,
        split.repeat,
        split.fold,
        len(split.train),
        len(split.test),
        found,
        tuple(map(tuple, cells.tolist())),
        prediction.unseen,
        prediction.fit_seconds,
        prediction.predict_seconds,
    )


def _done(work: _Work, tasks: Sequence[_Task], jobs: int | None) -> Iterator[tuple[Key, list[Record]]]:
    """The records of all tasks as they come: here, or in other processes where these were asked for or are worth their start."""
    waiting = list(tasks)
    if jobs is None or jobs == 1:
        ours = jobs is None and all(isinstance(model, NetworkClassifier) for model in work.models.values())
        started, total = time.monotonic(), sum(len(task.splits) for task in tasks)
        left = total
        while waiting:
            if ours and left < total and (time.monotonic() - started) / (total - left) * left > WORTH and _processors() > 1:
                break
            for found in work(waiting.pop(0)):
                left -= 1
                yield found
    if waiting:
        yield from _elsewhere(work, waiting, min(MOST, _processors()) if jobs is None else jobs)


def _elsewhere(work: _Work, tasks: Sequence[_Task], jobs: int) -> Iterator[tuple[Key, list[Record]]]:
    """The records of all tasks from so many processes, each with one thread."""
    from joblib import Parallel, delayed, parallel_config  # type: ignore[import-untyped]

    pieces = [piece for task in tasks for piece in task.halves(-(-jobs // len(tasks)))]
    with parallel_config(backend="loky", inner_max_num_threads=1):
        together = Parallel(n_jobs=jobs, return_as="generator_unordered", batch_size=1)
        for found in together(delayed(work.all_of)(piece) for piece in pieces):
            yield from found


def _processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _tell(progress: Told | None, done: int, total: int, what: str) -> None:
    if progress is not None:
        progress(done, total, what)


def _called(own: Record) -> str:
    return f"{own.data}, repetition {own.repeat + 1}, fold {own.fold + 1}"
