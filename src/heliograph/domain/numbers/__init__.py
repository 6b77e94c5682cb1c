"""Numbers of phones: E.164, national forms, countries, prefixes, number rules."""
