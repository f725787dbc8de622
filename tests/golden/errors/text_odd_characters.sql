-- negative: characters that are not of the language
CREATE STREAM s (a INT);
SELECT a FROM s;
SELECT a FROM s WHERE a = 1 §;
SELECT a FROM s WHERE 日本 = 1 AND 全角 = 2;
SELECT a # 3 FROM s;
SELECT a FROM s WHERE a == 1 && a > 2;
SELECT “a” FROM s;
	SELECT	a	FROM	x;
