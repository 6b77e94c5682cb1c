"""The admin API: administration over HTTP, for programs that hold a token."""

PATH = "/admin"
