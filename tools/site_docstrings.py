"""For the site's reference: an `Example:` of a docstring is shown as code, like the `Examples:` that griffe knows."""

from __future__ import annotations

import re
from typing import Any

from griffe import Extension, Object


class OneExample(Extension):
    """Read the section `Example` as `Examples`."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        """Rename the section where there is one."""
        if obj.docstring is not None:
            obj.docstring.value = re.sub(r"^Example:$", "Examples:", obj.docstring.value, flags=re.MULTILINE)
