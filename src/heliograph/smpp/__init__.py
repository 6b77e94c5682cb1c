"""SMPP v3.4 without I/O, with the useful parts of v5.0.

- `session.Session` speaks the protocol in either role. It takes received octets and the time, and returns events
  (`event`) and octets to send.
- `submit.BodyTemplate` encodes the bodies of messages fast.
- `receipt` reads delivery receipts as operators really write them.
- `link.Backoff` says when to try a lost link again.
- `codec` turns frames into PDUs (`pdu`) and back; `tlv` reads optional parameters; `framer` cuts the stream.
- `window` keeps the requests that wait for a response; `state` says which PDU may be sent when; `constants` has the
  numbers.

This package uses no clock, no socket and no log.
"""
