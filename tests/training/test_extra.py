"""What trains is an extra, and is asked for before anything is spent."""

from __future__ import annotations

import sys

import pytest

from sfumato.errors import MissingExtraError
from sfumato.training.extra import check_extra


@pytest.mark.parametrize("missing", ["equinox", "jax", "optax"])
def test_what_is_missing_is_told_in_one_line(missing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(MissingExtraError, match=r"^training a generator needs an extra: pip install sfumato\[train\]$"):
        check_extra()
    with pytest.raises(MissingExtraError, match=r"^a picture needs an extra"):
        check_extra("a picture")
