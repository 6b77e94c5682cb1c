-- networks_of_number: The networks of prefixes, such as all of a number; of these the shortest is first.
SELECT prefix, mccmnc, name FROM mobile_network WHERE prefix {among(prefixes)} AND {present(network)}
ORDER BY prefix {bytewise};

-- routes_of_number: The routes that may take a number of some networks.
SELECT {route} FROM route
WHERE prefix {among(prefixes)} AND network = ''
  AND account {among(accounts)} AND plan {among(plans)} AND sender {among(senders)} AND {present(route)}
UNION ALL
SELECT {route} FROM route
WHERE prefix = '' AND network {among(networks)} AND network <> ''
  AND account {among(accounts)} AND plan {among(plans)} AND sender {among(senders)} AND {present(route)};

-- prices_of_number: The prices of a number in some plans; and of each plan some price that holds.
SELECT {price} FROM price
WHERE plan {among(plans)} AND prefix {among(prefixes)} AND network = '' AND {present(price)}
UNION
SELECT {price} FROM price
WHERE plan {among(plans)} AND prefix = '' AND network {among(networks)} AND network <> '' AND {present(price)}
UNION
SELECT {price} FROM (
    SELECT {price} FROM price
    WHERE plan = :plan AND since <= :now AND {present(price)} LIMIT 1
) AS held;

-- costs_of_number: The costs of a number of some networks over some connectors.
SELECT {cost} FROM cost
WHERE connector {among(connectors)} AND network = '' AND prefix {among(prefixes)} AND {present(cost)}
UNION ALL
SELECT {cost} FROM cost
WHERE connector {among(connectors)} AND network {among(networks)} AND network <> '' AND {present(cost)};

-- list_routes: A part of the routes in a span of prefixes, behind a place, the highest priority of a target first.
-- It goes up from the place, or down from the end of the span: then the place is before all.
SELECT {route} FROM route
WHERE prefix >= :low AND prefix < :high AND (CAST(:connector AS bigint) = 0 OR connector = CAST(:connector AS bigint))
  AND (prefix, network) >= (:prefix, :network) AND {present(route)}
  AND ((prefix, network) > (:prefix, :network) OR priority < :priority OR (priority = :priority AND id > :route))
ORDER BY prefix {up}, network {up}, priority {down}, id {up} LIMIT :limit OFFSET :first;

-- count_routes: How many routes are in a span of prefixes.
SELECT count(*) FROM route
WHERE prefix >= :low AND prefix < :high AND (CAST(:connector AS bigint) = 0 OR connector = CAST(:connector AS bigint))
  AND {present(route)};

-- route_by_id: A route.
SELECT {route} FROM route WHERE id = :route AND {present(route)};

-- routes_to: The routes of some prefixes or networks.
SELECT {route} FROM route WHERE prefix {among(prefixes)} AND network {among(networks)} AND {present(route)};

-- routed_connectors: The connectors that have routes.
SELECT DISTINCT connector FROM route WHERE {present(route)};

-- plans_with_prices: The plans that have prices, by name: a step of the index for each.
WITH RECURSIVE names(plan) AS (
    SELECT min(plan) FROM price
    UNION ALL SELECT (SELECT min(p.plan) FROM price AS p WHERE p.plan > names.plan) FROM names WHERE plan IS NOT NULL
)
SELECT plan FROM names
WHERE EXISTS (SELECT 1 FROM price AS p WHERE p.plan = names.plan AND {present(price)}) ORDER BY plan {bytewise};

-- plans_with_routes: The plans that have routes of their own.
WITH RECURSIVE names(plan) AS (
    SELECT min(plan) FROM route WHERE plan <> ''
    UNION ALL SELECT (SELECT min(r.plan) FROM route AS r WHERE r.plan <> '' AND r.plan > names.plan) FROM names
    WHERE plan IS NOT NULL
)
SELECT plan FROM names
WHERE EXISTS (SELECT 1 FROM route AS r WHERE r.plan = names.plan AND r.plan <> '' AND {present(route)});

