"""An operator's SMSC to develop and test against, which misbehaves on request.

`smsc.Simulator` is the server; it runs as a program (`run`) or on another's loop. `behaviour.Behaviour` has every knob;
`reactions.Reactions` decides from it, without I/O, what becomes of each submit, and `magic_numbers` lists the
destinations that choose their own scenario. `link` is one connection and `writer` writes its octets; `schedule` runs
what falls due. `receipt` words receipts, `phone` makes messages from phones, `deliveries` brings both to a bind.
`message` remembers messages, `enquiry` answers query_sm, cancel_sm and replace_sm about them, `text` decodes their
contents. `log` and `live_table` show what happens.
"""
