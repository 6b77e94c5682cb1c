-- For people who search. None of it is written on the path of an ordinary message.

-- Destinations, a block of messages at a time, sorted within it: adapters/store/postgres/numbers.py.
CREATE TABLE message_number (
    key    bigint NOT NULL,
    block  integer NOT NULL,
    number text COLLATE "C" NOT NULL,
    PRIMARY KEY (block, number, key)
);

-- A block holds every message from `first_key` to `last_key`; the next one begins where it ends.
CREATE TABLE number_block (
    block     integer PRIMARY KEY,
    first_key bigint NOT NULL,
    last_key  bigint NOT NULL
);

-- Few messages end otherwise than delivered. A cancelled one has no state here.
CREATE INDEX final_undelivered ON final (key) WHERE state <> 2;
