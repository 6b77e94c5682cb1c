"""Receipts: matches operators' reports with messages and brings messages to their final state."""
