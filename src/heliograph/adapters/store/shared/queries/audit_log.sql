-- append_deed: A line; nothing ever changes or deletes one.
INSERT INTO deed (at, actor, action, target, details, address)
VALUES (:at, :actor, :action, :target, :details, :address);

-- deeds: The newest lines before a key, of an actor, of actions that begin so, of a target; '' is any.
SELECT at, actor, action, target, details, address, key FROM deed
WHERE key < :before AND (:actor = '' OR actor = :actor)
  AND (:action = '' OR substr(action, 1, length(:action)) = :action)
  AND (:target = '' OR target = :target)
ORDER BY key DESC LIMIT :limit;
