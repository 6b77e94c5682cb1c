"""The console: web pages for users who administer the gateway."""

PATH = "/console"
