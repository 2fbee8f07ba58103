"""Combine many clusterings of the same data into one, and learn which of them to trust."""

from quorate.errors import QuorateError, QuorateWarning
from quorate.memory import memory_limit

__all__ = ["QuorateError", "QuorateWarning", "memory_limit"]
