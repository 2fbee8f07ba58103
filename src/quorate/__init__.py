"""Combine many clusterings of the same data into one, and learn which of them to trust.

The public names are listed in the stub `__init__.pyi`; each is loaded when it is first used.
"""

import lazy_loader

__version__ = "0.2.0"

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
