-- positive: names in backticks: any character, keywords, a backtick doubled
CREATE STREAM `my stream` (`select` INT, `tick``ed` STRING, `a.b` INT, `Größe` INT, `--x` INT, `1st` INT);
CREATE SINK `the sink` USING console OPTIONS (`odd key` 'v', plain.key 'w');
INSERT INTO `the sink` SELECT s.`select`, s.`tick``ed`, `my alias`.`a.b`, s.`Größe` AS `größer`, s.`1st`
FROM `my stream` AS s, `my stream` AS `my alias` WHERE s.`--x` = `my alias`.`--x` AND `s`.`select` = 1 AND s.`tick``ed` = 'x'
  AND `my alias`.`tick``ed` LIKE 'y';
