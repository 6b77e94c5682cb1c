"""SMPP v3.4 without I/O, with what is useful of v5.0.

`session.Session` speaks the protocol in either role: it takes received octets and the time, and gives events
(`event`) and octets to send. `submit.BodyTemplate` makes the bodies of messages fast, `receipt` reads
delivery receipts as operators really write them, `link.Backoff` says when to try a lost link again. Below
them `codec` turns frames into PDUs (`pdu`) and back, `tlv` reads optional parameters, `framer` cuts the
stream, `window` keeps the requests under way, `state` says what may travel when, `constants` names the
numbers. Nothing here knows a clock, a socket or a log.
"""
