-- all
SELECT `id`, `blob`, `cash`, `deep`, `flag`, `moment`, `number`, `real`, `sums`, `tags`, `text`, `unique`, `words`, `seal` FROM `record`;

-- all_keys
SELECT `id` FROM `record`;

-- count
SELECT count(*) FROM `record`;

-- page
SELECT `id` FROM `record` LIMIT 100 OFFSET 5000;

-- limit
SELECT `id` FROM `record` LIMIT 100;

-- offset
SELECT `id` FROM `record` LIMIT 18446744073709551615 OFFSET 7;

-- count_of_a_page
SELECT count(*) FROM (SELECT 1 AS n FROM `record` LIMIT 100 OFFSET 5000) AS page;

-- order
SELECT `id` FROM `record` ORDER BY `moment` DESC, JSON_VALUE(`deep`, '$."text"' RETURNING CHAR(8) CHARACTER SET utf8mb4) COLLATE utf8mb4_0900_bin, `id` LIMIT 10;

-- count_in_order
SELECT count(*) FROM (SELECT 1 AS n FROM `record` LIMIT 10) AS page;

-- after
SELECT `id` FROM `record` WHERE `id` > ? ORDER BY `id` LIMIT 10;
-- 1: int 42

-- after_where
SELECT `id` FROM `record` WHERE `id` > ? AND ((`number` = ?) OR (`number` = ?)) ORDER BY `id` LIMIT 10;
-- 1: int 42
-- 2: int 1
-- 3: int 2

-- aggregates
SELECT count(*), sum(`cash`), avg(`number`), max(JSON_VALUE(`deep`, '$."real"' RETURNING DOUBLE)) FROM `record` WHERE `flag` = ?;
-- 1: bool true

-- groups
SELECT JSON_VALUE(`deep`, '$."text"' RETURNING CHAR(8) CHARACTER SET utf8mb4) COLLATE utf8mb4_0900_bin, count(*), min(JSON_VALUE(`deep`, '$."cash"' RETURNING DECIMAL(19,4))) FROM `record` GROUP BY JSON_VALUE(`deep`, '$."text"' RETURNING CHAR(8) CHARACTER SET utf8mb4) COLLATE utf8mb4_0900_bin;

-- raw
SELECT `id`, `blob`, `cash`, `deep`, `flag`, `moment`, `number`, `real`, `sums`, `tags`, `text`, `unique`, `words`, `seal` FROM `record` WHERE (number = 21 OR number = 22) ORDER BY moment DESC;

-- raw_document
-- unsupported: the file has no condition for mysql

-- raw_of_others
-- unsupported: the file has no condition for mysql

-- eq_blob
SELECT `id` FROM `record` WHERE `blob` = ?;
-- 1: bytes 0x00ff27

-- eq_nested_blob
SELECT `id` FROM `record` WHERE FROM_BASE64(JSON_VALUE(`deep`, '$."blob"' RETURNING CHAR(12) CHARACTER SET utf8mb4) COLLATE utf8mb4_0900_bin) = ?;
-- 1: bytes 0x00ff27

-- eq_cash
SELECT `id` FROM `record` WHERE `cash` = ?;
-- 1: decimal -1.2345

-- eq_nested_cash
SELECT `id` FROM `record` WHERE JSON_VALUE(`deep`, '$."cash"' RETURNING DECIMAL(19,4)) = ?;
-- 1: decimal -1.2345

-- eq_flag
SELECT `id` FROM `record` WHERE `flag` = ?;
-- 1: bool true

-- eq_nested_flag
SELECT `id` FROM `record` WHERE JSON_VALUE(`deep`, '$."flag"' RETURNING SIGNED) = ?;
-- 1: bool true

-- eq_moment
SELECT `id` FROM `record` WHERE `moment` = ?;
-- 1: datetime 1969-12-31T23:59:59Z

