"""OpenAPI documents for people: examples, programs that call an operation, and a page. They know no API."""
