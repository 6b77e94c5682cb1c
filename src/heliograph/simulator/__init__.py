"""An operator's SMSC to develop and test against, which misbehaves on request.

`smsc.Simulator` is the server; it runs as a program (`run`) or on another's loop. `behaviour.Behaviour` says how it
behaves; `plan.Planner` decides from it, without I/O, what becomes of each message, and `magic` lists the destination
numbers that choose their own fate. `link` is one connection, `outlet` how its octets are written, `agenda` what is due
when, `delivery` how receipts find their way, `receipt` how they are worded, `message` what is known of messages,
`enquiry` what may be asked about them, `text` how their contents are read, `journal` and `live` how it shows what it
does.
"""
