"""Cache of one result per object, kept as long as the object exists."""

from collections.abc import Callable
from functools import wraps
from typing import TypeVar
from weakref import WeakKeyDictionary

Key = TypeVar("Key")
Result = TypeVar("Result")


def cached_per_object(function: Callable[[Key], Result]) -> Callable[[Key], Result]:
    """Cache the results of a function of one immutable object; a result must not refer to its object."""
    results: WeakKeyDictionary[Key, Result] = WeakKeyDictionary()

    @wraps(function)
    def cached(key: Key) -> Result:
        if key not in results:
            results[key] = function(key)
        return results[key]

    return cached
