-- add_sending_list: Adds a list, unless there is a list of the same form.
INSERT INTO sending_list
    (account, name, actor, created, "rows", state, heard, handed_in, refused, reported, ended, problem, form)
VALUES
    (:account, :name, :actor, :created, :rows, :state, :heard, :handed_in, :refused, :reported, :ended, :problem, :form)
ON CONFLICT (form) DO NOTHING
RETURNING id;

-- sending_list_of_form: The list that a form has sent.
SELECT id FROM sending_list WHERE form = :form;

-- sending_lists: Lists below an id, of an account or of all, newest first.
SELECT {sending_list}
FROM sending_list WHERE id < :before AND (:any OR account = :account) ORDER BY id DESC LIMIT :limit;

-- sending_list: A list.
SELECT {sending_list}
FROM sending_list WHERE id = :id;

-- report_sending_list: Writes the progress of a list.
UPDATE sending_list SET
    heard = :heard, handed_in = :handed_in, refused = :refused, reported = :reported, ended = :ended, problem = :problem
WHERE id = :id RETURNING state;

-- change_sending_list: Sets the state that is wanted of a list, unless another state is final.
UPDATE sending_list SET state = :state WHERE id = :id AND (state <> :final OR state = :state) RETURNING 1;

-- count_sending_list: Messages of a list by state, final state, whether operators took all parts, and whether they are
-- held.
SELECT c.state, c.final, c.taken, c.held, count(*), CAST(sum(c.price) AS bigint) FROM (
    SELECT m.state, f.state AS final, f.key IS NULL AND {taken} >= m.segments AS taken, {held} IS NOT NULL AS held, m.price
    FROM reference AS r JOIN message AS m ON m.key = r.key LEFT JOIN final AS f ON f.key = m.key
    WHERE r.account = :account AND r.reference >= :first AND r.reference < :beyond AND NOT r.batch
) AS c GROUP BY c.state, c.final, c.taken, c.held;
