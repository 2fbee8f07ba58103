"""Read and write tables in files: CSV, TSV, Parquet, Arrow, NPY, NPZ, Excel, JSON and AnnData, through DuckDB.

A file is opened as a `LabelTable`: a view on a DuckDB connection, streamed whenever it is queried. Column names reach
SQL only through `LabelTable.raw` (cells as they are written, for ids and kept columns) and `LabelTable.label` (cells as
labels: numbers where the whole column is numeric, NULL where a label is missing).
"""

from quorate.tables.io.formats import FORMATS, STREAM, FileFormat, explained, find_format
from quorate.tables.io.label_table import (
    ROW,
    Column,
    ColumnProfile,
    LabelTable,
    match_columns,
    quote_name,
    quote_text,
    resolve,
)
from quorate.tables.io.reading import connect, escaped, find_files, open_limited, open_table
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
    "open_limited",
    "open_table",
    "output_format",
    "quote_name",
    "quote_text",
    "resolve",
    "write_table",
    "write_text",
    "writing",
]
