"""Where the rows of a fit are added up: on this machine, or where they lie.

`places` says where, and is public; `choosing` finds the engine of a table. The engines themselves are on the private
side: they see rows, and what they give to the curator is exact. The one of this machine is `private.engines.local`.
"""

from sfumato.engines.places import Local

__all__ = ["Local"]