-- eq_nested_moment
SELECT `id` FROM `record` WHERE JSON_VALUE(`deep`, '$."moment"' RETURNING CHAR(20) CHARACTER SET utf8mb4) COLLATE utf8mb4_0900_bin = ?;
-- 1: string "1969-12-31T23:59:59Z"

-- eq_number
SELECT `id` FROM `record` WHERE `number` = ?;
-- 1: int 4611686018427387905

-- eq_nested_number
SELECT `id` FROM `record` WHERE JSON_VALUE(`deep`, '$."number"' RETURNING SIGNED) = ?;
-- 1: int 4611686018427387905

-- eq_real
SELECT `id` FROM `record` WHERE `real` = ?;
-- 1: float 0.25

-- eq_nested_real
SELECT `id` FROM `record` WHERE JSON_VALUE(`deep`, '$."real"' RETURNING DOUBLE) = ?;
-- 1: float 0.25

-- eq_text
SELECT `id` FROM `record` WHERE `text` = ?;
-- 1: string "it's \"\\"

-- eq_nested_text
SELECT `id` FROM `record` WHERE JSON_VALUE(`deep`, '$."text"' RETURNING CHAR(8) CHARACTER SET utf8mb4) COLLATE utf8mb4_0900_bin = ?;
-- 1: string "it's \"\\"

-- eq_unique
SELECT `id` FROM `record` WHERE `unique` = ?;
-- 1: uuid 30313233-3435-3637-3839-616263646566

-- eq_nested_unique
SELECT `id` FROM `record` WHERE JSON_VALUE(`deep`, '$."unique"' RETURNING CHAR(36) CHARACTER SET utf8mb4) COLLATE utf8mb4_0900_bin = ?;
-- 1: string "30313233-3435-3637-3839-616263646566"

-- ne
SELECT `id` FROM `record` WHERE `number` <> ?;
-- 1: int -7

-- lt
SELECT `id` FROM `record` WHERE `number` < ?;
-- 1: int -7

-- lte
SELECT `id` FROM `record` WHERE `number` <= ?;
-- 1: int -7

-- gt
SELECT `id` FROM `record` WHERE `number` > ?;
-- 1: int -7

-- gte
SELECT `id` FROM `record` WHERE `number` >= ?;
-- 1: int -7

-- in
SELECT `id` FROM `record` WHERE `number` IN (?, ?, ?);
-- 1: int 18
-- 2: int 21
-- 3: int 30

-- between
SELECT `id` FROM `record` WHERE `cash` BETWEEN ? AND ?;
-- 1: decimal -1.5000
-- 2: decimal 1.5001

-- is_null
SELECT `id` FROM `record` WHERE `text` IS NULL;

-- is_null_nested_array
SELECT `id` FROM `record` WHERE JSON_EXTRACT(`deep`, '$."it''s"."tags"') IS NULL;

-- odd_names
SELECT `id` FROM `record` WHERE JSON_VALUE(`deep`, '$."it''s"."a.b"' RETURNING SIGNED) = ?;
-- 1: int 1

-- prefix
SELECT `id` FROM `record` WHERE `text` >= ? AND `text` < ?;
-- 1: string "50%_'\"\\"
-- 2: string "50%_'\"]"

-- prefix_nested
SELECT `id` FROM `record` WHERE JSON_VALUE(`deep`, '$."text"' RETURNING CHAR(8) CHARACTER SET utf8mb4) COLLATE utf8mb4_0900_bin >= ? AND JSON_VALUE(`deep`, '$."text"' RETURNING CHAR(8) CHARACTER SET utf8mb4) COLLATE utf8mb4_0900_bin < ?;
-- 1: string "50%_'\"\\"
-- 2: string "50%_'\"]"

-- suffix
SELECT `id` FROM `record` WHERE `text` LIKE ?;
-- 1: string "%50\\%\\_'\"\\\\"

