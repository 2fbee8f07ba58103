"""Saved ensembles, methods and models.

`archive` is the file format: an NPZ file of plain arrays with a JSON manifest. `method_arrays` and `member_arrays` turn
fitted methods and members into arrays, `fitted_methods` and `feature_models` read them back after checking them.
`ensemble_files` writes ensembles as Parquet. `saving` has the public `save` and `load`.
"""
