"""The embedded store on its file: what no other store shares."""
