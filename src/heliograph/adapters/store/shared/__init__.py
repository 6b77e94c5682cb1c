"""Cold store operations, written once for both engines; see docs/decisions/0018-cold-operations-once.md.

An operation is a generator that yields bound queries, receives their rows and returns its result (`steps`). Its SQL is
a named statement in `shared/queries/*.sql`; a statement of the same name in `sqlite/queries` or `postgres/queries`
replaces it for that engine (`sql`). To add one:

1. Declare the method in its port, `heliograph/app/ports`.
2. Write its statements into `shared/queries`, and only where the engines differ into theirs.
3. Write the operation as a method of the port's class here, decorated with how it runs: `write`, `read`, ... (`steps`).

The contract suite (`tests/contracts`) then runs it on every store. The two hot paths, `record` and recovery, are made
by hand in each engine.
"""
