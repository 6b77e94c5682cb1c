"""Watchers of commits: they count and measure the facts, and publish them as events."""
