"""The modules of commands. `main` imports a module when its command is typed."""
