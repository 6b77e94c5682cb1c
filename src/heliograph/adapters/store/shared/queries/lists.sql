-- take_list: Begins an import and returns its ticket; no row while another import goes on.
UPDATE list_import SET ticket = ticket + 1, until = :until WHERE kind = :kind AND until <= :now RETURNING ticket;

-- hold_list: Renews the lease of an import and returns the hidden side; no row if another import took over.
UPDATE list_import SET until = :until WHERE kind = :kind AND ticket = :ticket RETURNING hidden;

-- swap_list: Lets the new list hold.
UPDATE list_import SET hidden = 1 WHERE kind = :kind;

-- end_list: Notes that all rows of a kind have side 0.
UPDATE list_import SET hidden = 2, until = :until WHERE kind = :kind;

-- interrupted_lists: The imports that were interrupted, so that they left rows.
SELECT kind FROM list_import WHERE until > 0 AND until <= :now ORDER BY kind;

-- lock_tables: Makes other changes of the tables wait for the end of this transaction.
UPDATE revision SET value = value;

-- count_listed: How many rows an owner has, up to a limit.
SELECT count(*) FROM (
    SELECT 1 FROM {listed.table} WHERE {listed.is_owned}
      AND side <> (SELECT hidden FROM list_import WHERE kind = '{listed.kind}') LIMIT :limit) AS found;

-- end_owned: Lets the next rows of an owner hold only until the import.
UPDATE {listed.table} SET side = 1 WHERE {listed.is_owned} AND side = 0 AND ({listed.rest}) IN (
    SELECT {listed.rest} FROM {listed.table}
    WHERE {listed.is_owned} AND side = 0 AND ({listed.rest}) > ({listed.after})
    ORDER BY {listed.rest} LIMIT :limit)
RETURNING {listed.rest};

-- end_listed: Lets the rows that a part of the list replaces hold only until the import.
UPDATE {listed.table} SET side = 1 FROM {elements(rows)} AS j WHERE {listed.is_listed} AND {listed.table}.side = 0
RETURNING 1;

-- sided: An owner that has rows of a side.
SELECT {listed.owner} FROM {listed.table} WHERE side > 0 AND side = :side LIMIT 1;

-- drop_sided: Removes some rows of an owner that no longer hold, or that never will.
DELETE FROM {listed.table} WHERE {listed.is_owned} AND side = :side AND ({listed.row}) IN (
    SELECT {listed.row} FROM {listed.table} WHERE {listed.is_owned} AND side > 0 AND side = :side LIMIT :limit);

-- keep_sided: Gives some rows of an owner side 0.
UPDATE {listed.table} SET side = 0 WHERE {listed.is_owned} AND side = :side AND ({listed.row}) IN (
    SELECT {listed.row} FROM {listed.table} WHERE {listed.is_owned} AND side > 0 AND side = :side LIMIT :limit);

-- put_listed_price: Adds a part of the list: plan, prefix, network, date, price, price of a message from there or null,
-- and the lowest side of an earlier price that says what null is.
INSERT INTO price (plan, prefix, network, since, price, inbound, side)
SELECT
    j.value ->> 0, j.value ->> 1, j.value ->> 2, CAST(j.value ->> 3 AS bigint), CAST(j.value ->> 4 AS bigint),
    coalesce(CAST(j.value ->> 5 AS bigint), (
        SELECT p.inbound FROM price AS p
        WHERE p.plan = j.value ->> 0 AND p.prefix = j.value ->> 1 AND p.network = j.value ->> 2
          AND p.since <= CAST(j.value ->> 3 AS bigint) AND p.side >= CAST(j.value ->> 6 AS bigint)
        ORDER BY p.since DESC, p.side DESC LIMIT 1), 0),
    2
FROM {elements(rows)} AS j WHERE {true}
ON CONFLICT (plan, prefix, network, since, side) DO UPDATE SET price = excluded.price, inbound = excluded.inbound
RETURNING 1;

-- put_listed_cost: Adds a part of the list: connector, network, prefix, date, both costs, and the end.
INSERT INTO cost (connector, network, prefix, since, submitted, delivered, until, side)
SELECT
    CAST(j.value ->> 0 AS bigint), j.value ->> 1, j.value ->> 2, CAST(j.value ->> 3 AS bigint),
    CAST(j.value ->> 4 AS bigint), CAST(j.value ->> 5 AS bigint), CAST(j.value ->> 6 AS bigint), 2
FROM {elements(rows)} AS j WHERE {true}
ON CONFLICT (connector, network, prefix, since, side) DO UPDATE SET
    submitted = excluded.submitted, delivered = excluded.delivered, until = excluded.until
RETURNING 1;

-- put_listed_route: Adds the routes of a part of the list that are missing, or that hold only until the import.
INSERT INTO route (prefix, network, account, plan, sender, connector, priority, share, fallback, side)
SELECT {listed_route}, 2 FROM {elements(rows)} AS j
WHERE NOT EXISTS (SELECT 1 FROM route AS r WHERE {same_route} AND r.side <> 1)
RETURNING 1;

-- put_listed_network: Adds a part of the list: prefix, MCCMNC and name.
INSERT INTO mobile_network (prefix, mccmnc, name, side)
SELECT j.value ->> 0, j.value ->> 1, j.value ->> 2, 2 FROM {elements(rows)} AS j WHERE {true}
ON CONFLICT (prefix, side) DO UPDATE SET mccmnc = excluded.mccmnc, name = excluded.name
RETURNING 1;
