-- all
SELECT "id", "blob", "cash", "deep", "flag", "moment", "number", "real", "sums", "tags", "text", "unique", "words", "seal" FROM durabench.record;

-- all_keys
SELECT "id" FROM durabench.record;

-- count
SELECT count(*) FROM durabench.record;

-- page
SELECT "id" FROM durabench.record LIMIT 100 OFFSET 5000;

-- limit
SELECT "id" FROM durabench.record LIMIT 100;

-- offset
SELECT "id" FROM durabench.record OFFSET 7;

-- count_of_a_page
SELECT count(*) FROM (SELECT 1 AS n FROM durabench.record LIMIT 100 OFFSET 5000) AS page;

-- order
SELECT "id" FROM durabench.record ORDER BY "moment" DESC, ("deep"->>'text') COLLATE "C", "id" LIMIT 10;

-- count_in_order
SELECT count(*) FROM (SELECT 1 AS n FROM durabench.record LIMIT 10) AS page;

-- after
SELECT "id" FROM durabench.record WHERE "id" > $1 ORDER BY "id" LIMIT 10;
-- 1: int 42

-- after_where
SELECT "id" FROM durabench.record WHERE "id" > $1 AND (("number" = $2) OR ("number" = $3)) ORDER BY "id" LIMIT 10;
-- 1: int 42
-- 2: int 1
-- 3: int 2

-- aggregates
SELECT count(*), sum("cash"), avg("number"), max(("deep"->>'real')::double precision) FROM durabench.record WHERE "flag" = $1;
-- 1: bool true

-- groups
SELECT ("deep"->>'text') COLLATE "C", count(*), min(("deep"->>'cash')::numeric) FROM durabench.record GROUP BY ("deep"->>'text') COLLATE "C";

-- raw
SELECT "id", "blob", "cash", "deep", "flag", "moment", "number", "real", "sums", "tags", "text", "unique", "words", "seal" FROM durabench.record WHERE (number = 21 OR number = 22) ORDER BY moment DESC;

-- raw_document
-- unsupported: the file has no condition for postgres

-- raw_of_others
-- unsupported: the file has no condition for postgres

-- eq_blob
SELECT "id" FROM durabench.record WHERE "blob" = $1;
-- 1: bytes 0x00ff27

-- eq_nested_blob
SELECT "id" FROM durabench.record WHERE decode(("deep"->>'blob'), 'base64') = $1;
-- 1: bytes 0x00ff27

-- eq_cash
SELECT "id" FROM durabench.record WHERE "cash" = $1;
-- 1: decimal -1.2345

-- eq_nested_cash
SELECT "id" FROM durabench.record WHERE ("deep"->>'cash')::numeric = $1;
-- 1: decimal -1.2345

-- eq_flag
SELECT "id" FROM durabench.record WHERE "flag" = $1;
-- 1: bool true

-- eq_nested_flag
SELECT "id" FROM durabench.record WHERE ("deep"->>'flag')::boolean = $1;
-- 1: bool true

-- eq_moment
SELECT "id" FROM durabench.record WHERE "moment" = $1;
-- 1: datetime 1969-12-31T23:59:59Z

-- eq_nested_moment
SELECT "id" FROM durabench.record WHERE ("deep"->>'moment') COLLATE "C" = $1;
-- 1: string "1969-12-31T23:59:59Z"

-- eq_number
SELECT "id" FROM durabench.record WHERE "number" = $1;
-- 1: int 4611686018427387905

-- eq_nested_number
SELECT "id" FROM durabench.record WHERE ("deep"->>'number')::bigint = $1;
-- 1: int 4611686018427387905

-- eq_real
SELECT "id" FROM durabench.record WHERE "real" = $1;
-- 1: float 0.25

-- eq_nested_real
SELECT "id" FROM durabench.record WHERE ("deep"->>'real')::double precision = $1;
-- 1: float 0.25

-- eq_text
SELECT "id" FROM durabench.record WHERE "text" = $1;
-- 1: string "it's \"\\"

-- eq_nested_text
SELECT "id" FROM durabench.record WHERE ("deep"->>'text') COLLATE "C" = $1;
-- 1: string "it's \"\\"

-- eq_unique
SELECT "id" FROM durabench.record WHERE "unique" = $1;
-- 1: uuid 30313233-3435-3637-3839-616263646566

-- eq_nested_unique
SELECT "id" FROM durabench.record WHERE ("deep"->>'unique')::uuid = $1;
-- 1: uuid 30313233-3435-3637-3839-616263646566

-- ne
SELECT "id" FROM durabench.record WHERE "number" <> $1;
-- 1: int -7

-- lt
SELECT "id" FROM durabench.record WHERE "number" < $1;
-- 1: int -7

-- lte
SELECT "id" FROM durabench.record WHERE "number" <= $1;
-- 1: int -7

-- gt
SELECT "id" FROM durabench.record WHERE "number" > $1;
-- 1: int -7

-- gte
SELECT "id" FROM durabench.record WHERE "number" >= $1;
-- 1: int -7

-- in
SELECT "id" FROM durabench.record WHERE "number" IN ($1, $2, $3);
-- 1: int 18
-- 2: int 21
-- 3: int 30

