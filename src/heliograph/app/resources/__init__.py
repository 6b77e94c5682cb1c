"""Administered things, each described once: its fields, its operations, and who may.

The admin API, the commands, the console's pages and the reference are drawn from these descriptions.
"""
