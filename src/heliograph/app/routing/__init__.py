"""Routes: from the rules that are set up to the connectors that may take a message, and why."""
