"""Alerts to people by Apprise: mail, chat, pagers and others.

It needs the extra `alerts`, and is imported only if the settings ask for it.
"""

from heliograph.adapters.alerts.apprise_sender import AppriseSender, UnusableUrl

__all__ = ["AppriseSender", "UnusableUrl"]
