-- networks_of_number: The networks of the prefixes of a number, the shortest prefix first.
SELECT prefix, mccmnc, name FROM mobile_network WHERE prefix {among(prefixes)} ORDER BY prefix {bytewise};

-- routes_of_number: The routes that may take a number of a network.
SELECT {route} FROM route
WHERE prefix {among(prefixes)} AND network = ''
  AND account {among(accounts)} AND plan {among(plans)} AND sender {among(senders)}
UNION ALL
SELECT {route} FROM route
WHERE prefix = '' AND network = :network AND network <> ''
  AND account {among(accounts)} AND plan {among(plans)} AND sender {among(senders)};

-- prices_of_number: The prices of a number in some plans; and of each plan some price that holds.
SELECT {price} FROM price
WHERE plan {among(plans)} AND prefix {among(prefixes)} AND {present(price)}
UNION
SELECT * FROM (
    SELECT {price} FROM price
    WHERE plan = :plan AND since <= :now AND {present(price)} LIMIT 1
) AS held;

-- costs_of_number: The costs of a number of a network over some connectors.
SELECT {cost} FROM cost
WHERE connector {among(connectors)} AND network = '' AND prefix {among(prefixes)} AND {present(cost)}
UNION ALL
SELECT {cost} FROM cost
WHERE connector {among(connectors)} AND network = :network AND network <> '' AND {present(cost)};
