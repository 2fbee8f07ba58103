"""What a consensus means: the number of clusters, cluster structure, clusters, scores."""
