"""Serve a model by HTTP: `pip install fastapi uvicorn`, then `python serve_fastapi.py model.nvt`.

    curl -s localhost:8000/predict -H 'content-type: application/json' -d '{"outlook": "rain", "temperature": 17}'

POST /predict takes one row as an object, or a list of rows, and returns the most probable class and P(class) of each. Values that
are left out or null are missing. Names that the model does not have, nested values, and values that the model refuses are answered
by status 422 with the place of the error. The server listens on 127.0.0.1 only: put a proxy in front of it that authenticates and
limits requests.
"""

import json
import math
import sys
import warnings
from typing import Any

from fastapi import FastAPI, HTTPException, Request

import naivete

MOST_ROWS = 1000
MOST_BYTES = 1_000_000


def app_of(path: str) -> FastAPI:
    """Return the application for a model file."""
    model = naivete.load(path)
    predict = model.row_predictor()
    names = {str(variable.name): variable.name for variable in model.schema_}
    app = FastAPI(title=f"{type(model).__name__} for {model.network_.name(-1)}")

    @app.get("/")
    def describe() -> dict[str, Any]:
        """Return the names of the features and the classes."""
        return {"features": list(names), "classes": list(predict.classes)}

    @app.post("/predict")
    async def predict_rows(request: Request) -> Any:
        """Return the predictions for one row or a list of rows."""
        rows = await body_of(request)
        results = [result(row, i) for i, row in enumerate(rows if isinstance(rows, list) else [rows])]
        return results if isinstance(rows, list) else results[0]

    async def body_of(request: Request) -> Any:
        content = b""
        async for part in request.stream():
            content += part
            if len(content) > MOST_BYTES:
                raise HTTPException(413, f"the body has more than {MOST_BYTES:,} bytes; send fewer rows")
        try:
            rows = json.loads(content)
        except (ValueError, RecursionError) as error:
            raise HTTPException(422, f"the body is not JSON: {error}") from None
        if isinstance(rows, list) and len(rows) > MOST_ROWS:
            raise HTTPException(422, f"{len(rows):,} rows; at most {MOST_ROWS:,} are predicted at once")
        return rows

    def result(row: Any, number: int) -> dict[str, Any]:
        check(row, number)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", naivete.NaiveteWarning)  # values that did not occur in training are marginalized
                probabilities = predict({names[name]: value for name, value in row.items()})
        except naivete.NaiveteError as error:
            raise HTTPException(422, f"row {number}: {error}") from None
        return {
            "class": max(probabilities, key=probabilities.__getitem__),
            "probabilities": [{"class": label, "probability": p} for label, p in probabilities.items()],
        }

    def check(row: Any, number: int) -> None:
        if not isinstance(row, dict):
            raise HTTPException(
                422, f"row {number}: an object with values by name is needed, such as {json.dumps(dict.fromkeys(list(names)[:1]))}"
            )
        for name, value in row.items():
            if name not in names:
                raise HTTPException(422, f"row {number}: there is no feature {name!r}; the features are {list(names)}")
            if isinstance(value, (list, dict)) or (isinstance(value, float) and not math.isfinite(value)):
                raise HTTPException(422, f"row {number}: {name!r}: a text, a number, a truth value or null is needed")

    return app


if __name__ == "__main__":
    import uvicorn

    uvicorn.run(app_of(sys.argv[1]), host="127.0.0.1", port=8000)
