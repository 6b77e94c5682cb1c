"""The command line. Modules import click and nothing else that takes time; what a command needs it imports itself."""
