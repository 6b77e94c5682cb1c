"""Life of long-lived tasks: group commit, ticking, supervision, drain."""
