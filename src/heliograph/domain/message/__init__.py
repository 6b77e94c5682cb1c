"""Messages: ids, states, receipts, optional fields, opt-out, retention."""
