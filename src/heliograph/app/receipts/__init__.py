"""From operators' receipts to the final states of messages."""
