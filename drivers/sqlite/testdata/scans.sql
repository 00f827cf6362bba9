-- all
SELECT "id", "blob", "cash", "deep", "flag", "moment", "number", "real", "sums", "tags", "text", "unique", "words", "seal" FROM "record";

-- all_keys
SELECT "id" FROM "record";

-- count
SELECT count(*) FROM "record";

-- page
SELECT "id" FROM "record" LIMIT 100 OFFSET 5000;

-- limit
SELECT "id" FROM "record" LIMIT 100;

-- offset
SELECT "id" FROM "record" LIMIT -1 OFFSET 7;

-- count_of_a_page
SELECT count(*) FROM (SELECT 1 AS n FROM "record" LIMIT 100 OFFSET 5000) AS page;

-- order
SELECT "id" FROM "record" ORDER BY "moment" DESC, ("deep" ->> '$."text"'), "id" LIMIT 10;

-- count_in_order
SELECT count(*) FROM (SELECT 1 AS n FROM "record" LIMIT 10) AS page;

-- after
SELECT "id" FROM "record" WHERE "id" > ?1 ORDER BY "id" LIMIT 10;
-- 1: int 42

-- after_where
SELECT "id" FROM "record" WHERE "id" > ?1 AND (("number" = ?2) OR ("number" = ?3)) ORDER BY "id" LIMIT 10;
-- 1: int 42
-- 2: int 1
-- 3: int 2

-- aggregates
SELECT count(*), sum("cash"), avg("number"), max(("deep" ->> '$."real"')) FROM "record" WHERE "flag" = ?1;
-- 1: int 1

-- groups
SELECT ("deep" ->> '$."text"'), count(*), min(CAST(replace(("deep" ->> '$."cash"'), '.', '') AS INTEGER)) FROM "record" GROUP BY ("deep" ->> '$."text"');

-- raw
SELECT "id", "blob", "cash", "deep", "flag", "moment", "number", "real", "sums", "tags", "text", "unique", "words", "seal" FROM "record" WHERE (number = 21 OR number = 22) ORDER BY moment DESC;

-- raw_document
-- unsupported: the file has no condition for sqlite

-- raw_of_others
-- unsupported: the file has no condition for sqlite

-- eq_blob
SELECT "id" FROM "record" WHERE "blob" = ?1;
-- 1: bytes 0x00ff27

-- eq_nested_blob
-- unsupported: SQLite has no function that decodes base 64, as which the bytes of deep.blob lie in JSON

-- eq_cash
SELECT "id" FROM "record" WHERE "cash" = ?1;
-- 1: int -12345

-- eq_nested_cash
SELECT "id" FROM "record" WHERE CAST(replace(("deep" ->> '$."cash"'), '.', '') AS INTEGER) = ?1;
-- 1: int -12345

-- eq_flag
SELECT "id" FROM "record" WHERE "flag" = ?1;
-- 1: int 1

-- eq_nested_flag
SELECT "id" FROM "record" WHERE ("deep" ->> '$."flag"') = ?1;
-- 1: int 1

-- eq_moment
SELECT "id" FROM "record" WHERE "moment" = ?1;
-- 1: int -1

-- eq_nested_moment
SELECT "id" FROM "record" WHERE ("deep" ->> '$."moment"') = ?1;
-- 1: string "1969-12-31T23:59:59Z"

-- eq_number
SELECT "id" FROM "record" WHERE "number" = ?1;
-- 1: int 4611686018427387905

-- eq_nested_number
SELECT "id" FROM "record" WHERE ("deep" ->> '$."number"') = ?1;
-- 1: int 4611686018427387905

-- eq_real
SELECT "id" FROM "record" WHERE "real" = ?1;
-- 1: float 0.25

-- eq_nested_real
SELECT "id" FROM "record" WHERE ("deep" ->> '$."real"') = ?1;
-- 1: float 0.25

-- eq_text
SELECT "id" FROM "record" WHERE "text" = ?1;
-- 1: string "it's \"\\"

-- eq_nested_text
SELECT "id" FROM "record" WHERE ("deep" ->> '$."text"') = ?1;
-- 1: string "it's \"\\"

-- eq_unique
SELECT "id" FROM "record" WHERE "unique" = ?1;
-- 1: bytes 0x30313233343536373839616263646566

-- eq_nested_unique
SELECT "id" FROM "record" WHERE ("deep" ->> '$."unique"') = ?1;
-- 1: string "30313233-3435-3637-3839-616263646566"

-- ne
SELECT "id" FROM "record" WHERE "number" <> ?1;
-- 1: int -7

-- lt
SELECT "id" FROM "record" WHERE "number" < ?1;
-- 1: int -7

-- lte
SELECT "id" FROM "record" WHERE "number" <= ?1;
-- 1: int -7

-- gt
SELECT "id" FROM "record" WHERE "number" > ?1;
-- 1: int -7

-- gte
SELECT "id" FROM "record" WHERE "number" >= ?1;
-- 1: int -7

-- in
SELECT "id" FROM "record" WHERE "number" IN (?1, ?2, ?3);
-- 1: int 18
-- 2: int 21
-- 3: int 30

