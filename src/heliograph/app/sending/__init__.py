"""From what a customer asks to what is charged and stored: one way in for every door."""
