-- put_prices: Sets many prices, each of another prefix, plan or date; see `put_price`.
INSERT INTO price (plan, prefix, since, price, inbound)
SELECT g.plan, g.prefix, g.since, g.price, coalesce(g.inbound, (
    SELECT p.inbound FROM price AS p WHERE p.plan = g.plan AND p.prefix = g.prefix AND p.since <= g.since
    ORDER BY p.since DESC LIMIT 1), 0)
FROM unnest(
    CAST(:plans AS text[]), CAST(:prefixes AS text[]), CAST(:dates AS bigint[]), CAST(:prices AS bigint[]),
    CAST(:inbound AS bigint[])
) AS g (plan, prefix, since, price, inbound)
ON CONFLICT (plan, prefix, since) DO UPDATE SET price = excluded.price, inbound = excluded.inbound;
