"""What is found about an ensemble is kept as long as the ensemble is."""

from collections.abc import Callable
from functools import wraps
from typing import TypeVar
from weakref import WeakKeyDictionary

Key = TypeVar("Key")
Found = TypeVar("Found")


def cached_per_object(find: Callable[[Key], Found]) -> Callable[[Key], Found]:
    """Remember what a function finds for an object that never changes; what it finds must not hold that object."""
    known: WeakKeyDictionary[Key, Found] = WeakKeyDictionary()

    @wraps(find)
    def found(key: Key) -> Found:
        if key not in known:
            known[key] = find(key)
        return known[key]

    return found
