"""The console: web pages for those who run the gateway."""

PATH = "/console"
