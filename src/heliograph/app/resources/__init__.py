"""Administered things, each described once: its fields, what can be done with it, and who may.

The admin API, the commands, the console's pages and the reference are drawn from these descriptions.
"""
