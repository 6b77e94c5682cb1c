-- For people who search. None of it is written on the path of an ordinary message.

-- Destinations, a block of messages at a time, sorted within it: adapters/store/sqlite/numbers.py.
CREATE TABLE message_number (
    block  INTEGER NOT NULL,
    number TEXT NOT NULL,
    key    INTEGER NOT NULL,
    PRIMARY KEY (block, number, key)
) STRICT, WITHOUT ROWID;

-- A block holds every message from `first_key` to `last_key`; the next one begins where it ends.
CREATE TABLE number_block (
    block     INTEGER PRIMARY KEY,
    first_key INTEGER NOT NULL,
    last_key  INTEGER NOT NULL
) STRICT;

-- Few messages end otherwise than delivered. A cancelled one has no state here.
CREATE INDEX final_undelivered ON final (key) WHERE state <> 2;
