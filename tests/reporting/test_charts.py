"""The charts' specifications, and the script that draws them."""

from __future__ import annotations

import builtins
import json
from typing import Any

import pytest

from sfumato.errors import MissingExtraError
from sfumato.reporting.charts import specifications, vega_bundle


@pytest.mark.slow
def test_charts_take_rows_and_have_no_address() -> None:
    made = specifications()
    assert set(made) == {"bars", "dots", "map", "pair", "scatter", "power", "places"}
    for kind, spec in made.items():
        assert [each for each in spec["data"] if each["name"] == "rows"], kind
        assert '"url"' not in json.dumps(spec)
        assert isinstance(spec["width"], int)


@pytest.mark.slow
def test_the_script_can_stand_in_a_page() -> None:
    bundle = vega_bundle()
    assert "</script" not in bundle
    assert "window.vegaEmbed" in bundle


@pytest.mark.parametrize("make", [vega_bundle, specifications])
def test_a_missing_extra_is_named(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def refuse(name: str, *rest: Any) -> Any:
        if name in ("altair", "vl_convert"):
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(MissingExtraError, match=r"pip install 'sfumato\[report\]'"):
        make.__wrapped__()
