"""Watchers of commits: they count, measure and tell what the facts say."""