-- between
SELECT "id" FROM durabench.record WHERE "cash" BETWEEN $1 AND $2;
-- 1: decimal -1.5000
-- 2: decimal 1.5001

-- is_null
SELECT "id" FROM durabench.record WHERE "text" IS NULL;

-- is_null_nested_array
SELECT "id" FROM durabench.record WHERE ("deep"->'it''s'->>'tags') IS NULL;

-- odd_names
SELECT "id" FROM durabench.record WHERE ("deep"->'it''s'->>'a.b')::bigint = $1;
-- 1: int 1

-- prefix
SELECT "id" FROM durabench.record WHERE "text" >= $1 AND "text" < $2;
-- 1: string "50%_'\"\\"
-- 2: string "50%_'\"]"

-- prefix_nested
SELECT "id" FROM durabench.record WHERE ("deep"->>'text') COLLATE "C" >= $1 AND ("deep"->>'text') COLLATE "C" < $2;
-- 1: string "50%_'\"\\"
-- 2: string "50%_'\"]"

-- suffix
SELECT "id" FROM durabench.record WHERE "text" LIKE $1;
-- 1: string "%50\\%\\_'\"\\\\"

-- suffix_nested
SELECT "id" FROM durabench.record WHERE ("deep"->>'text') COLLATE "C" LIKE $1;
-- 1: string "%50\\%\\_'\"\\\\"

-- contains
SELECT "id" FROM durabench.record WHERE "text" LIKE $1;
-- 1: string "%50\\%\\_'\"\\\\%"

-- contains_nested
SELECT "id" FROM durabench.record WHERE ("deep"->>'text') COLLATE "C" LIKE $1;
-- 1: string "%50\\%\\_'\"\\\\%"

-- prefix_at_the_end
SELECT "id" FROM durabench.record WHERE "text" >= $1 AND "text" < $2;
-- 1: string "a\U0010ffff"
-- 2: string "b"

-- prefix_without_end
SELECT "id" FROM durabench.record WHERE "text" >= $1;
-- 1: string "\U0010ffff"

-- has-any_one
SELECT "id" FROM durabench.record WHERE "tags" @> $1;
-- 1: array ["\"a'"]

-- has-any
SELECT "id" FROM durabench.record WHERE "tags" @> $1 OR "tags" @> $2;
-- 1: array ["a"]
-- 2: array ["b"]

-- has-any_nested
SELECT "id" FROM durabench.record WHERE ("deep"->'it''s'->'tags') @> $1 OR ("deep"->'it''s'->'tags') @> $2;
-- 1: array ["a"]
-- 2: array ["b"]

-- has-any_decimals
SELECT "id" FROM durabench.record WHERE "sums" @> $1;
-- 1: array ["1.5000"]

-- has-all_one
SELECT "id" FROM durabench.record WHERE "tags" @> $1;
-- 1: array ["\"a'"]

-- has-all
SELECT "id" FROM durabench.record WHERE "tags" @> $1;
-- 1: array ["a","b"]

-- has-all_nested
SELECT "id" FROM durabench.record WHERE ("deep"->'it''s'->'tags') @> $1;
-- 1: array ["a","b"]

-- has-all_decimals
SELECT "id" FROM durabench.record WHERE "sums" @> $1;
-- 1: array ["1.5000"]

-- match-all
SELECT "id" FROM durabench.record WHERE array_to_tsvector(array_remove(regexp_split_to_array(lower(translate("words", 'İΣ', 'iσ') COLLATE "und-x-icu"), '[^[:alnum:]]+'), '')) @@ $1::tsquery;
-- 1: string "'hello' & 'world'"

-- match-all_nested
SELECT "id" FROM durabench.record WHERE array_to_tsvector(array_remove(regexp_split_to_array(lower(translate(("deep"->>'text') COLLATE "C", 'İΣ', 'iσ') COLLATE "und-x-icu"), '[^[:alnum:]]+'), '')) @@ $1::tsquery;
-- 1: string "'hello'"

-- match-any
SELECT "id" FROM durabench.record WHERE array_to_tsvector(array_remove(regexp_split_to_array(lower(translate("words", 'İΣ', 'iσ') COLLATE "und-x-icu"), '[^[:alnum:]]+'), '')) @@ $1::tsquery;
-- 1: string "'hello' | 'world'"

-- match-any_nested
SELECT "id" FROM durabench.record WHERE array_to_tsvector(array_remove(regexp_split_to_array(lower(translate(("deep"->>'text') COLLATE "C", 'İΣ', 'iσ') COLLATE "und-x-icu"), '[^[:alnum:]]+'), '')) @@ $1::tsquery;
-- 1: string "'hello'"

-- not
SELECT "id" FROM durabench.record WHERE ("number" < $1) IS NOT TRUE;
-- 1: int 5

-- tree
SELECT "id" FROM durabench.record WHERE (("number" = $1) OR ("text" <> $2)) AND ((("real" > $3) OR ("tags" @> $4)) IS NOT TRUE);
-- 1: int 1
-- 2: string "x"
-- 3: float 0.5
-- 4: array ["a"]