-- between
SELECT "id" FROM "record" WHERE "cash" BETWEEN ?1 AND ?2;
-- 1: int -15000
-- 2: int 15001

-- is_null
SELECT "id" FROM "record" WHERE "text" IS NULL;

-- is_null_nested_array
SELECT "id" FROM "record" WHERE ("deep" ->> '$."it''s"."tags"') IS NULL;

-- odd_names
SELECT "id" FROM "record" WHERE ("deep" ->> '$."it''s"."a.b"') = ?1;
-- 1: int 1

-- prefix
SELECT "id" FROM "record" WHERE "text" >= ?1 AND "text" < ?2;
-- 1: string "50%_'\"\\"
-- 2: string "50%_'\"]"

-- prefix_nested
SELECT "id" FROM "record" WHERE ("deep" ->> '$."text"') >= ?1 AND ("deep" ->> '$."text"') < ?2;
-- 1: string "50%_'\"\\"
-- 2: string "50%_'\"]"

-- suffix
SELECT "id" FROM "record" WHERE substr(CAST("text" AS BLOB), -?1) = ?2;
-- 1: int 7
-- 2: bytes 0x3530255f27225c

-- suffix_nested
SELECT "id" FROM "record" WHERE substr(CAST(("deep" ->> '$."text"') AS BLOB), -?1) = ?2;
-- 1: int 7
-- 2: bytes 0x3530255f27225c

-- contains
SELECT "id" FROM "record" WHERE instr("text", ?1) > 0;
-- 1: string "50%_'\"\\"

-- contains_nested
SELECT "id" FROM "record" WHERE instr(("deep" ->> '$."text"'), ?1) > 0;
-- 1: string "50%_'\"\\"

-- prefix_at_the_end
SELECT "id" FROM "record" WHERE "text" >= ?1 AND "text" < ?2;
-- 1: string "a\U0010ffff"
-- 2: string "b"

-- prefix_without_end
SELECT "id" FROM "record" WHERE "text" >= ?1;
-- 1: string "\U0010ffff"

-- has-any_one
SELECT "id" FROM "record" WHERE EXISTS (SELECT 1 FROM json_each("tags") AS e WHERE e.value IN (?1));
-- 1: string "\"a'"

-- has-any
SELECT "id" FROM "record" WHERE EXISTS (SELECT 1 FROM json_each("tags") AS e WHERE e.value IN (?1, ?2));
-- 1: string "a"
-- 2: string "b"

-- has-any_nested
SELECT "id" FROM "record" WHERE EXISTS (SELECT 1 FROM json_each("deep", '$."it''s"."tags"') AS e WHERE e.value IN (?1, ?2));
-- 1: string "a"
-- 2: string "b"

-- has-any_decimals
SELECT "id" FROM "record" WHERE EXISTS (SELECT 1 FROM json_each("sums") AS e WHERE e.value IN (?1));
-- 1: string "1.5000"

-- has-all_one
SELECT "id" FROM "record" WHERE EXISTS (SELECT 1 FROM json_each("tags") AS e WHERE e.value IN (?1));
-- 1: string "\"a'"

-- has-all
SELECT "id" FROM "record" WHERE (SELECT count(DISTINCT e.value) FROM json_each("tags") AS e WHERE e.value IN (?1, ?2)) = ?3;
-- 1: string "a"
-- 2: string "b"
-- 3: int 2

-- has-all_nested
SELECT "id" FROM "record" WHERE (SELECT count(DISTINCT e.value) FROM json_each("deep", '$."it''s"."tags"') AS e WHERE e.value IN (?1, ?2)) = ?3;
-- 1: string "a"
-- 2: string "b"
-- 3: int 2

-- has-all_decimals
SELECT "id" FROM "record" WHERE EXISTS (SELECT 1 FROM json_each("sums") AS e WHERE e.value IN (?1));
-- 1: string "1.5000"

-- match-all
SELECT "id" FROM "record" WHERE rowid IN (SELECT rowid FROM "words" WHERE "words" MATCH ?1);
-- 1: string "\"hello\" AND \"world\""

-- match-all_nested
SELECT "id" FROM "record" WHERE rowid IN (SELECT rowid FROM "words" WHERE "words" MATCH ?1);
-- 1: string "\"hello\""

-- match-any
SELECT "id" FROM "record" WHERE rowid IN (SELECT rowid FROM "words" WHERE "words" MATCH ?1);
-- 1: string "\"hello\" OR \"world\""

-- match-any_nested
SELECT "id" FROM "record" WHERE rowid IN (SELECT rowid FROM "words" WHERE "words" MATCH ?1);
-- 1: string "\"hello\""

-- not
SELECT "id" FROM "record" WHERE ("number" < ?1) IS NOT TRUE;
-- 1: int 5

-- tree
SELECT "id" FROM "record" WHERE (("number" = ?1) OR ("text" <> ?2)) AND ((("real" > ?3) OR (EXISTS (SELECT 1 FROM json_each("tags") AS e WHERE e.value IN (?4)))) IS NOT TRUE);
-- 1: int 1
-- 2: string "x"
-- 3: float 0.5
-- 4: string "a"

