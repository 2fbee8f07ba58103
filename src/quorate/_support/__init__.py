"""What every room uses and no reader of the paper looks for: checks, memory, progress, long work, types."""