-- connectors_with_costs: The connectors that have costs, in their order.
SELECT id FROM connector WHERE EXISTS (SELECT 1 FROM cost WHERE cost.connector = connector.id AND {present(cost)})
ORDER BY id;

-- list_prices: A part of the prices of a plan in a span of prefixes, behind a place; and whether each holds now.
-- It goes up from the place, or down from the end of the span: then the place is before all.
SELECT {price}, since <= :now AND NOT is_replaced
FROM (
    SELECT {price}, EXISTS (
        SELECT 1 FROM price AS later WHERE later.plan = price.plan AND later.prefix = price.prefix
          AND later.network = price.network AND later.since > price.since AND later.since <= :now AND {present(price)}) AS is_replaced
    FROM price
    WHERE plan = :plan AND prefix >= :low AND prefix < :high
      AND (prefix, network, since) > (:prefix, :network, :since) AND {present(price)}
) AS found
WHERE CAST(:past AS bigint) = 1 OR NOT is_replaced ORDER BY prefix {up}, network {up}, since {up} LIMIT :limit OFFSET :first;

-- count_prices_in: How many prices of a plan are in a span of prefixes. Only a price with a date replaces others.
SELECT count(*) - CASE WHEN CAST(:past AS bigint) = 1 THEN 0 ELSE (
    SELECT count(*) FROM (
        SELECT prefix, network, max(since) AS newest FROM price
        WHERE plan = :plan AND prefix >= :low AND prefix < :high AND since > 0 AND since <= :now AND {present(price)}
        GROUP BY prefix, network
    ) AS held
    JOIN price AS p ON p.plan = :plan AND p.prefix = held.prefix AND p.network = held.network AND p.since < held.newest
      AND {present(price)}
) END
FROM price WHERE plan = :plan AND prefix >= :low AND prefix < :high AND {present(price)};

-- list_costs: A part of the costs of a connector, behind a place; without `past` those that hold or will hold.
SELECT {cost} FROM cost
WHERE connector = :connector AND (network, prefix, since) > (:network, :prefix, :since) AND {present(cost)}
  AND (CAST(:past AS bigint) = 1 OR (until = 0 OR until > :now) AND NOT EXISTS (
    SELECT 1 FROM cost AS later WHERE later.connector = cost.connector AND later.network = cost.network
      AND later.prefix = cost.prefix AND later.since > cost.since AND later.since <= :now AND {present(cost)}))
ORDER BY network, prefix, since LIMIT :limit;

-- list_networks: The next prefixes, of all networks or of a network.
SELECT prefix, mccmnc, name FROM mobile_network
WHERE prefix > :after AND (CAST(:mccmnc AS text) IS NULL OR mccmnc = CAST(:mccmnc AS text)) AND {present(network)}
ORDER BY prefix LIMIT :limit;

-- count_networks: How many prefixes have a network.
SELECT count(*) FROM mobile_network WHERE {present(network)};

-- count_costs: How many costs a connector has.
SELECT count(*) FROM cost WHERE connector = :connector AND {present(cost)};

-- priced_prefixes: The next prefixes in a span that have a price in a plan.
SELECT DISTINCT prefix FROM price
WHERE plan = :plan AND prefix >= :low AND prefix < :high AND network = '' AND since <= :now AND {present(price)}
ORDER BY prefix LIMIT :limit;

-- routed_prefixes: The next prefixes in a span that have a route for all accounts.
SELECT DISTINCT prefix FROM route
WHERE prefix >= :low AND prefix < :high AND network = '' AND account = 0 AND {present(route)}
ORDER BY prefix LIMIT :limit;

-- network_prefixes: The next prefixes in a span that have a network.
SELECT prefix FROM mobile_network WHERE prefix >= :low AND prefix < :high AND {present(network)}
ORDER BY prefix LIMIT :limit;

-- prices_of_destinations: All prices of some networks and prefixes in a plan.
SELECT {price} FROM price WHERE plan = :plan AND prefix {among(prefixes)} AND network = '' AND {present(price)}
UNION ALL
SELECT {price} FROM price
WHERE plan = :plan AND prefix = '' AND network {among(networks)} AND network <> '' AND {present(price)};
