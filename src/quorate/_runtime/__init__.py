"""Infrastructure of long computations: memory, time limits, progress, threads, workers, temporary files."""
