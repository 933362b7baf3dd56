"""Releases put together: of different people, of the same people once more, and of new people over time.

Public: `merge` and `update`.
"""

from sfumato.merging.joint_release import merge
from sfumato.merging.new_people import update

__all__ = ["merge", "update"]
