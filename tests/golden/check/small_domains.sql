-- positive: where only columns of finite domain are needed, rows that look alike are merged
CREATE STREAM doors (open BOOLEAN, floor TINYINT, CHECK (floor >= 0 AND floor < 4));
CREATE STREAM alarms (floor TINYINT, loud BOOLEAN, CHECK (floor >= 0 AND floor < 4));
SELECT d.open, a.loud FROM doors AS d, alarms AS a WHERE d.floor = a.floor;
