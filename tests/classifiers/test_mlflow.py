"""MLflow by its scikit-learn route: a classifier is logged, loaded and predicts the same."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import naivete
from tests.inference.test_distribution import patients


@pytest.mark.filterwarnings("ignore", "error::naivete.errors.NaiveteWarning")
def test_a_logged_classifier_predicts_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("mlflow", reason="MLflow is not installed: pip install mlflow")
    import mlflow

    monkeypatch.chdir(tmp_path)
    frame, labels = patients(missing=True)
    model = naivete.TAN().fit(frame, labels)
    mlflow.set_tracking_uri(f"sqlite:///{tmp_path}/mlflow.db")
    with mlflow.start_run():
        logged = mlflow.sklearn.log_model(model, name="model", serialization_format="cloudpickle")
    loaded = mlflow.sklearn.load_model(logged.model_uri)
    assert isinstance(loaded, naivete.TAN)
    assert np.array_equal(loaded.predict_proba(frame), model.predict_proba(frame))
    assert naivete.model_hash(loaded) == naivete.model_hash(model)
    general = mlflow.pyfunc.load_model(logged.model_uri)
    assert np.array_equal(general.predict(frame), model.predict(frame))
