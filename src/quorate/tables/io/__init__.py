"""Reading and writing tables of labels: CSV, TSV, Parquet, Arrow, NPY and NPZ files, through DuckDB.

A file is opened as a `LabelTable`: a view in a DuckDB connection, read as a stream whenever it is queried. Column names
reach SQL only through `LabelTable.raw` (the cell as it stands in the file, for ids) and `LabelTable.label` (the cell as
a label: a number where the whole column is numbers, NULL where it is missing).
"""

from quorate.tables.io.formats import FORMATS, STREAM, FileFormat, explained, find_format
from quorate.tables.io.label_table import ROW, Column, ColumnProfile, LabelTable, match_columns, quote_name
from quorate.tables.io.reading import connect, escaped, find_files, open_table
from quorate.tables.io.writing import (
    check_ending,
    check_output,
    make_folder,
    output_format,
    write_table,
    write_text,
    writing,
)

__all__ = [
    "FORMATS",
    "ROW",
    "STREAM",
    "Column",
    "ColumnProfile",
    "FileFormat",
    "LabelTable",
    "check_ending",
    "check_output",
    "connect",
    "escaped",
    "explained",
    "find_files",
    "find_format",
    "make_folder",
    "match_columns",
    "open_table",
    "output_format",
    "quote_name",
    "write_table",
    "write_text",
    "writing",
]