-- suffix_nested
SELECT `id` FROM `record` WHERE JSON_VALUE(`deep`, '$."text"' RETURNING CHAR(8) CHARACTER SET utf8mb4) COLLATE utf8mb4_0900_bin LIKE ?;
-- 1: string "%50\\%\\_'\"\\\\"

-- contains
SELECT `id` FROM `record` WHERE `text` LIKE ?;
-- 1: string "%50\\%\\_'\"\\\\%"

-- contains_nested
SELECT `id` FROM `record` WHERE JSON_VALUE(`deep`, '$."text"' RETURNING CHAR(8) CHARACTER SET utf8mb4) COLLATE utf8mb4_0900_bin LIKE ?;
-- 1: string "%50\\%\\_'\"\\\\%"

-- prefix_at_the_end
SELECT `id` FROM `record` WHERE `text` >= ? AND `text` < ?;
-- 1: string "a\U0010ffff"
-- 2: string "b"

-- prefix_without_end
SELECT `id` FROM `record` WHERE `text` >= ?;
-- 1: string "\U0010ffff"

-- has-any_one
SELECT `id` FROM `record` WHERE JSON_OVERLAPS(`tags`, CAST(? AS JSON));
-- 1: array ["\"a'"]

-- has-any
SELECT `id` FROM `record` WHERE JSON_OVERLAPS(`tags`, CAST(? AS JSON));
-- 1: array ["a","b"]

-- has-any_nested
SELECT `id` FROM `record` WHERE JSON_OVERLAPS(JSON_EXTRACT(`deep`, '$."it''s"."tags"'), CAST(? AS JSON));
-- 1: array ["a","b"]

-- has-any_decimals
SELECT `id` FROM `record` WHERE JSON_OVERLAPS(`sums`, CAST(? AS JSON));
-- 1: array ["1.5000"]

-- has-all_one
SELECT `id` FROM `record` WHERE JSON_CONTAINS(`tags`, ?);
-- 1: array "\"a'"

-- has-all
SELECT `id` FROM `record` WHERE JSON_CONTAINS(`tags`, ?) AND JSON_CONTAINS(`tags`, ?);
-- 1: array "a"
-- 2: array "b"

-- has-all_nested
SELECT `id` FROM `record` WHERE JSON_CONTAINS(JSON_EXTRACT(`deep`, '$."it''s"."tags"'), ?) AND JSON_CONTAINS(JSON_EXTRACT(`deep`, '$."it''s"."tags"'), ?);
-- 1: array "a"
-- 2: array "b"

-- has-all_decimals
SELECT `id` FROM `record` WHERE JSON_CONTAINS(`sums`, ?);
-- 1: array "1.5000"

-- match-all
SELECT `id` FROM `record` WHERE MATCH(`words`) AGAINST(? IN BOOLEAN MODE);
-- 1: string "+hello +world"

-- match-all_nested
SELECT `id` FROM `record` WHERE MATCH(`durabench_words_d327ec1cb709f8d4`) AGAINST(? IN BOOLEAN MODE);
-- 1: string "+hello"

-- match-any
SELECT `id` FROM `record` WHERE MATCH(`words`) AGAINST(? IN BOOLEAN MODE);
-- 1: string "hello world"

-- match-any_nested
SELECT `id` FROM `record` WHERE MATCH(`durabench_words_d327ec1cb709f8d4`) AGAINST(? IN BOOLEAN MODE);
-- 1: string "hello"

-- not
SELECT `id` FROM `record` WHERE (`number` < ?) IS NOT TRUE;
-- 1: int 5

-- tree
SELECT `id` FROM `record` WHERE ((`number` = ?) OR (`text` <> ?)) AND (((`real` > ?) OR (JSON_OVERLAPS(`tags`, CAST(? AS JSON)))) IS NOT TRUE);
-- 1: int 1
-- 2: string "x"
-- 3: float 0.5
-- 4: array ["a"]

