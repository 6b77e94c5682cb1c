-- Which parts came to their end of late is looked at every few minutes. Rows come in the order of `at`, more or less, so
-- that it is enough to know what times a stretch of the table has: who writes rows pays next to nothing for that.
CREATE INDEX part_receipt_at ON part_receipt USING brin (at) WITH (pages_per_range = 32, autosummarize = on);
