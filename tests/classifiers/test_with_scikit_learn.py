"""Names, scores, parameters of the encoder and notebooks: what scikit-learn and Jupyter expect of a classifier."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from sklearn.base import clone
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import CategoricalNB

from naivete import TAN, Encoder, EqualWidth, HillClimb, InfoSelector, NaiveBayes, ParameterError, load, save
from naivete.classifiers.registry import REGISTRY
from naivete.display.network_drawing import svg


@pytest.fixture(scope="module")
def cases():
    rng = np.random.default_rng(3)
    y = rng.integers(3, size=120)
    X = pd.DataFrame({f"f{i}": (rng.integers(3, size=120) + (rng.random(120) < 0.5) * y) % 3 for i in range(4)})
    X["g"] = X["f1"]
    return X, y


def test_parents_and_information_by_name(cases, tmp_path):
    X, y = cases
    model = TAN().fit(X, pd.Series(y, name="kind"))
    assert set(model.parents_) == {*X.columns, "kind"}
    assert model.parents_["kind"] == ()
    assert all(parents[-1] == "kind" for name, parents in model.parents_.items() if name != "kind")
    assert ("f1" in model.parents_["g"]) or ("g" in model.parents_["f1"])
    arcs = {(p, name) for name, parents in model.parents_.items() for p in parents if p != "kind"}
    assert {key for key in model.information_ if isinstance(key, tuple)} == arcs - {(p, "kind") for p in X}
    for x, name in enumerate(X):
        assert model.information_[name] == model.relevance_[x]
    save(model, tmp_path / "model.nvt")
    loaded = load(tmp_path / "model.nvt")
    assert (loaded.parents_, loaded.information_) == (model.parents_, model.information_)
    unrestricted = HillClimb().fit(X, pd.Series(y, name="kind"))
    assert unrestricted.parents_["kind"] == tuple(X.columns[p] for p in unrestricted.network_.parents[-1])


def test_drawings_take_names_and_positions(cases):
    X, y = cases
    model = TAN().fit(X, y)
    positions = {**dict(enumerate(model.relevance_.tolist())), **model.arc_information_}
    assert svg(model.network_, information=model.information_) == svg(model.network_, information=positions)


@pytest.mark.filterwarnings("ignore:a feature is a copy:naivete.NaiveteWarning")
@pytest.mark.parametrize("entry", REGISTRY, ids=lambda entry: entry.word)
def test_decision_function(cases, entry):
    X, y = cases
    options = {"members": 1, "trees": 2, "boosting": 2} if entry.word == "spectrum" else {}
    for classes in (2, 3):
        rows = y < classes
        model = entry.estimator(**options).fit(X[rows], y[rows])
        scores, posterior = model.decision_function(X), model.predict_proba(X)
        assert np.isfinite(scores).all()
        if classes == 2:
            np.testing.assert_array_equal((scores > 0).astype(int), model.predict(X))
            np.testing.assert_allclose(expit(scores), posterior[:, 1], atol=1e-12)
        else:
            assert scores.shape == (len(X), 3)
            chosen = np.take_along_axis(posterior, scores.argmax(axis=1)[:, None], axis=1)[:, 0]
            np.testing.assert_allclose(chosen, posterior.max(axis=1), rtol=1e-12)


def test_decision_function_beside_scikit_learn(cases):
    X, y = cases
    theirs, ours = CategoricalNB().fit(X, y), NaiveBayes().fit(X, y)
    np.testing.assert_allclose(ours.decision_function(X), theirs.predict_joint_log_proba(X), rtol=1e-12)
    two = NaiveBayes(calibration="leave-one-out").fit(X[y < 2], y[y < 2])
    posterior = two.predict_proba(X)
    np.testing.assert_allclose(two.decision_function(X), np.log(posterior[:, 1] / posterior[:, 0]), atol=1e-9)


def test_impossible_rows_have_finite_scores():
    model = NaiveBayes(smoothing=0).fit([["a", "a"], ["a", "b"], ["b", "b"], ["b", "a"]], [0, 0, 1, 1])
    scores = model.decision_function([["a", "a"], ["b", "b"]])
    assert np.isfinite(scores).all()
    assert roc_auc_score([0, 1], scores) == 1.0


def test_search_over_the_default_encoder():
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=90)
    X = rng.normal(size=(90, 2)) + y[:, None]
    model = NaiveBayes()
    assert model.get_params()["encoder__missing"] == "omit"
    assert model.get_params(deep=False)["encoder"] is None
    grid = {"encoder__cut": [EqualWidth(2), EqualWidth(5)], "encoder__numbers": ["cut", "normal"], "smoothing": [1.0]}
    search = GridSearchCV(model, grid, cv=2, error_score="raise").fit(X, y)
    assert search.best_estimator_.encoder.numbers == search.best_params_["encoder__numbers"]
    assert model.encoder is None
    given = NaiveBayes(encoder=Encoder(numbers="normal"))
    assert clone(given).set_params(encoder__missing="state").encoder == Encoder(numbers="normal", missing="state")
    assert given.encoder == Encoder(numbers="normal")
    first = NaiveBayes().set_params(encoder__missing="state")
    assert first.encoder == Encoder(missing="state")
    assert clone(first).get_params() == first.get_params()
    assert first.set_params(encoder=None, encoder__unseen="smooth").encoder == Encoder(unseen="smooth")
    with pytest.raises(ParameterError, match="no setting 'missin'"):
        NaiveBayes().set_params(encoder__missin="state")
    assert InfoSelector().set_params(encoder__missing="state").encoder == Encoder(missing="state")


def test_what_notebooks_show(cases):
    X, y = cases
    fitted = TAN().fit(X, y)._repr_mimebundle_(include=None, exclude=None)
    assert fitted["text/plain"] == "TAN()"
    assert fitted["text/html"].startswith("<svg")
    assert "<svg" not in TAN()._repr_mimebundle_()["text/html"].split("sk-")[0]
    assert "TAN" in TAN()._repr_mimebundle_()["text/html"]


@pytest.mark.slow
def test_executed_notebook_shows_the_network():
    nbformat = pytest.importorskip("nbformat", reason="nbformat writes notebooks; pip install nbclient ipykernel")
    nbclient = pytest.importorskip("nbclient", reason="nbclient executes notebooks; pip install nbclient ipykernel")
    pytest.importorskip("ipykernel", reason="ipykernel runs the cells; pip install ipykernel")
    code = "import naivete\nnaivete.TAN().fit([['0', '0'], ['0', '1'], ['1', '0'], ['1', '1']], ['even', 'odd', 'odd', 'even'])"
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the packages that run the notebook
        nbclient.NotebookClient(notebook, timeout=600, startup_timeout=600, kernel_name="python3").execute()
    (output,) = notebook.cells[0].outputs
    assert "<svg" in output["data"]["text/html"]
    assert "x1" in output["data"]["text/html"]
