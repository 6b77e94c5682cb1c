-- revision: The number of changes to accounts, connectors, routes and prices.
SELECT value FROM revision;

-- tables_changed: Makes every process read the tables again.
UPDATE revision SET value = value + 1;

-- note_change: Notes that a row of a large table changed, or the whole table.
INSERT INTO changed_row (revision, kind, owner, network, prefix)
SELECT value, :kind, :owner, :network, :prefix FROM revision WHERE {true} ON CONFLICT DO NOTHING;

-- forget_changes: Removes the notes of old revisions.
DELETE FROM changed_row WHERE revision < (SELECT value FROM revision) - CAST(:kept AS bigint);

-- changed_tables: Tables that changed as a whole after a revision.
SELECT DISTINCT kind FROM changed_row WHERE revision > :since AND prefix = '*';

-- due: How many prices came into force after a moment, and how many costs did or ended, up to a limit.
-- SQLite searches an index from the first bound on: from 0 on, it would read all dates that have passed.
SELECT
    (SELECT count(*) FROM (
        SELECT 1 FROM price WHERE since > 0 AND since > :was AND since <= :now AND {present(price)} LIMIT :limit) AS p),
    (SELECT count(*) FROM (
        SELECT 1 FROM cost WHERE since > :was AND since <= :now AND since > 0 AND {present(cost)}
        UNION ALL SELECT 1 FROM cost WHERE until > :was AND until <= :now AND until > 0 AND {present(cost)}
        LIMIT :limit) AS c);

-- next_dates: When the next price comes into force, and when the next cost does or ends.
SELECT
    (SELECT min(since) FROM price WHERE since > 0 AND since > :now AND {present(price)}),
    (SELECT min(at) FROM (
        SELECT min(since) AS at FROM cost WHERE since > :now AND since > 0 AND {present(cost)}
        UNION ALL SELECT min(until) FROM cost WHERE until > :now AND until > 0 AND {present(cost)}) AS c);

-- changed_routes: The routes of targets that changed after a revision; NULL for targets without any.
SELECT
    c.prefix, c.network, r.account, r.plan, r.sender,
    CAST({json_group}({json_array}(r.connector, r.priority, r.share, r.fallback)) AS text)
FROM (SELECT DISTINCT network, prefix FROM changed_row WHERE revision > :since AND kind = 'route') AS c
LEFT JOIN route AS r ON r.prefix = c.prefix AND r.network = c.network AND {present(route)}
GROUP BY c.prefix, c.network, r.account, r.plan, r.sender;

-- changed_prices: The prices that changed after a revision or came into force; NULL for prices that were removed.
WITH changed AS (
    SELECT owner AS plan, prefix, network FROM changed_row WHERE revision > :since AND kind = 'price'
    UNION SELECT plan, prefix, network FROM price
    WHERE since > 0 AND since > :was AND since <= :now AND {present(price)}
)
SELECT c.plan, c.prefix, c.network, p.since, p.price, p.inbound
FROM changed AS c
LEFT JOIN price AS p ON p.plan = c.plan AND p.prefix = c.prefix AND p.network = c.network AND {present(price)}
ORDER BY c.plan, c.prefix, c.network, p.since;

-- changed_costs: The costs that changed after a revision, came into force or ended; NULL for costs that were removed.
WITH changed AS (
    SELECT CAST(owner AS bigint) AS connector, network, prefix FROM changed_row
    WHERE revision > :since AND kind = 'cost' AND owner <> ''
    UNION SELECT connector, network, prefix FROM cost
    WHERE since > :was AND since <= :now AND since > 0 AND {present(cost)}
    UNION SELECT connector, network, prefix FROM cost
    WHERE until > :was AND until <= :now AND until > 0 AND {present(cost)}
)
SELECT c.connector, c.network, c.prefix, k.since, k.submitted + k.delivered, k.until
FROM changed AS c
LEFT JOIN cost AS k
  ON k.connector = c.connector AND k.network = c.network AND k.prefix = c.prefix AND {present(cost)}
ORDER BY c.connector, c.network, c.prefix, k.since;

-- network_page: The next prefixes of networks, in columns.
SELECT {json_group}(prefix), {json_group}(mccmnc)
FROM (
    SELECT prefix, mccmnc FROM mobile_network WHERE prefix > :prefix AND {present(network)} ORDER BY prefix LIMIT :limit
) AS page;

-- route_page: The routes of the next targets, in columns.
SELECT
    {json_group}(prefix), {json_group}(network), {json_group}(account), {json_group}(plan), {json_group}(sender),
    {json_group}(ways)
