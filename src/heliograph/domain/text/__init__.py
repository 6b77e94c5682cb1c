"""Texts: alphabets, user data headers, segments, templates, and the texts of phones."""
