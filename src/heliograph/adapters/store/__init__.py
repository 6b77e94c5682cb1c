"""The store: durable truth behind `app.ports.Store`, a folder for each database engine."""
