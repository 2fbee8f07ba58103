"""Small helpers without domain knowledge: checks, optional imports, array types, notebook HTML."""