FROM (
    SELECT
        prefix, network, account, plan, sender,
        CAST({json_group}({json_array}(connector, priority, share, fallback)) AS text) AS ways
    FROM route
    WHERE (prefix, network, account, plan, sender) > (:prefix, :network, :account, :plan, :sender) AND {present(route)}
    GROUP BY prefix, network, account, plan, sender
    ORDER BY prefix, network, account, plan, sender LIMIT :limit
) AS page;

-- price_page: The next prices of a plan, in columns, and the plan behind it.
SELECT
    (SELECT min(plan) FROM price WHERE plan > :plan),
    {json_group}(prefix), {json_group}(network), {json_group}(since), {json_group}(price), {json_group}(inbound)
FROM (
    SELECT prefix, network, since, price, inbound FROM price
    WHERE plan = :plan AND (prefix, network, since) > (:prefix, :network, :since) AND {present(price)}
    ORDER BY prefix, network, since LIMIT :limit
) AS page;

-- cost_page: The next costs of a connector, in columns, and the connector behind it.
SELECT
    (SELECT min(connector) FROM cost WHERE connector > :connector),
    {json_group}(network), {json_group}(prefix), {json_group}(since), {json_group}(whole),
    {json_group}(until)
FROM (
    SELECT network, prefix, since, submitted + delivered AS whole, until FROM cost
    WHERE connector = :connector AND (network, prefix, since) > (:network, :prefix, :since) AND {present(cost)}
    ORDER BY network, prefix, since LIMIT :limit
) AS page;

-- connectors: All connectors, in the order of their creation.
SELECT {connector} FROM connector ORDER BY id;

-- add_connector: Adds a connector; no row if the name exists.
INSERT INTO connector (name, kind, binds, "window", rate, state, max_day, max_month, settings, created)
VALUES (:name, :kind, :binds, :window, :rate, :state, :max_day, :max_month, :settings, :created)
ON CONFLICT (name) DO NOTHING RETURNING id;

-- namesake: Whether another connector has this name.
SELECT 1 FROM connector WHERE name = :name AND id <> :id;

-- update_connector: Changes all columns of a connector except its id.
UPDATE connector SET
    name = :name, kind = :kind, binds = :binds, "window" = :window, rate = :rate, state = :state,
    max_day = :max_day, max_month = :max_month,
    settings = :settings, created = :created
WHERE id = :id RETURNING 1;

-- remove_connector: Removes a connector. Returns its id, if it existed.
DELETE FROM connector WHERE name = :name RETURNING id;

-- connector_exists: Whether there is such a connector.
SELECT 1 FROM connector WHERE id = :connector;

-- remove_routes: Removes the routes to a connector.
DELETE FROM route WHERE connector = :connector;

-- remove_link_states: Removes the reports of a connector.
DELETE FROM link_state WHERE connector = :connector;

-- add_operator_parts: Adds parts that the operator of a connector took on a day.
INSERT INTO operator_parts (connector, day, parts) VALUES (:connector, :day, :parts)
ON CONFLICT (connector, day) DO UPDATE SET parts = operator_parts.parts + excluded.parts;

-- operator_parts: Parts that operators took, by connector and day.
SELECT connector, day, parts FROM operator_parts WHERE day >= :since;

-- forget_operator_parts: Removes the parts of earlier days.
DELETE FROM operator_parts WHERE day < :before;

-- remove_operator_parts: Removes the parts of a connector.
DELETE FROM operator_parts WHERE connector = :connector;

-- keep_operator_pace: Keeps the pace that was learnt for a connector.
INSERT INTO operator_pace (connector, rate, is_limit) VALUES (:connector, :rate, :is_limit)
ON CONFLICT (connector) DO UPDATE SET rate = excluded.rate, is_limit = excluded.is_limit;

-- operator_paces: The learnt paces.
SELECT connector, rate, is_limit FROM operator_pace;

-- remove_operator_pace: Removes the pace of a connector.
DELETE FROM operator_pace WHERE connector = :connector;

-- routes: All routes, by prefix and priority.
SELECT {route} FROM route WHERE {present(route)}
ORDER BY prefix {bytewise}, priority, id;

-- plan_of_accounts: The accounts of plans that have routes or rules.
SELECT id, plan FROM account
WHERE EXISTS (SELECT 1 FROM plan AS p WHERE p.name = account.plan)
   OR EXISTS (SELECT 1 FROM route AS r WHERE r.plan = account.plan AND r.plan <> '' AND {present(route)});

