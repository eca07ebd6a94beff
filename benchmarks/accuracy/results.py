"""The results file: one line of JSON for each contender, data set and fold, so that an interrupted run can be continued."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Record = dict[str, Any]
Key = tuple[str, str, int]
"""Data set, contender and fold."""


@dataclass(frozen=True)
class Setting:
    """What must be equal for results to be comparable.

    Parameters
    ----------
    folds : the number of folds.
    rows : the most rows of a data set.
    """

    folds: int = 5
    rows: int = 20_000

    def matches(self, record: Mapping[str, Any]) -> bool:
        """Return whether a record was made with this setting."""
        return bool(record["folds"] == self.folds and record["rows"] == self.rows)


class Results:
    """The records of one setting in a results file; of several records of the same fold the last counts.

    Parameters
    ----------
    path : the file; it is created with the first record.
    setting : records of other settings are ignored.
    """

    def __init__(self, path: Path, setting: Setting) -> None:
        self.path, self.setting = path, setting
        self.folds: dict[Key, Record] = {}
        self.failures: dict[tuple[str, str], Record] = {}
        for record in read(path):
            if setting.matches(record):
                self._keep(record)

    def _keep(self, record: Record) -> None:
        pair = record["set"], record["contender"]
        if "failed" in record:
            self.failures[pair] = record
        else:
            self.folds[*pair, record["fold"]] = record
            self.failures.pop(pair, None)

    def add(self, records: Iterable[Record]) -> None:
        """Append records to the file."""
        records = list(records)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        lines = [json.dumps(record) for record in records]
        if _ends_within_a_line(self.path):  # of an interrupted run
            lines.insert(0, "")
        with self.path.open("a") as file:
            file.write("".join(line + "\n" for line in lines))
        for record in records:
            self._keep(record)

    def missing_folds(self, data_set: str, contender: str, specification: str, cpu_limit: float) -> list[int]:
        """Return the folds that must be computed.

        Results of another specification of the contender do not count. A contender that failed on a set is not tried again,
        except if it exceeded a time limit that was smaller.
        """
        failure = self.failures.get((data_set, contender))
        if failure and failure["specification"] == specification and failure.get("cpu_limit", cpu_limit) >= cpu_limit:
            return []
        keys = [(data_set, contender, fold) for fold in range(self.setting.folds)]
        return [key[2] for key in keys if self.folds.get(key, {}).get("specification") != specification]

    def forget(self, contender: str) -> None:
        """Ignore the results of a contender, so that they are computed again."""
        self.folds = {key: record for key, record in self.folds.items() if key[1] != contender}
        self.failures = {pair: record for pair, record in self.failures.items() if pair[1] != contender}

    def forget_failures(self) -> None:
        """Ignore all failures, so that these contenders are tried again."""
        self.failures.clear()

    def complete(self, data_set: str, contender: str) -> list[Record]:
        """Return the records of all folds; none if a fold is missing."""
        keys = [(data_set, contender, fold) for fold in range(self.setting.folds)]
        return [self.folds[key] for key in keys] if all(key in self.folds for key in keys) else []

    @property
    def contenders(self) -> list[str]:
        """The contenders with results, in the order of the file."""
        return list(dict.fromkeys(contender for _, contender, _ in self.folds))


def read(path: Path) -> list[Record]:
    """Return the records of a file; none if it does not exist. Lines that were not written to their end are ignored."""
    lines = path.read_text().splitlines() if path.exists() else []
    return [record for line in lines if (record := _parsed(line)) is not None]


def _parsed(line: str) -> Record | None:
    try:
        return dict(json.loads(line))
    except ValueError:
        return None


def _ends_within_a_line(path: Path) -> bool:
    return path.exists() and path.read_bytes()[-1:] not in (b"\n", b"")
