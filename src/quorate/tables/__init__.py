"""Any size: frames of every engine, files larger than memory, patterns in blocks."""
