-- take_list: Begins an import and returns its ticket; no row while another import goes on.
UPDATE list_import SET ticket = ticket + 1, until = :until WHERE kind = :kind AND until <= :now RETURNING ticket;

-- hold_list: Renews the lease of an import and returns the hidden side; no row if another import took over.
UPDATE list_import SET until = :until WHERE kind = :kind AND ticket = :ticket RETURNING hidden;

-- swap_list: Lets the new list hold.
UPDATE list_import SET hidden = 1 WHERE kind = :kind;

-- end_list: Notes that all rows of a kind have side 0.
UPDATE list_import SET hidden = 2, until = :until WHERE kind = :kind;

-- interrupted_list: Whether an import was interrupted, so that it left rows.
SELECT 1 FROM list_import WHERE kind = :kind AND until > 0 AND until <= :now;

-- lock_tables: Makes other changes of the tables wait for the end of this transaction.
UPDATE revision SET value = value;

-- count_prices: How many prices some plans have, up to a limit.
SELECT count(*) FROM (SELECT 1 FROM price WHERE plan {among(owners)} AND {present(price)} LIMIT :limit) AS found;

-- count_costs: How many costs some connectors have, up to a limit.
SELECT count(*) FROM (SELECT 1 FROM cost WHERE connector {among(owners)} AND {present(cost)} LIMIT :limit) AS found;

-- end_prices: Lets the next prices of a plan hold only until the import.
UPDATE price SET side = 1 WHERE plan = :owner AND side = 0 AND (prefix, since) IN (
    SELECT p.prefix, p.since FROM price AS p
    WHERE p.plan = :owner AND p.side = 0 AND (p.prefix, p.since) > (:prefix, :since)
    ORDER BY p.prefix, p.since LIMIT :limit)
RETURNING prefix, since;

-- end_costs: Lets the next costs of a connector hold only until the import.
UPDATE cost SET side = 1 WHERE connector = :owner AND side = 0 AND (network, prefix, since) IN (
    SELECT c.network, c.prefix, c.since FROM cost AS c
    WHERE c.connector = :owner AND c.side = 0 AND (c.network, c.prefix, c.since) > (:network, :prefix, :since)
    ORDER BY c.network, c.prefix, c.since LIMIT :limit)
RETURNING network, prefix, since;

-- end_listed_prices: Lets the prices that a part of the list replaces hold only until the import.
UPDATE price SET side = 1 FROM {elements(rows)} AS j
WHERE price.plan = j.value ->> 0 AND price.prefix = j.value ->> 1 AND price.since = CAST(j.value ->> 2 AS bigint)
  AND price.side = 0;

-- end_listed_costs: Lets the costs that a part of the list replaces hold only until the import.
UPDATE cost SET side = 1 FROM {elements(rows)} AS j
WHERE cost.connector = CAST(j.value ->> 0 AS bigint) AND cost.network = j.value ->> 1 AND cost.prefix = j.value ->> 2
  AND cost.since = CAST(j.value ->> 3 AS bigint) AND cost.side = 0;

-- put_listed_prices: Adds a part of the list: plan, prefix, date, price, price of a message from there or null, and the
-- lowest side of an earlier price that says what null is.
INSERT INTO price (plan, prefix, since, price, inbound, side)
SELECT
    j.value ->> 0, j.value ->> 1, CAST(j.value ->> 2 AS bigint), CAST(j.value ->> 3 AS bigint),
    coalesce(CAST(j.value ->> 4 AS bigint), (
        SELECT p.inbound FROM price AS p
        WHERE p.plan = j.value ->> 0 AND p.prefix = j.value ->> 1 AND p.since <= CAST(j.value ->> 2 AS bigint)
          AND p.side >= CAST(j.value ->> 5 AS bigint)
        ORDER BY p.since DESC, p.side DESC LIMIT 1), 0),
    2
FROM {elements(rows)} AS j WHERE {true}
ON CONFLICT (plan, prefix, since, side) DO UPDATE SET price = excluded.price, inbound = excluded.inbound;

-- put_listed_costs: Adds a part of the list: connector, network, prefix, date, and both costs.
INSERT INTO cost (connector, network, prefix, since, submitted, delivered, side)
SELECT
    CAST(j.value ->> 0 AS bigint), j.value ->> 1, j.value ->> 2, CAST(j.value ->> 3 AS bigint),
    CAST(j.value ->> 4 AS bigint), CAST(j.value ->> 5 AS bigint), 2
FROM {elements(rows)} AS j WHERE {true}
ON CONFLICT (connector, network, prefix, since, side) DO UPDATE SET
    submitted = excluded.submitted, delivered = excluded.delivered;

-- sided_prices: A plan that has prices of a side.
SELECT plan FROM price WHERE side > 0 AND side = :side LIMIT 1;

-- sided_costs: A connector that has costs of a side.
SELECT connector FROM cost WHERE side > 0 AND side = :side LIMIT 1;

-- drop_prices: Removes some prices that no longer hold, or that never will.
DELETE FROM price WHERE plan = :owner AND side = :side AND (prefix, since) IN (
    SELECT prefix, since FROM price WHERE plan = :owner AND side > 0 AND side = :side LIMIT :limit);

-- drop_costs: Removes some costs that no longer hold, or that never will.
DELETE FROM cost WHERE connector = :owner AND side = :side AND (network, prefix, since) IN (
    SELECT network, prefix, since FROM cost WHERE connector = :owner AND side > 0 AND side = :side LIMIT :limit);

-- keep_prices: Gives some prices side 0.
UPDATE price SET side = 0 WHERE plan = :owner AND side = :side AND (prefix, since) IN (
    SELECT prefix, since FROM price WHERE plan = :owner AND side > 0 AND side = :side LIMIT :limit);

-- keep_costs: Gives some costs side 0.
UPDATE cost SET side = 0 WHERE connector = :owner AND side = :side AND (network, prefix, since) IN (
    SELECT network, prefix, since FROM cost WHERE connector = :owner AND side > 0 AND side = :side LIMIT :limit);
