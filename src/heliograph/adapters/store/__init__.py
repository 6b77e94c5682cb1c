"""The store: durable truth behind `app.ports.Store`, one folder a database engine."""