-- plans: The rules of plans, by name.
SELECT name, routing, min_margin, unknown_cost, min_quality FROM plan ORDER BY name {bytewise};

-- put_plan: Sets the rules of a plan.
INSERT INTO plan (name, routing, min_margin, unknown_cost, min_quality)
VALUES (:name, :routing, :min_margin, :unknown_cost, :min_quality)
ON CONFLICT (name) DO UPDATE SET
    routing = excluded.routing, min_margin = excluded.min_margin, unknown_cost = excluded.unknown_cost,
    min_quality = excluded.min_quality;

-- remove_plan: Removes the rules of a plan.
DELETE FROM plan WHERE name = :name RETURNING 1;

-- mobile_networks: All mobile networks, by prefix.
SELECT prefix, mccmnc, name FROM mobile_network WHERE {present(network)} ORDER BY prefix {bytewise};

-- put_mobile_networks: Sets the networks of prefixes, during an import until the import.
INSERT INTO mobile_network (prefix, mccmnc, name, side)
SELECT j.value ->> 0, j.value ->> 1, j.value ->> 2, coalesce(
    (SELECT side FROM mobile_network WHERE prefix = j.value ->> 0 AND {present(network)}),
    (SELECT 1 FROM mobile_network WHERE prefix = j.value ->> 0 AND side = 2),
    0)
FROM {elements(rows)} AS j WHERE {true}
ON CONFLICT (prefix, side) DO UPDATE SET mccmnc = excluded.mccmnc, name = excluded.name;

-- remove_mobile_network: Removes a prefix.
DELETE FROM mobile_network WHERE prefix = :prefix AND {present(network)} RETURNING 1;

-- clear_mobile_networks: Removes all mobile networks.
DELETE FROM mobile_network WHERE {present(network)};

-- costs: All costs, by connector, network, prefix and date.
SELECT {cost} FROM cost WHERE {present(cost)}
ORDER BY connector, network {bytewise}, prefix {bytewise}, since;

-- put_cost: Sets the cost of a destination over a connector from a date on, during an import until the import.
INSERT INTO cost (connector, prefix, network, submitted, delivered, since, until, side)
VALUES (:connector, :prefix, :network, :submitted, :delivered, :since, :until, coalesce(
    (SELECT side FROM cost WHERE connector = :connector AND network = :network AND prefix = :prefix AND since = :since
        AND {present(cost)}),
    (SELECT 1 FROM cost WHERE connector = :connector AND network = :network AND prefix = :prefix AND since = :since
        AND side = 2),
    0))
ON CONFLICT (connector, network, prefix, since, side) DO UPDATE SET
    submitted = excluded.submitted, delivered = excluded.delivered, until = excluded.until;

-- remove_cost: Removes the costs of a destination over a connector: all, or the cost of a date.
DELETE FROM cost WHERE connector = :connector AND network = :network AND prefix = :prefix AND {present(cost)}
  AND (CAST(:since AS bigint) IS NULL OR since = CAST(:since AS bigint))
RETURNING 1;

-- clear_costs: Removes all costs of a connector.
DELETE FROM cost WHERE connector = :connector AND {present(cost)};

-- add_routes: Adds missing routes, and returns the ids of the new ones. During an import, a route of its list holds until
-- the import.
INSERT INTO route (prefix, network, account, plan, sender, connector, priority, share, fallback, side)
SELECT {listed_route}, coalesce((SELECT 1 FROM route AS r WHERE {same_route} AND r.side = 2), 0)
FROM {elements(rows)} AS j WHERE NOT EXISTS (SELECT 1 FROM route AS r WHERE {same_route} AND {present(route)})
RETURNING id;

-- remove_route: Removes a route. Returns its target.
DELETE FROM route WHERE id = :route AND {present(route)} RETURNING network, prefix;

-- remove_numbers: Removes the numbers of a connector.
DELETE FROM number WHERE connector = :connector;

-- numbers: All numbers, with the columns of their account that the reception needs.
SELECT
    n.id, n.number, n.account, n.keyword, n.connector, a.inbound_url, a.plan, a.opt_out <> 'off', a.stop_text,
    a.help_text, a.inbound_way, a.prefixes
FROM number AS n JOIN account AS a ON a.id = n.account ORDER BY n.number {bytewise}, n.keyword {bytewise}, n.id;

-- prices: All prices, by plan, prefix, network and date.
SELECT {price} FROM price WHERE {present(price)}
ORDER BY plan {bytewise}, prefix {bytewise}, network {bytewise}, since;

