"""Names and values of variables as texts of the command line: NAME=VALUE."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from naivete.errors import DataError, ParameterError, did_you_mean, quoted

if TYPE_CHECKING:
    from naivete.variables import Name, State, Variable

__all__ = ["name_of", "named_texts", "value_of_text"]


def named_texts(
    variables: Sequence[Variable], texts: Sequence[str], file: str, option: str, value: str = "STATE"
) -> dict[Name, str]:
    """Return the values of NAME=VALUE texts by the names of variables; a name that occurs twice is refused.

    Parameters
    ----------
    variables : the variables that may be named.
    texts : the texts.
    file : the file of the model, for error messages.
    option : the option that has these texts, for error messages.
    value : what stands after the equals sign, for error messages.
    """
    result: dict[Name, str] = {}
    for text in texts:
        name, content = _split(variables, text, file, option, value)
        if name in result:
            raise ParameterError(f"{option}: {quoted(name)} is given twice; give it once")
        result[name] = content
    return result


def _split(variables: Sequence[Variable], text: str, file: str, option: str, value: str) -> tuple[Name, str]:
    """Return the parts of NAME=VALUE; a name may contain equals signs."""
    pieces = text.split("=")
    if len(pieces) == 1:
        raise ParameterError(f"{option}: {quoted(text)} names no {value.lower()}; write NAME={value}")
    for count in range(1, len(pieces)):
        name = "=".join(pieces[:count])
        if any(str(variable.name) == name for variable in variables):
            return name_of(variables, name, file), "=".join(pieces[count:])
    return name_of(variables, pieces[0], file), ""


def name_of(variables: Sequence[Variable], text: str, file: str) -> Name:
    """Return the name of a variable: the text itself, or a name of another type that is written so."""
    names = [variable.name for variable in variables]
    same = [name for name in names if str(name) == text]
    if same:
        return text if text in same else same[0]
    hint = did_you_mean(text, names, "the variables are", count=3)
    raise DataError(f"{file}: there is no variable {quoted(text)}; {hint}")


def value_of_text(variable: Variable, text: str) -> State:
    """Return a number if the variable is numeric, else the text."""
    try:
        return float(text) if variable.numeric else text
    except ValueError:
        return text
