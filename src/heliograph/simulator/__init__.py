"""An operator's SMSC to develop and test against. It misbehaves on request.

- `smsc.Simulator` is the server. It runs as a program (`run`) or on the loop of another program.
- `behaviour.Behaviour` has every knob. `reactions.Reactions` decides the result of each submit from it, without I/O.
- `magic_numbers` lists the destination numbers that choose a scenario, such as a rejected message.
- `link` is a connection, `writer` writes its octets, and `schedule` runs timed tasks.
- `receipt` writes the text of receipts, `phone` makes messages from phones, and `deliveries` sends both to a bind.
- `message` remembers messages, `enquiry` answers query_sm, cancel_sm and replace_sm, and `text` decodes contents.
- `log` and `live_table` show the traffic.
"""