-- put_price: Sets the prices of a destination in a plan from a date on, during an import until the import.
INSERT INTO price (plan, prefix, network, since, side, price, inbound)
VALUES (:plan, :prefix, :network, :since, coalesce(
    (SELECT side FROM price WHERE plan = :plan AND prefix = :prefix AND network = :network AND since = :since
        AND {present(price)}),
    (SELECT 1 FROM price WHERE plan = :plan AND prefix = :prefix AND network = :network AND since = :since
        AND side = 2),
    0), :price, coalesce(CAST(:inbound AS bigint), (
    SELECT p.inbound FROM price AS p
    WHERE p.plan = :plan AND p.prefix = :prefix AND p.network = :network AND p.since <= :since AND {present(price)}
    ORDER BY p.since DESC LIMIT 1), 0))
ON CONFLICT (plan, prefix, network, since, side) DO UPDATE SET price = excluded.price, inbound = excluded.inbound
RETURNING inbound;

-- remove_price: Removes the prices of a destination in a plan: all, or the price of a date.
DELETE FROM price WHERE plan = :plan AND prefix = :prefix AND network = :network AND {present(price)}
  AND (CAST(:since AS bigint) IS NULL OR since = CAST(:since AS bigint))
RETURNING 1;

-- clear_prices: Removes all prices of some plans.
DELETE FROM price WHERE plan {among(plans)} AND {present(price)};

-- templates: All templates, by name.
SELECT id, name, text, sender, account, tlvs FROM template ORDER BY name {bytewise};

-- add_template: Adds a template; no row if the name exists.
INSERT INTO template (name, text, sender, account, tlvs) VALUES (:name, :text, :sender, :account, :tlvs)
ON CONFLICT (name) DO NOTHING RETURNING id;

-- template_namesake: Whether another template has this name.
SELECT 1 FROM template WHERE name = :name AND id <> :id;

-- update_template: Changes all columns of a template except its id.
UPDATE template SET name = :name, text = :text, sender = :sender, account = :account, tlvs = :tlvs
WHERE id = :id RETURNING 1;

-- replace_template: Changes all columns of the template with this name.
UPDATE template SET text = :text, sender = :sender, account = :account, tlvs = :tlvs WHERE name = :name RETURNING 1;

-- remove_template: Removes a template.
DELETE FROM template WHERE name = :name RETURNING 1;

-- save_link_state: Saves a node's report of a connector.
INSERT INTO link_state (connector, node, state, at) VALUES (:connector, :node, :state, :at)
ON CONFLICT (connector, node) DO UPDATE SET state = excluded.state, at = excluded.at;

-- link_states: The latest reports of all nodes.
SELECT connector, node, state, at FROM link_state ORDER BY connector, node;

-- save_node_report: Saves a node's report of itself.
INSERT INTO node_report (node, host, version, roles, directory, started, at)
VALUES (:node, :host, :version, :roles, :directory, :started, :at)
ON CONFLICT (node) DO UPDATE SET at = excluded.at;

-- node_reports: The latest report of each node; the last column is the end of its lease.
SELECT node, host, version, roles, directory, started, at, NULL FROM node_report ORDER BY host, node;

-- remove_node_report: Removes the report of a node.
DELETE FROM node_report WHERE node = :node;

-- senders: The registries of all accounts.
SELECT account, sender, state, since, note FROM sender ORDER BY account, sender {bytewise};

-- sender_known: Whether an account's registry has a sender.
SELECT 1 FROM sender WHERE account = :account AND sender = :sender;

-- put_sender: Adds or changes a sender of a registry.
INSERT INTO sender (account, sender, state, since, note) VALUES (:account, :sender, :state, :since, :note)
ON CONFLICT (account, sender) DO UPDATE SET state = excluded.state, since = excluded.since, note = excluded.note;

-- remove_sender: Removes a sender from a registry.
DELETE FROM sender WHERE account = :account AND sender = :sender RETURNING 1;

-- sender_rules: The rules for sender IDs by country, in the order of their creation.
SELECT id, country, kind, action, value FROM sender_rule ORDER BY id;

-- add_sender_rule: Adds a rule; no row if there is an equal rule.
INSERT INTO sender_rule (country, kind, action, value) VALUES (:country, :kind, :action, :value)
ON CONFLICT DO NOTHING RETURNING id;

-- remove_sender_rule: Removes a rule.
DELETE FROM sender_rule WHERE id = :rule RETURNING 1;

-- suspended_accounts: The accounts that are suspended.
SELECT id FROM account WHERE suspended ORDER BY id;
