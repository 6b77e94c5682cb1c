"""What both stores share: rows, queries for people, the proof of the books."""
