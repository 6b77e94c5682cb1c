"""The commands, a module each; `main` imports a module when its command is typed."""
