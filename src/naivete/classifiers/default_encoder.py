"""The settings of the default encoder as parameters of a classifier."""

from __future__ import annotations

from typing import Any, Self

from naivete.encoding.encoder import Encoder

__all__ = ["DefaultEncoderMixin"]


class DefaultEncoderMixin:
    """`get_params` and `set_params` that know the settings of the default encoder, such as `encoder__missing`.

    With encoder=None the settings are those of `Encoder()`; setting one of them makes an encoder. So scikit-learn's searches can
    vary settings of the encoder of a classifier that was made without one.
    """

    encoder: Encoder | None

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name.

        Parameters
        ----------
        deep : bool, default=True
            Whether to return the parameters of the encoder and of inner classifiers too, as `encoder__missing` and so on.

        Returns
        -------
        dict of {str: object}
            The values of the parameters.
        """
        params: dict[str, Any] = super().get_params(deep)  # type: ignore[misc]
        if deep and self.encoder is None:
            params |= {f"encoder__{name}": value for name, value in Encoder().get_params().items()}
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters, and return the classifier.

        Parameters
        ----------
        **params : object
            The values by name; `encoder__missing` sets the parameter `missing` of the parameter `encoder`.

        Returns
        -------
        self : NetworkClassifier
            The classifier itself.
        """
        if any(name.startswith("encoder__") for name in params) and params.get("encoder", self.encoder) is None:
            params["encoder"] = Encoder()
        super().set_params(**params)  # type: ignore[misc]
        return self
