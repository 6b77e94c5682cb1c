"""What is counted, measured and told of the facts of each commit."""
