-- When scheduled messages were given another time, and which they had. Twenty times of a message are kept at most
-- (app.facts.MOST_MOVES): who moves it for ever fills no disk.
CREATE TABLE moved (
    key  INTEGER NOT NULL,
    at   INTEGER NOT NULL,
    was  INTEGER NOT NULL,
    time INTEGER NOT NULL,
    PRIMARY KEY (key, at)
) STRICT, WITHOUT ROWID;
