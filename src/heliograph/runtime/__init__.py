"""How long-lived tasks live: group commit, ticking, supervision, drain."""
